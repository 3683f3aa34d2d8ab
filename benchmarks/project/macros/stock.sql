{# What dbt's `incremental` needs in a model's text, and the other targets do not have. #}

{# Columns of the stock models only, such as the newest load that is in a row. #}
{% macro stock(columns) -%}
  {%- if target.name == 'stock' -%} {{ columns }} {%- endif -%}
{%- endmacro %}

{# The rows of a relation that came with a later load than all in this model. #}
{% macro newer(relation) -%}
  {{ relation }} where loaded > (select max(loaded) from {{ this }})
{%- endmacro %}
