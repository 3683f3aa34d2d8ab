-- lineitem: measures of a range of orders changed
merge into {floor} as stored
using (
    select
        n_name as nation,
        extract(year from o_orderdate) as o_year,
        sum(
            if(_change_type = 'update_postimage', 1, -1)
            * (l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)
        ) as profit
    from table_changes('{sources}.lineitem', {version}, {version})
    join {sources}.part on p_partkey = l_partkey
    join {sources}.supplier on s_suppkey = l_suppkey
    join {sources}.partsupp on ps_suppkey = l_suppkey and ps_partkey = l_partkey
    join {sources}.orders on o_orderkey = l_orderkey
    join {sources}.nation on s_nationkey = n_nationkey
    where
        p_name like '%sandy%'
        and o_orderkey between {first_order} and {last_order}
        and p_partkey between {first_part} and {last_part}
        and ps_partkey between {first_part} and {last_part}
    group by n_name, extract(year from o_orderdate)
) as change
on stored.nation = change.nation and stored.o_year = change.o_year
when matched then update set sum_profit = stored.sum_profit + change.profit

-- nation: a nation has another name
merge into {floor} as stored
using (
    select
        max(if(_change_type = 'update_preimage', n_name, null)) as old_name,
        max(if(_change_type = 'update_postimage', n_name, null)) as new_name
    from table_changes('{sources}.nation', {version}, {version})
) as change
on stored.nation = change.old_name
when matched then update set nation = change.new_name

-- check
select nation, o_year, sum_profit from {floor}
