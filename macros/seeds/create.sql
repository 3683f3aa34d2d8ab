{# Make the table anew, in place if its format can. #}
{% macro sparkivm__reset_csv_table(model, full_refresh, old_relation, agate_table) %}
  {%- set file_format = config.get('file_format') -%}
  {%- set replaced = old_relation and (
      (file_format == 'delta' and old_relation.is_delta)
      or (file_format == 'iceberg' and old_relation.is_iceberg)
  ) -%}
  {%- if old_relation and not replaced -%}
    {%- do adapter.drop_relation(old_relation) -%}
  {%- endif -%}
  {{ return(sparkivm__create_csv_table(model, agate_table, replaced)) }}
{% endmacro %}


{% macro sparkivm__create_csv_table(model, agate_table, replaced=false) %}
  {%- set columns = adapter.ivm_seed_columns(agate_table, model['config'].get('column_types')) -%}
  {%- set properties = adapter.ivm_table_properties(model.unique_id, config, graph, columns) -%}
  {%- set signature = adapter.ivm_seed_signature(columns) -%}
  {%- if signature and config.get('file_format') == 'delta' -%}
    {%- do properties.update({'ivm.columns': signature}) -%}
  {%- endif -%}
  {%- set sql -%}
    create {{ 'or replace ' if replaced }}table {{ this.render() }} (
      {%- for column in columns %}
      {{ column.quoted }} {{ column.dtype }}{{ ',' if not loop.last }}
      {%- endfor %}
    )
    {{ file_format_clause() }}
    {{ options_clause() }}
    {{ 'tblproperties ' ~ sparkivm__property_list(properties) if properties }}
    {{ partition_cols(label="partitioned by") }}
    {{ clustered_cols(label="clustered by") }}
    {{ location_clause() }}
    {{ comment_clause() }}
  {%- endset -%}
  {%- call statement('create_csv_table') -%}
    {{ sql }}
  {%- endcall -%}
  {{ return(sql) }}
{% endmacro %}
