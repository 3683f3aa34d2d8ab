select sku, count(*) as prices, min(price) as lowest, max(price) as highest
from {{ ref('product_prices') }}
group by sku
