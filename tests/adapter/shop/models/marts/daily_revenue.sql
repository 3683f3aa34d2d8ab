select ordered_on, status, count(*) as orders, sum(total) as revenue
from {{ ref('orders') }}
group by ordered_on, status
