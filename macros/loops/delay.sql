{#
  In a WITH RECURSIVE, the rows that a binding had in the round before.

      with recursive seen as (
        select 1 as n
        union
        select n + 1 from {{ ivm_delay('seen') }} where n < 10)
#}
{% macro ivm_delay(binding) %}ivm_delay.{{ binding }}{% endmacro %}
