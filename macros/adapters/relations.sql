{# A node of Spark has no database, where dbt's materialization asks for one. #}
{% macro sparkivm__get_or_create_relation(database, schema, identifier, type) %}
  {{ return(default__get_or_create_relation(database or none, schema, identifier, type)) }}
{% endmacro %}


{# Columns, as dbt's macros expect: dbt-spark's gives the rows of `DESCRIBE`, which have no names. #}
{% macro sparkivm__get_columns_in_relation(relation) %}
  {{ return(adapter.get_columns_in_relation(relation)) }}
{% endmacro %}
