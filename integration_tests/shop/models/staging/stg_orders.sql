select order_id, customer_id, ordered_at, cast(ordered_at as date) as ordered_on, status, campaign
from {{ source('shop', 'orders') }}
