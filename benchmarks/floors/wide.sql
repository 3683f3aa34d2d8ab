-- lineitem: measures of lines that are in the view already: no join
merge into {floor} as stored
using (
    select l_orderkey, l_linenumber, l_quantity, l_extendedprice
    from table_changes('{sources}.lineitem', {version}, {version})
    where _change_type = 'update_postimage'
) as change
on
    stored.l_orderkey = change.l_orderkey
    and stored.l_linenumber = change.l_linenumber
    and stored.l_orderkey between {first_order} and {last_order}
when matched then update set
    l_quantity = change.l_quantity,
    l_extendedprice = change.l_extendedprice

-- customer: a customer has another name and market segment
merge into {floor} as stored
using (
    select c_custkey, c_name, c_mktsegment
    from table_changes('{sources}.customer', {version}, {version})
    where _change_type = 'update_postimage'
) as change
on
    stored.c_custkey = change.c_custkey
    and stored.c_custkey between {first_customer} and {last_customer}
when matched then update set
    c_name = change.c_name,
    c_mktsegment = change.c_mktsegment

-- check
select * from {floor}
