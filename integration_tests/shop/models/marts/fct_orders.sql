select
  {{ surrogate_key(['o.order_id']) }} as order_key,
  o.order_id,
  o.customer_id,
  o.ordered_on,
  o.status,
  o.campaign,
  t.items,
  t.amount,
  p.paid,
  t.amount - coalesce(p.paid, 0) as open_amount
from {{ ref('stg_orders') }} o
left join {{ ref('int_order_totals') }} t on t.order_id = o.order_id
left join {{ ref('int_order_payments') }} p on p.order_id = o.order_id
