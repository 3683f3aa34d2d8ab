{# dbt-spark's materialization, for a table that a maintained model may read. #}
{% materialization incremental, adapter='sparkivm', supported_languages=['sql', 'python'] %}
  {%- if not should_full_refresh() -%}
    {%- do sparkivm__follow_existing_table(load_cached_relation(this)) -%}
  {%- endif -%}
  {%- set result = materialization_incremental_spark() -%}
  {%- do sparkivm__follow_new_table() -%}
  {{ return(result) }}
{% endmaterialization %}
