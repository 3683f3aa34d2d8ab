select
  cast(began_at as date) as day,
  count(*) as sessions,
  sum(saw_cart) as carts,
  sum(saw_cart * saw_checkout) as checkouts
from {{ ref('fct_sessions') }}
group by cast(began_at as date)
