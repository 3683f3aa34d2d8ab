-- Sales of each month.
{{ config(unique_key='month') }}
select
    trunc(ordered, 'month') as month,
    sum(lines) as lines,
    sum(revenue) as revenue
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('daily_sales') }}
{% if is_incremental() %}
where trunc(ordered, 'month') in (
    select trunc(ordered, 'month') from {{ newer(ref('daily_sales')) }}
)
{% endif %}
group by
    trunc(ordered, 'month')
