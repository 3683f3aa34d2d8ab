{#
  dbt's own materialization, for an engine without transactions.

  In place of dbt-spark's, which takes no strategies of the user's own, appends what has a
  `unique_key` already, and fails where a query has lost a column.
#}
{% materialization incremental, adapter='sparkivm', supported_languages=['sql', 'python'] %}
  {%- set language = model['language'] -%}
  {%- set file_format = dbt_spark_validate_get_file_format(
      config.get('file_format') or 'parquet'
  ) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set rebuilt = existing_relation is none or existing_relation.is_view or should_full_refresh() -%}
  {%- set on_schema_change = incremental_validate_on_schema_change(
      config.get('on_schema_change'), default='ignore'
  ) -%}
  {#- Asked for even where the table is made anew, so that a wrong name is told at once. -#}
  {%- set strategy = sparkivm__incremental_strategy(file_format) -%}
  {%- set strategy_macro = adapter.get_incremental_strategy_macro(context, strategy) -%}

  {{ run_hooks(pre_hooks) }}

  {%- if rebuilt -%}
    {%- set replaced = file_format == 'delta' and existing_relation and existing_relation.is_delta -%}
    {%- if existing_relation and not replaced -%}
      {%- do adapter.drop_relation(existing_relation) -%}
    {%- endif -%}
    {%- call statement('main', language=language) -%}
      {{ create_table_as(False, target_relation, compiled_code, language) }}
    {%- endcall -%}
    {%- do persist_constraints(target_relation, model) -%}
  {%- else -%}
    {%- do sparkivm__follow_existing_table(existing_relation) -%}
    {%- set temp_relation = this.incorporate(path={'identifier': this.identifier ~ '__dbt_tmp'}) -%}
    {%- if language == 'sql' -%}
      {#- A temporary view, which has no schema. -#}
      {%- set temp_relation = temp_relation.include(database=false, schema=false) -%}
    {%- endif -%}
    {%- call statement('create_temp_relation', language=language) -%}
      {{ create_table_as(True, temp_relation, compiled_code, language) }}
    {%- endcall -%}
    {%- set dest_columns = process_schema_changes(
        on_schema_change, temp_relation, existing_relation
    ) or adapter.get_columns_in_relation(existing_relation) -%}
    {%- if strategy == 'merge' -%}
      {%- do sparkivm__check_merged_columns(
          adapter.get_columns_in_relation(temp_relation), dest_columns, config.get('unique_key')
      ) -%}
    {%- endif -%}
    {%- if strategy in ('insert_overwrite', 'microbatch') and config.get('partition_by') -%}
      {%- call statement() -%}
        set spark.sql.sources.partitionOverwriteMode = DYNAMIC
      {%- endcall -%}
    {%- endif -%}
    {%- call statement('main') -%}
      {{ strategy_macro({
          'target_relation': existing_relation,
          'temp_relation': temp_relation,
          'unique_key': config.get('unique_key'),
          'dest_columns': dest_columns,
          'incremental_predicates':
              config.get('predicates') or config.get('incremental_predicates'),
      }) }}
    {%- endcall -%}
    {%- if language == 'python' -%}
      {%- call statement('drop_temp_relation') -%}
        drop table if exists {{ temp_relation }}
      {%- endcall -%}
    {%- endif -%}
  {%- endif -%}

  {%- do apply_grants(
      target_relation, config.get('grants'),
      should_revoke(existing_relation, full_refresh_mode=rebuilt)
  ) -%}
  {%- do persist_docs(target_relation, model) -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
