{#
  Lets the Delta tables under the names of maintained models become their states. Fails if a table
  does not equal the model's query.

      dbt run-operation ivm_adopt --args '{models: [revenue]}'
      dbt run-operation ivm_adopt --args '{models: [revenue], trust: true, versions: {shop.orders: 5}}'
#}
{% macro ivm_adopt(models, trust=false, versions={}) %}
  {%- for line in adapter.ivm_adopt(graph, models, trust=trust, versions=versions) -%}
    {%- do print(line) -%}
  {%- endfor -%}
{% endmacro %}
