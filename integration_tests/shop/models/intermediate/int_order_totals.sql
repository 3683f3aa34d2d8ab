select order_id, count(*) as items, sum(quantity) as pieces, sum(amount) as amount
from {{ ref('stg_order_items') }}
group by order_id
