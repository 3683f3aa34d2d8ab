{#
  A CSV file as a table. A Delta table that stands already gets what differs and nothing else, so
  that models which follow its change feed have no more to do.
#}
{% materialization seed, adapter='sparkivm' %}
  {%- set full_refresh = should_full_refresh() -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set old_relation = load_cached_relation(this) -%}
  {%- if old_relation and old_relation.is_view -%}
    {%- do exceptions.raise_compiler_error(
        "Cannot seed to '" ~ old_relation.render() ~ "', it is a view"
    ) -%}
  {%- endif -%}
  {%- set agate_table = load_agate_table() -%}
  {%- if agate_table is not defined -%}
    {%- do exceptions.raise_compiler_error('The seed has no columns: its file is empty.') -%}
  {%- endif -%}
  {%- do store_result('agate_table', response='OK', agate_table=agate_table) -%}

  {{ run_hooks(pre_hooks) }}

  {%- set columns = adapter.ivm_seed_columns(agate_table, model['config'].get('column_types')) -%}
  {%- set signature = adapter.ivm_seed_signature(columns) -%}
  {%- set present = {} -%}
  {%- if old_relation and old_relation.is_delta and config.get('file_format') == 'delta' -%}
    {%- set present = sparkivm__table_properties(old_relation) -%}
  {%- endif -%}
  {%- if signature and present.get('ivm.columns') == signature and not full_refresh -%}
    {%- set properties = adapter.ivm_table_properties(model.unique_id, config, graph, columns) -%}
    {%- do sparkivm__add_table_properties(old_relation, properties, present) -%}
    {%- set staged = sparkivm__stage_seed(agate_table, columns) -%}
    {%- set loaded = sparkivm__load_difference(target_relation, columns, staged) -%}
  {%- else -%}
    {%- set sql = reset_csv_table(model, full_refresh, old_relation, agate_table) -%}
    {%- set staged = sparkivm__stage_seed(agate_table, columns) -%}
    {%- set loaded = sparkivm__load_all(
        target_relation, columns, staged, agate_table.rows | length, sql
    ) -%}
  {%- endif -%}
  {%- for view in staged -%}
    {%- do adapter.add_query('drop view ' ~ view, auto_begin=False) -%}
  {%- endfor -%}

  {%- call noop_statement('main', loaded.message, loaded.code, loaded.rows) -%}
    {{ loaded.sql }}
  {%- endcall -%}

  {%- do apply_grants(
      target_relation, config.get('grants'), should_revoke(old_relation, full_refresh)
  ) -%}
  {%- do persist_docs(target_relation, model) -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
