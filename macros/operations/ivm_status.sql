{#
  Says where each maintained model stands: its last refresh, its sources, the size of its state.

      dbt run-operation ivm_status
      dbt run-operation ivm_status --args '{models: [revenue]}'
#}
{% macro ivm_status(models=[]) %}
  {%- do print(adapter.ivm_status(graph, models)) -%}
{% endmacro %}
