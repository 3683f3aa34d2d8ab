-- Pairs of suppliers whose lines of one order leave within three days: a self join.
select
    a.l_suppkey as first_supplier,
    b.l_suppkey as second_supplier,
    count(*) as shipments,
    min(a.l_shipdate) as first_shipment,
    avg(a.l_quantity + b.l_quantity) as average_quantity
from {{ source('tpch', 'lineitem') }} as a
join {{ source('tpch', 'lineitem') }} as b
    on a.l_orderkey = b.l_orderkey
    and a.l_suppkey < b.l_suppkey
    and abs(datediff(a.l_shipdate, b.l_shipdate)) <= 3
group by
    a.l_suppkey,
    b.l_suppkey
