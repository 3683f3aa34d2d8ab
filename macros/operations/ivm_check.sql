{#
  Says of each maintained model, built or not, whether and how it can be maintained.

      dbt run-operation ivm_check
      dbt run-operation ivm_check --args '{models: [revenue]}'
#}
{% macro ivm_check(models=[]) %}
  {%- do print(adapter.ivm_check(graph, models)) -%}
{% endmacro %}
