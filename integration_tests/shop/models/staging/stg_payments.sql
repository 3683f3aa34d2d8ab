select payment_id, order_id, method, amount, paid_on
from {{ source('shop', 'payments') }}
where amount > 0
