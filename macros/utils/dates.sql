{#
  Dates by Spark's own functions. dbt-spark's formulas cast texts by rules that ANSI mode does not
  have, fail for NULL, and count the hours that were begun rather than those that were entered.
#}
{% macro sparkivm__dateadd(datepart, interval, from_date_or_timestamp) -%}
  timestampadd({{ datepart }}, cast({{ interval }} as int), cast({{ from_date_or_timestamp }} as timestamp))
{%- endmacro %}


{# How many boundaries of a part lie between two times. A week starts on Sunday, as in dbt-spark. #}
{% macro sparkivm__datediff(first_date, second_date, datepart) -%}
  {%- set start = 'cast(' ~ first_date ~ ' as timestamp)' -%}
  {%- set end = 'cast(' ~ second_date ~ ' as timestamp)' -%}
  {%- if datepart == 'year' -%}
    (year({{ end }}) - year({{ start }}))
  {%- elif datepart == 'quarter' -%}
    ((year({{ end }}) - year({{ start }})) * 4 + quarter({{ end }}) - quarter({{ start }}))
  {%- elif datepart == 'month' -%}
    ((year({{ end }}) - year({{ start }})) * 12 + month({{ end }}) - month({{ start }}))
  {%- elif datepart == 'week' -%}
    (datediff(
      date_sub(cast({{ end }} as date), dayofweek({{ end }}) - 1),
      date_sub(cast({{ start }} as date), dayofweek({{ start }}) - 1)
    ) div 7)
  {%- elif datepart == 'day' -%}
    datediff({{ end }}, {{ start }})
  {%- elif datepart in ('hour', 'minute', 'second', 'millisecond', 'microsecond') -%}
    timestampdiff(
      {{- datepart }}, date_trunc('{{ datepart }}', {{ start }}), date_trunc('{{ datepart }}', {{ end }}))
  {%- else -%}
    {%- do exceptions.raise_compiler_error(
        "datediff does not know the date part '" ~ datepart ~ "'"
    ) -%}
  {%- endif -%}
{%- endmacro %}
