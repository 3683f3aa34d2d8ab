{#
  NULL for what has no value of that type, where dbt-spark's macro fails in ANSI mode.

  A text for a nested type is the SQL of its value, as in dbt-spark: so unit tests write them.
#}
{% macro sparkivm__safe_cast(field, type) -%}
  {%- if field is string and cast_from_string_unsupported_for(type) -%}
    cast({{ field.strip('"').strip("'") }} as {{ type }})
  {%- else -%}
    try_cast({{ field }} as {{ type }})
  {%- endif -%}
{%- endmacro %}


{# An aggregate that a maintained model follows by counting, unlike dbt-spark's max(). #}
{% macro sparkivm__bool_or(expression) -%}
  bool_or({{ expression }})
{%- endmacro %}
