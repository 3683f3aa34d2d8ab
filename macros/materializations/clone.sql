{#
  dbt's `clone`: a relation of another schema, as `--state` knows it, without computing it anew.

  Of a maintained model the state is cloned, with its bookmark, so that its first run follows what
  changed since; a Delta table is cloned, another one copied; of a view the query is taken.
  No hooks are run, as nothing is built.
#}
{% materialization clone, adapter='sparkivm' %}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set other_relation = load_cached_relation(defer_relation) if defer_relation else none -%}
  {%- set idle = sparkivm__why_not_cloned(existing_relation, other_relation) -%}
  {%- if idle -%}
    {%- do log(idle, info=true) -%}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set target_relation = this.incorporate(type=other_relation.type) -%}
  {%- set request = none -%}
  {%- if config.get('materialized') == 'incremental_ivm' -%}
    {%- set request = adapter.ivm_request(model, '', target_relation) -%}
  {%- endif -%}
  {%- set response = adapter.ivm_clone(target_relation, other_relation, existing_relation, request) -%}
  {%- do store_result('main', response=response) -%}

  {%- do apply_grants(
      target_relation, config.get('grants'),
      should_revoke(existing_relation, full_refresh_mode=true)
  ) -%}
  {%- if target_relation.is_table -%}
    {%- do persist_docs(target_relation, model) -%}
  {%- endif -%}

  {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{# Why there is nothing to clone, in the words of dbt's own materialization; none if there is. #}
{% macro sparkivm__why_not_cloned(existing_relation, other_relation) %}
  {%- if not defer_relation -%}
    {{ return('No relation found in state manifest for ' ~ model.unique_id) }}
  {%- elif defer_relation.render() | lower == this.render() | lower -%}
    {{ return('Target relation and defer relation are the same, skipping clone for relation: ' ~ this) }}
  {%- elif existing_relation and not flags.FULL_REFRESH -%}
    {{ return('Relation ' ~ existing_relation ~ ' already exists') }}
  {%- elif not other_relation -%}
    {{ return(
        'Relation ' ~ defer_relation ~ ' does not exist, skipping clone of ' ~ model.unique_id
        ~ ': it was never built there'
    ) }}
  {%- endif -%}
  {{ return(none) }}
{% endmacro %}
