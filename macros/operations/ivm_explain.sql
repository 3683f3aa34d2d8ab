{#
  Shows how a model is maintained: its plan, its state, and the SQL for a change of each source.

      dbt run-operation ivm_explain --args '{model: revenue}'
#}
{% macro ivm_explain(model) %}
  {%- set found = [] -%}
  {%- for node in graph.nodes.values() if node.resource_type == 'model' -%}
    {%- if model in (node.name, node.alias, node.unique_id) -%}
      {%- do found.append(node) -%}
    {%- endif -%}
  {%- endfor -%}
  {%- if not found -%}
    {%- do exceptions.raise_compiler_error('There is no model named ' ~ model) -%}
  {%- endif -%}
  {%- if found | length > 1 -%}
    {%- do exceptions.raise_compiler_error(
        found | length ~ ' models are named ' ~ model ~ ': '
        ~ found | map(attribute='unique_id') | join(', ')
    ) -%}
  {%- endif -%}
  {%- set node = found[0] -%}
  {%- if node.config.materialized != 'incremental_ivm' -%}
    {%- do exceptions.raise_compiler_error(
        "Model " ~ model ~ " is materialized as '" ~ node.config.materialized
        ~ "', not as 'incremental_ivm'"
    ) -%}
  {%- endif -%}
  {%- set relation = api.Relation.create(
      database=node.database, schema=node.schema, identifier=node.alias, type='view'
  ) -%}
  {%- set sql = adapter.ivm_compiled(node.unique_id) -%}
  {%- set text = adapter.ivm_explain(adapter.ivm_request(node, sql, relation)) -%}
  {%- do print(text) -%}
{% endmacro %}
