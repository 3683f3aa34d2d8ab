-- Every order with its customer: a wide join without aggregates.
select
    o.o_orderkey,
    o.o_orderdate,
    o.o_orderstatus,
    o.o_totalprice,
    c.c_custkey,
    c.c_name,
    c.c_mktsegment,
    n.n_name as nation
from {{ source('tpch', 'orders') }} as o
join {{ source('tpch', 'customer') }} as c on o.o_custkey = c.c_custkey
join {{ source('tpch', 'nation') }} as n on c.c_nationkey = n.n_nationkey
