-- lineitem: measures of a range of orders changed
merge into {floor} as stored
using (
    select
        n_name,
        sum(
            if(_change_type = 'update_postimage', 1, -1) * l_extendedprice * (1 - l_discount)
        ) as revenue
    from table_changes('{sources}.lineitem', {version}, {version})
    join {sources}.orders on l_orderkey = o_orderkey
    join {sources}.customer on c_custkey = o_custkey
    join {sources}.supplier on l_suppkey = s_suppkey and c_nationkey = s_nationkey
    join {sources}.nation on s_nationkey = n_nationkey
    join {sources}.region on n_regionkey = r_regionkey
    where
        r_name = 'ASIA'
        and o_orderdate >= date '1994-01-01'
        and o_orderdate < date '1995-01-01'
        and o_orderkey between {first_order} and {last_order}
        and c_custkey between {first_customer} and {last_customer}
    group by n_name
) as change
on stored.n_name = change.n_name
when matched then update set revenue = stored.revenue + change.revenue

-- nation: a nation has another name
merge into {floor} as stored
using (
    select
        max(if(_change_type = 'update_preimage', n_name, null)) as old_name,
        max(if(_change_type = 'update_postimage', n_name, null)) as new_name
    from table_changes('{sources}.nation', {version}, {version})
) as change
on stored.n_name = change.old_name
when matched then update set n_name = change.new_name

-- check
select n_name, revenue from {floor}
