{#
  dbt's own materialization, by a MERGE that names its columns: dbt-spark's takes no key of several
  columns, and fails when the query has lost a column.
#}
{% materialization snapshot, adapter='sparkivm' %}
  {%- set file_format = config.get('file_format') -%}
  {%- set formats = ('delta', 'iceberg', 'hudi') -%}
  {%- if file_format not in formats -%}
    {%- do exceptions.raise_compiler_error(
        "A snapshot can't be kept as '" ~ file_format ~ "', which has no MERGE: leave file_format "
        ~ "out, or set it to one of " ~ formats | join(', ') ~ '.'
    ) -%}
  {%- endif -%}
  {%- set existing = load_cached_relation(this) -%}
  {%- if existing and existing.is_table
      and not (existing.is_delta or existing.is_iceberg or existing.is_hudi) -%}
    {%- do exceptions.raise_compiler_error(
        'The table ' ~ existing.render() ~ ' has none of the formats that a snapshot needs ('
        ~ formats | join(', ') ~ '): convert it, or move it away.'
    ) -%}
  {%- endif -%}
  {%- do sparkivm__follow_existing_table(existing) -%}
  {%- set result = materialization_snapshot_default() -%}
  {%- do sparkivm__follow_new_table() -%}
  {{ return(result) }}
{% endmaterialization %}


{% macro sparkivm__snapshot_merge_sql(target, source, insert_cols) %}
  {{ default__snapshot_merge_sql(target, source, insert_cols) }}
{% endmacro %}


{# What changed was a temporary view. #}
{% macro sparkivm__post_snapshot(staging_relation) %}
  {%- call statement('drop_staging_relation') -%}
    drop view if exists {{ staging_relation }}
  {%- endcall -%}
{% endmacro %}
