select item_id, order_id, product_id, quantity, unit_price,
  cast(quantity * unit_price as decimal(12, 2)) as amount
from {{ source('shop', 'order_items') }}
