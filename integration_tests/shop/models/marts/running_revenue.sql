select day, revenue, sum(revenue) over (order by day) as so_far
from {{ ref('daily_revenue') }}
