-- Two full joins: customers without orders, orders without customers, late lines without an order.
select
    c_mktsegment,
    o_orderpriority,
    l_shipmode,
    count(*) as combinations,
    sum(l_quantity) as quantity
from {{ source('tpch', 'customer') }}
full join {{ source('tpch', 'orders') }}
    on c_custkey = o_custkey
    and o_orderstatus <> 'P'
full join {{ source('tpch', 'lineitem') }}
    on o_orderkey = l_orderkey
    and l_receiptdate <= o_orderdate + interval '120' day
group by
    c_mktsegment,
    o_orderpriority,
    l_shipmode
