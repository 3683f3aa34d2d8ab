select i.order_id, o.ordered_on, i.sku, p.product_name, i.quantity, i.quantity * p.price as amount
from {{ ref('stg_order_items') }} i
join {{ ref('stg_orders') }} o on o.order_id = i.order_id
left join {{ ref('stg_products') }} p on p.sku = i.sku
