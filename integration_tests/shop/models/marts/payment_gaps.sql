-- Orders and payments that do not agree, or lack each other.
select
  coalesce(o.order_id, p.order_id) as order_id,
  o.amount,
  p.paid,
  coalesce(p.paid, 0) - coalesce(o.amount, 0) as gap
from {{ ref('int_order_totals') }} o
full join {{ ref('int_order_payments') }} p on p.order_id = o.order_id
where coalesce(p.paid, 0) <> coalesce(o.amount, 0)
