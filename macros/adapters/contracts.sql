{#
  dbt puts a model's `sql_header` before the query whose columns it compares with the contract. Spark
  takes one statement at a time; the header of a maintained model has been run by then.
#}
{% macro sparkivm__get_empty_subquery_sql(select_sql, select_sql_header=none) %}
  {%- set ran = model is defined and config.get('materialized') == 'incremental_ivm' -%}
  {{ default__get_empty_subquery_sql(select_sql, none if ran else select_sql_header) }}
{% endmacro %}
