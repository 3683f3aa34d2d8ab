-- create: every order that the query sees; a view takes the first ten
select
    l_orderkey,
    sum(l_extendedprice * (1 - l_discount)) as revenue,
    o_orderdate,
    o_shippriority
from {sources}.customer
join {sources}.orders on c_custkey = o_custkey
join {sources}.lineitem on l_orderkey = o_orderkey
where
    c_mktsegment = 'BUILDING'
    and o_orderdate < date '1995-03-15'
    and l_shipdate > date '1995-03-15'
group by l_orderkey, o_orderdate, o_shippriority

-- lineitem: measures changed, so that no order comes or goes: no join
merge into {floor} as stored
using (
    select
        l_orderkey,
        sum(
            if(_change_type = 'update_postimage', 1, -1) * l_extendedprice * (1 - l_discount)
        ) as revenue
    from table_changes('{sources}.lineitem', {version}, {version})
    where l_shipdate > date '1995-03-15'
    group by l_orderkey
) as change
on
    stored.l_orderkey = change.l_orderkey
    and stored.l_orderkey between {first_order} and {last_order}
when matched then update set revenue = stored.revenue + change.revenue

-- check
select l_orderkey, revenue, o_orderdate, o_shippriority
from {floor}
order by revenue desc, o_orderdate, l_orderkey
limit 10
