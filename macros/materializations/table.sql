{# dbt-spark's materialization, for a table that a maintained model may read. #}
{% materialization table, adapter='sparkivm', supported_languages=['sql', 'python'] %}
  {%- set result = materialization_table_spark() -%}
  {%- do sparkivm__follow_new_table() -%}
  {{ return(result) }}
{% endmaterialization %}
