select date_trunc('week', ordered_on) as week, count(distinct customer_id) as customers
from {{ ref('stg_orders') }}
group by date_trunc('week', ordered_on)
