select
  order_id,
  sum(amount) as paid,
  sum(amount) filter (where method = 'card') as paid_by_card,
  count(distinct method) as methods
from {{ ref('stg_payments') }}
group by order_id
