select
  {{ surrogate_key(['c.customer_id']) }} as customer_key,
  c.customer_id,
  c.name,
  c.email,
  n.name as country,
  n.region,
  f.first_on
from {{ ref('stg_customers') }} c
left join {{ ref('countries') }} n on n.country = c.country
left join {{ ref('int_first_orders') }} f on f.customer_id = c.customer_id
