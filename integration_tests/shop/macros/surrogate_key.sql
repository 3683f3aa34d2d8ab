{# A key made of several columns; NULLs are values of their own. #}
{% macro surrogate_key(columns) -%}
  md5(concat_ws('|'{% for column in columns %}, coalesce(cast({{ column }} as string), '~'){% endfor %}))
{%- endmacro %}
