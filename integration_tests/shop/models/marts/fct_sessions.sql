select
  {{ surrogate_key(['customer_id', 'session']) }} as session_key,
  customer_id,
  session,
  min(viewed_at) as began_at,
  max(viewed_at) as ended_at,
  count(*) as pages,
  max(if(page = 'cart', 1, 0)) as saw_cart,
  max(if(page = 'checkout', 1, 0)) as saw_checkout
from {{ ref('int_sessions') }}
group by customer_id, session
