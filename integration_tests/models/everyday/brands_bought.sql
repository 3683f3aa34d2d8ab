-- Which customers bought which brands, however often.
select distinct
    o.o_custkey,
    p.p_brand
from {{ source('tpch', 'orders') }} as o
join {{ source('tpch', 'lineitem') }} as l on o.o_orderkey = l.l_orderkey
join {{ source('tpch', 'part') }} as p on l.l_partkey = p.p_partkey
