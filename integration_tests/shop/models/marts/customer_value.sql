select
  customer_id,
  count(*) as orders,
  sum(paid) as value,
  avg(amount) as average_order,
  max(ordered_on) as last_on
from {{ ref('fct_orders') }}
group by customer_id
