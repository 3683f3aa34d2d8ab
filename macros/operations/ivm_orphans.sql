{#
  Lists the states that no model keeps up any more: of models that left the project, are materialized
  otherwise, or have another ivm_state_suffix. Asks for metadata only.

      dbt run-operation ivm_orphans
      dbt run-operation ivm_orphans --args '{drop: true}'
      dbt run-operation ivm_orphans --args '{drop: true, schemas: [shop_states]}'

  Nothing is dropped in a schema that the present target's models do not have, unless `schemas` names it:
  another target may keep up what is there.
#}
{% macro ivm_orphans(drop=false, schemas=[]) %}
  {%- for line in adapter.ivm_orphans(graph, drop=drop, schemas=schemas) -%}
    {%- do print(line) -%}
  {%- endfor -%}
{% endmacro %}
