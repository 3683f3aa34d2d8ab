{#
  OPTIMIZE and VACUUM the states that need it; each keeps its bookmark.

      dbt run-operation ivm_maintain
      dbt run-operation ivm_maintain --args '{models: [revenue], force: true}'
#}
{% macro ivm_maintain(models=[], force=false) %}
  {%- for line in adapter.ivm_maintain(graph, models, force=force) -%}
    {%- do print(line) -%}
  {%- endfor -%}
{% endmacro %}
