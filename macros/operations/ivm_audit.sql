{#
  Recomputes a sample of maintained views at the versions that they show, and compares. Fails if a
  row differs.

      dbt run-operation ivm_audit
      dbt run-operation ivm_audit --args '{models: [revenue], fraction: 0.001}'
#}
{% macro ivm_audit(models=[], fraction=0.01, seed=none) %}
  {%- for line in adapter.ivm_audit(graph, models, fraction=fraction, seed=seed) -%}
    {%- do print(line) -%}
  {%- endfor -%}
{% endmacro %}
