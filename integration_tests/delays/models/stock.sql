-- What was ordered up to the run before has arrived.
select
  p.product,
  cast(p.initial + coalesce(a.quantity, 0) - coalesce(s.quantity, 0) as int) as level,
  p.minimum
from {{ source('world', 'products') }} p
left join (
  select product, sum(quantity) as quantity from {{ ivm_previous('reorders') }} group by product
) a on a.product = p.product
left join (
  select product, sum(quantity) as quantity from {{ source('world', 'sales') }} group by product
) s on s.product = p.product
