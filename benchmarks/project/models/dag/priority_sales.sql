-- Sales by priority.
{{ config(unique_key='priority') }}
select
    priority,
    count(*) as orders,
    avg(revenue) as average_revenue
    {{ stock(', max(order_totals.loaded) as loaded') }}
from {{ ref('order_totals') }} as order_totals
join {{ ref('order_headers') }} as order_headers on order_headers.orderkey = order_totals.orderkey
{% if is_incremental() %}
where priority in (
    select priority
    from (select * from {{ newer(ref('order_totals')) }}) as order_totals
    join {{ ref('order_headers') }} as order_headers on order_headers.orderkey = order_totals.orderkey
)
{% endif %}
group by
    priority
