select method, count(*) as payments, sum(`amount paid`) as amount
from {{ ref('payment_log') }}
group by method
