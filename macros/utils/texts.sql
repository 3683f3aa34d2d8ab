{# Spark's own function; dbt-spark's takes the delimiter for a regular expression. #}
{% macro sparkivm__split_part(string_text, delimiter_text, part_number) -%}
  split_part({{ string_text }}, {{ delimiter_text }}, {{ part_number }})
{%- endmacro %}


{# In the order that is asked for, which dbt-spark leaves out. #}
{% macro sparkivm__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- if order_by_clause and limit_num -%}
    {#- The first ones of a list; a value can't contain what stands between them. -#}
    replace(substring_index(
      listagg({{ measure }}, '\u001f') within group ({{ order_by_clause }}), '\u001f', {{ limit_num }}
    ), '\u001f', {{ delimiter_text }})
  {%- elif limit_num -%}
    array_join(slice(collect_list({{ measure }}), 1, {{ limit_num }}), {{ delimiter_text }})
  {%- elif order_by_clause -%}
    listagg({{ measure }}, {{ delimiter_text }}) within group ({{ order_by_clause }})
  {%- else -%}
    listagg({{ measure }}, {{ delimiter_text }})
  {%- endif -%}
{%- endmacro %}
