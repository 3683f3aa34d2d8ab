{#
  The rows of a relation that came since the model's last step; all of them at its first one.

      select * from {{ this }} union all select * from {{ ivm_new(source('shop', 'orders')) }}

  It takes what ref() or source() gives, so that dbt's graph has the edge (docs/delays.md).
#}
{% macro ivm_new(relation) %}
  {%- if relation is string or relation is none -%}
    {%- do exceptions.raise_compiler_error(
        "ivm_new takes what ref() or source() gives, and not " ~ relation | tojson
    ) -%}
  {%- endif -%}
  {{- relation }} /* ivm_new */
{%- endmacro %}
