-- Each item, and what its product costs today.
select
  i.item_id,
  i.order_id,
  o.ordered_on,
  i.product_id,
  i.quantity,
  i.unit_price,
  h.price as list_price,
  i.amount
from {{ ref('stg_order_items') }} i
join {{ ref('stg_orders') }} o on o.order_id = i.order_id
left join {{ ref('product_prices') }} h
  on h.product_id = i.product_id and h.dbt_valid_to is null
