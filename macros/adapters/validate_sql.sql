{# EXPLAIN shows an error of a query as if it were a plan. #}
{% macro sparkivm__validate_sql(sql) -%}
  {%- call statement('validate_sql') -%}
    describe query {{ sql }}
  {%- endcall -%}
  {{ return(load_result('validate_sql')) }}
{%- endmacro %}
