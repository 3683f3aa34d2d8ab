{# The constraints of a contract, where the format has some. #}
{% macro sparkivm__persist_constraints(relation, model) %}
  {%- set contract = config.get('contract') -%}
  {%- if contract and contract.enforced and config.get('file_format') == 'delta' -%}
    {%- do adapter.ivm_add_constraints(relation, model) -%}
  {%- endif -%}
{% endmacro %}
