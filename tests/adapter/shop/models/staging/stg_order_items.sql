select order_id, sku, quantity from {{ ref('raw_order_items') }}
