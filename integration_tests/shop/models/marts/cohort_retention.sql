select
  date_trunc('month', f.first_on) as cohort,
  cast(months_between(date_trunc('month', o.ordered_on), date_trunc('month', f.first_on)) as int)
    as months,
  count(distinct o.customer_id) as customers
from {{ ref('stg_orders') }} o
join {{ ref('int_first_orders') }} f on f.customer_id = o.customer_id
group by 1, 2
