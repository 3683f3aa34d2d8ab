select category, product_id, pieces, place
from (
  select
    p.category,
    p.product_id,
    s.pieces,
    row_number() over (partition by p.category order by s.pieces desc, p.product_id) as place
  from {{ ref('stg_products') }} p
  join (
    select product_id, sum(quantity) as pieces from {{ ref('stg_order_items') }} group by product_id
  ) s on s.product_id = p.product_id
)
where place <= 5
