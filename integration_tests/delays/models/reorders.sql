-- Orders are never taken back; a product that is below its minimum is ordered once more.
select
  s.product,
  cast(coalesce(o.orders, 0) + 1 as int) as number,
  cast(10 as int) as quantity
from {{ ref('stock') }} s
left join (
  select product, count(*) as orders from {{ this }} group by product
) o on o.product = s.product
where s.level < s.minimum
union all
select product, number, quantity from {{ this }}
