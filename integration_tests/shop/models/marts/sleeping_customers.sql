select customer_id, name
from {{ ref('stg_customers') }}
where customer_id not in (
  select customer_id from {{ ref('stg_orders') }} where customer_id is not null
)
