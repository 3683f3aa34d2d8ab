select a.product_id, b.product_id as other_id, count(*) as times
from {{ ref('stg_order_items') }} a
join {{ ref('stg_order_items') }} b on b.order_id = a.order_id and b.product_id > a.product_id
group by a.product_id, b.product_id
having count(*) >= 3
