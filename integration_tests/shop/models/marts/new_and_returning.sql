select o.ordered_on as day, 'new' as kind, o.order_id
from {{ ref('stg_orders') }} o
join {{ ref('int_first_orders') }} f
  on f.customer_id = o.customer_id and f.first_on = o.ordered_on
union all
select o.ordered_on, 'returning', o.order_id
from {{ ref('stg_orders') }} o
join {{ ref('int_first_orders') }} f
  on f.customer_id = o.customer_id and f.first_on < o.ordered_on
