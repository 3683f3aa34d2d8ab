select sku, product_name, sold
from (
    select sku, product_name, sum(quantity) as sold
    from {{ ref('order_items') }}
    group by sku, product_name
)
qualify rank() over (order by sold desc) <= 2
