{#
  A view that is maintained: every run applies what changed in its sources.

  The planner decides how, and gives the statements; nothing is decided here.
#}
{% materialization incremental_ivm, adapter='sparkivm', supported_languages=['sql'] %}
  {%- set target_relation = this.incorporate(type='view') -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set full_refresh = config.get('full_refresh') -%}
  {%- if full_refresh is none and flags.FULL_REFRESH -%}
    {%- set full_refresh = true -%}
  {%- endif -%}

  {{ run_hooks(pre_hooks) }}

  {%- set request = adapter.ivm_request(
      model, compiled_code, target_relation,
      full_refresh=full_refresh, partial=(flags.EMPTY or flags.SAMPLE) | as_bool
  ) -%}
  {%- set contract = config.get('contract') -%}
  {%- if contract and contract.enforced -%}
    {%- do get_assert_columns_equivalent(adapter.ivm_readable(request)) -%}
  {%- endif -%}

  {%- set outcome = adapter.ivm_refresh(request, graph, selected_resources) -%}
  {%- for statement in outcome.refresh.statements if statement.writes_data -%}
    {%- do write(statement.sql) -%}
  {%- endfor -%}
  {%- do store_result('main', response=outcome.response) -%}

  {#- They replace the view, which on some engines takes its grants along. -#}
  {%- if config.persist_relation_docs() or config.persist_column_docs() -%}
    {%- do adapter.ivm_persist_docs(
        target_relation,
        model.description if config.persist_relation_docs() else '',
        model.columns if config.persist_column_docs() else {}
    ) -%}
  {%- endif -%}

  {%- set rebuilt = outcome.refresh.strategy.value == 'full' -%}
  {%- do apply_grants(
      target_relation, config.get('grants'),
      should_revoke(existing_relation, full_refresh_mode=rebuilt)
  ) -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}
