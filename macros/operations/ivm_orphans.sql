{#
  Lists the states that no model keeps up any more: of models that left the project, are materialized
  otherwise, or have another ivm_state_suffix. Asks for metadata only.

      dbt run-operation ivm_orphans
      dbt run-operation ivm_orphans --args '{drop: true}'
#}
{% macro ivm_orphans(drop=false) %}
  {%- for line in adapter.ivm_orphans(graph, drop=drop) -%}
    {%- do print(line) -%}
  {%- endfor -%}
{% endmacro %}
