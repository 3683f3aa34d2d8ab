{# Updates one line that Q9 sees, as `benchmarks/changes.py` does, where only dbt can reach the server. #}
{% macro change_one_line(order, number) %}
  {% do run_query(
    "update bench_sources.lineitem set l_quantity = l_quantity + 1 where l_orderkey = "
    ~ order ~ " and l_linenumber = " ~ number
  ) %}
{% endmacro %}
