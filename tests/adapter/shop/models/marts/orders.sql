with totals as (
    select order_id, count(*) as items, sum(amount) as total
    from {{ ref('order_items') }}
    group by order_id
)

select o.order_id, o.customer_id, o.ordered_on, o.status, t.items, t.total, p.paid
from {{ ref('stg_orders') }} o
left join totals t on t.order_id = o.order_id
left join {{ ref('int_order_payments') }} p on p.order_id = o.order_id
