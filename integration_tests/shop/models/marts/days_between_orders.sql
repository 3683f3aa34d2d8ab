select
  order_id,
  customer_id,
  ordered_on,
  datediff(
    ordered_on, lag(ordered_on) over (partition by customer_id order by ordered_on, order_id)
  ) as days
from {{ ref('stg_orders') }}
