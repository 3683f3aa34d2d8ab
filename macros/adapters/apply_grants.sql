{#
  The config `grants`, where the engine has GRANT. Where it has none, dbt warned before the model was
  built: open Spark knows no privileges.
#}
{% macro sparkivm__apply_grants(relation, grant_config, should_revoke=True) %}
  {%- if grant_config and adapter.ivm_has_grants() -%}
    {%- do default__apply_grants(relation, grant_config, should_revoke) -%}
  {%- endif -%}
{% endmacro %}
