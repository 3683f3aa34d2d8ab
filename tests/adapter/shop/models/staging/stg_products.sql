select sku, name as product_name, price from {{ ref('raw_products') }}
