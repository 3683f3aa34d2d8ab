{#
  dbt-spark's statement, but for the properties, which depend on the columns, too: Delta stores some
  names only if it is told so, and a table with a change feed has no column named like one of a feed.

  The columns of a Python model are known only when it has run.

  dbt-spark's materialization `incremental` begins its MERGE with a temporary relation: then the table,
  which a maintained model may read by now, gets its change feed. The materialization itself is not
  wrapped, since dbt lets only the outermost one run Python.
#}
{% macro sparkivm__create_table_as(temporary, relation, compiled_code, language='sql') %}
  {%- if temporary and config.get('materialized') == 'incremental' -%}
    {%- do sparkivm__follow_existing_table(load_cached_relation(this)) -%}
  {%- endif -%}
  {%- if temporary or language != 'sql' -%}
    {{ spark__create_table_as(temporary, relation, compiled_code, language) }}
  {%- else -%}
    {%- set file_format = config.get('file_format') -%}
    {%- set columns = [] -%}
    {%- if file_format == 'delta' and model.language != 'python' -%}
      {%- for row in run_query('describe query\n' ~ compiled_code).rows -%}
        {%- do columns.append(api.Column(row[0], row[1])) -%}
      {%- endfor -%}
    {%- endif -%}
    create {{ 'or replace ' if file_format in ('delta', 'iceberg') }}table {{ relation }}
      {%- set contract_config = config.get('contract') -%}
      {%- if contract_config.enforced -%}
        {{ get_assert_columns_equivalent(compiled_code) }}
        {%- set compiled_code = get_select_subquery(compiled_code) -%}
      {%- endif %}
      {{ file_format_clause() }}
      {{ options_clause() }}
      {{ sparkivm__tblproperties_clause(columns) }}
      {{ partition_cols(label="partitioned by") }}
      {{ clustered_cols(label="clustered by") }}
      {{ location_clause() }}
      {{ comment_clause() }}
    as
    {{ compiled_code }}
  {%- endif -%}
{% endmacro %}
