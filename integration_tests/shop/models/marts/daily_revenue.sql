select d.day, count(o.order_id) as orders, coalesce(sum(o.amount), 0) as revenue
from {{ ref('dim_days') }} d
left join {{ ref('fct_orders') }} o on o.ordered_on = d.day and o.status <> 'cancelled'
group by d.day
