{#
  Says what the next run would do to each maintained model, and writes nothing.

      dbt run-operation ivm_preview
      dbt run-operation ivm_preview --args '{models: [revenue]}'
#}
{% macro ivm_preview(models=[], look=false) %}
  {%- do print(adapter.ivm_preview(graph, models, look=look)) -%}
{% endmacro %}
