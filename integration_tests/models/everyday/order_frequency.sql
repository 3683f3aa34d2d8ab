-- How many customers have how many orders: an aggregate of an aggregate.
with per_customer as (
    select
        o_custkey,
        count(*) as orders,
        max(o_orderdate) as last_order
    from {{ source('tpch', 'orders') }}
    group by o_custkey
)

select
    orders,
    count(*) as customers,
    max(last_order) as last_order
from per_customer
group by orders
having count(*) > 1
