{#
  dbt-spark's statement, but for the properties, which depend on the columns, too: Delta stores some
  names only if it is told so, and a table with a change feed has no column named like one of a feed.

  The columns of a Python model are known only when it has run.
#}
{% macro sparkivm__create_table_as(temporary, relation, compiled_code, language='sql') %}
  {%- if temporary or language != 'sql' -%}
    {{ spark__create_table_as(temporary, relation, compiled_code, language) }}
  {%- else -%}
    {%- set file_format = config.get('file_format') -%}
    {%- set columns = [] -%}
    {%- if file_format == 'delta' and model.language != 'python' -%}
      {%- set described = run_query('describe query\n' ~ compiled_code) -%}
      {%- do store_result('query_columns', response='', agate_table=described) -%}
      {%- set columns = sparkivm__columns_of(described) -%}
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


{#
  Switch on the change feed of a table that was just made, if it had to be made without: Delta makes
  no table from a query with a column mapping and a change feed.
#}
{% macro sparkivm__follow_new_table() %}
  {%- set described = load_result('query_columns') -%}
  {%- if described -%}
    {%- set feed = 'delta.enableChangeDataFeed' -%}
    {%- set columns = sparkivm__columns_of(described.table) -%}
    {%- set made = adapter.ivm_table_properties(
        model.unique_id, config, graph, columns, from_query=true
    ) -%}
    {%- set wanted = adapter.ivm_table_properties(model.unique_id, config, graph, columns) -%}
    {%- if feed in wanted and feed not in made -%}
      {%- do sparkivm__add_table_properties(this, {feed: wanted[feed]}, {}) -%}
    {%- endif -%}
  {%- endif -%}
{% endmacro %}


{# The columns of a query that was described. #}
{% macro sparkivm__columns_of(described) %}
  {%- set columns = [] -%}
  {%- for row in described.rows -%}
    {%- do columns.append(api.Column(row[0], row[1])) -%}
  {%- endfor -%}
  {{ return(columns) }}
{% endmacro %}
