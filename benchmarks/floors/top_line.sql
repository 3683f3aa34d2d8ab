-- create
select
    l_orderkey,
    l_linenumber,
    l_partkey,
    l_extendedprice
from {sources}.lineitem
qualify row_number() over (
    partition by l_orderkey order by l_extendedprice desc, l_linenumber
) = 1

-- lineitem: the prices of a range of orders changed
merge into {floor} as stored
using (
    select
        l_orderkey,
        -first.place as l_linenumber,
        first.l_partkey,
        first.l_extendedprice
    from (
        select
            l_orderkey,
            max(struct(l_extendedprice, -l_linenumber as place, l_partkey)) as first
        from {sources}.lineitem
        where l_orderkey between {first_order} and {last_order}
        group by l_orderkey
    ) as ranked
) as change
on
    stored.l_orderkey = change.l_orderkey
    and stored.l_orderkey between {first_order} and {last_order}
when matched
    and (
        stored.l_linenumber <> change.l_linenumber
        or stored.l_extendedprice <> change.l_extendedprice
    )
    then update set *

-- check
select * from {floor}
