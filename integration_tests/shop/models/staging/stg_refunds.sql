select refund_id, order_id, amount, refunded_on
from {{ source('shop', 'refunds') }}
