-- Lines with their order.
{{ config(unique_key=['orderkey', 'linenumber']) }}
select
    lines.orderkey,
    lines.linenumber,
    lines.quantity,
    lines.revenue,
    order_headers.custkey,
    order_headers.ordered,
    order_headers.priority
    {{ stock(', greatest(lines.loaded, order_headers.loaded) as loaded') }}
from {{ ref('lines') }} as lines
join {{ ref('order_headers') }} as order_headers on order_headers.orderkey = lines.orderkey
{% if is_incremental() %}
where
    lines.loaded > (select max(loaded) from {{ this }})
    or order_headers.loaded > (select max(loaded) from {{ this }})
{% endif %}
