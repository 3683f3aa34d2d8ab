select o.campaign, sum(o.paid) as paid, sum(r.amount) as refunded, count(r.refund_id) as refunds
from {{ ref('fct_orders') }} o
left join {{ ref('stg_refunds') }} r on r.order_id = o.order_id
group by o.campaign
