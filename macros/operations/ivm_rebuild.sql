{#
  Builds maintained models anew. Runs no hooks; grants and descriptions follow at their next run.

      dbt run-operation ivm_rebuild --args '{models: [revenue]}'
#}
{% macro ivm_rebuild(models) %}
  {%- for line in adapter.ivm_rebuild(graph, models) -%}
    {%- do print(line) -%}
  {%- endfor -%}
{% endmacro %}
