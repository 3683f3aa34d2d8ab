-- How many orders have how many lines.
{{ config(unique_key='lines') }}
select
    lines,
    count(*) as orders,
    sum(revenue) as revenue
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('order_totals') }}
{% if is_incremental() %}
where lines in (select lines from {{ newer(ref('order_totals')) }})
{% endif %}
group by
    lines
