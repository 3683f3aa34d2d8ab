{#
  Another model's rows as they were before this run, without an edge in dbt's graph.

      select * from {{ ivm_previous('orders_allowed') }}

  So models may depend on each other in a circle: ref() for what is computed within the run, and
  ivm_previous() for the one step that goes back (docs/delays.md).
#}
{% macro ivm_previous(name, package=none, version=none) %}
  {%- if execute -%}
    {{- adapter.ivm_previous(graph, name, package, version) -}}
  {%- else -%}
    previous_rows
  {%- endif -%}
{% endmacro %}
