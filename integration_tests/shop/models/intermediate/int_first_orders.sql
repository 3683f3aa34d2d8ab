select customer_id, min(ordered_on) as first_on, min_by(campaign, order_id) as first_campaign
from {{ ref('stg_orders') }}
group by customer_id
