-- An aggregate of an aggregate.
select
  case when value >= 1000 then 'gold' when value >= 200 then 'silver' else 'other' end as class,
  count(*) as customers,
  sum(value) as value
from {{ ref('customer_value') }}
group by 1
