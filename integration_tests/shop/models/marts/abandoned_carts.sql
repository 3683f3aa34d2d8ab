-- Visits with a cart, after which the customer ordered nothing on that day or the next.
select s.session_key, s.customer_id, s.began_at
from {{ ref('fct_sessions') }} s
where s.saw_cart = 1
  and not exists (
    select 1
    from {{ ref('stg_orders') }} o
    where o.customer_id = s.customer_id
      and o.ordered_on between cast(s.began_at as date) and date_add(cast(s.began_at as date), 1)
  )
