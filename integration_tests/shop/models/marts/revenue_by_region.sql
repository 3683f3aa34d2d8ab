select c.region, c.country, sum(o.amount) as revenue, count(*) as orders
from {{ ref('fct_orders') }} o
join {{ ref('dim_customers') }} c on c.customer_id = o.customer_id
group by rollup(c.region, c.country)
