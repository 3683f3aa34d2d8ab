{#
  All hooks in dbt's order. Spark has no transactions, so those that ask to run outside of one are
  like the others: dbt-spark leaves them out, and dbt's own macro puts a COMMIT before them.
#}
{% macro run_hooks(hooks, inside_transaction=True) %}
  {%- if inside_transaction -%}
    {%- set within = hooks | selectattr('transaction') | list -%}
    {%- set without = hooks | rejectattr('transaction') | list -%}
    {%- set after = hooks is sameas post_hooks -%}
    {%- for hook in (within + without if after else without + within) -%}
      {%- set sql = render(hook.get('sql')) | trim -%}
      {%- if sql -%}
        {%- call statement(auto_begin=false) -%}
          {{ sql }}
        {%- endcall -%}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}
