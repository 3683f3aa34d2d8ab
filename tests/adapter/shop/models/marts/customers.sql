select
    c.customer_id,
    c.customer_name,
    c.region,
    min(o.ordered_on) as first_order,
    max(o.ordered_on) as last_order,
    count(o.order_id) as orders,
    sum(o.total) as lifetime_value
from {{ ref('stg_customers') }} c
left join {{ ref('orders') }} o on o.customer_id = c.customer_id and o.status <> 'returned'
group by c.customer_id, c.customer_name, c.region
