{#
  The refreshes of the project's maintained models as a query, for a model that keeps them:

      {{ config(materialized='incremental', incremental_strategy='append') }}
      {{ ivm_history() }}

  Where the model is incremental, only those are in it that came after the last one that it holds.
  It holds what was committed before it ran.
#}
{% macro ivm_history() %}
  {%- set since = {} -%}
  {%- if execute and is_incremental() -%}
    {%- set found = run_query(
        'select state, cast(unix_millis(max(at)) as string) as at from ' ~ this ~ ' group by state'
    ) -%}
    {%- for row in found.rows -%}
      {%- do since.update({row[0]: row[1] | int}) -%}
    {%- endfor -%}
  {%- endif -%}
  {{- adapter.ivm_history_query(graph, since) if execute else adapter.ivm_history_query() -}}
{% endmacro %}
