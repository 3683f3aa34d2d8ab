-- The date spine: every day from the first to the last order.
select explode(sequence(first_on, last_on, interval 1 day)) as day
from (select min(ordered_on) as first_on, max(ordered_on) as last_on from {{ ref('stg_orders') }})
