{#
  dbt calls this when a table stands: then one that had to be made without a change feed gets it. The
  materializations are not wrapped for that, since dbt lets only the outermost one run Python.
#}
{% macro sparkivm__persist_docs(relation, model, for_relation=true, for_columns=true) %}
  {%- do sparkivm__follow_new_table() -%}
  {{ return(spark__persist_docs(relation, model, for_relation, for_columns)) }}
{% endmacro %}
