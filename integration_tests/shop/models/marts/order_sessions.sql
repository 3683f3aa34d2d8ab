-- The visit that an order belongs to: the last one that began from a day before to two hours after it.
select o.order_id, o.customer_id, s.session_key, s.pages
from {{ ref('stg_orders') }} o
left join {{ ref('fct_sessions') }} s
  on s.customer_id = o.customer_id
  and s.began_at <= o.ordered_at + interval 2 hours
  and s.began_at > o.ordered_at - interval 1 day
qualify row_number() over (
  partition by o.order_id order by s.began_at desc, s.session desc
) = 1
