-- create: sums and the count; a view divides them
select
    l_returnflag,
    l_linestatus,
    sum(l_quantity) as sum_qty,
    sum(l_extendedprice) as sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge,
    sum(l_discount) as sum_disc,
    count(*) as count_order
from {sources}.lineitem
where l_shipdate <= date '1998-12-01' - interval '78' day
group by l_returnflag, l_linestatus

-- lineitem: measures changed, so that groups neither come nor go and counts stay
merge into {floor} as stored
using (
    select
        l_returnflag,
        l_linestatus,
        sum(sign * l_quantity) as qty,
        sum(sign * l_extendedprice) as base_price,
        sum(sign * l_extendedprice * (1 - l_discount)) as disc_price,
        sum(sign * l_extendedprice * (1 - l_discount) * (1 + l_tax)) as charge
    from (
        select *, if(_change_type = 'update_postimage', 1, -1) as sign
        from table_changes('{sources}.lineitem', {version}, {version})
    )
    where l_shipdate <= date '1998-12-01' - interval '78' day
    group by l_returnflag, l_linestatus
) as change
on stored.l_returnflag = change.l_returnflag and stored.l_linestatus = change.l_linestatus
when matched then update set
    sum_qty = stored.sum_qty + change.qty,
    sum_base_price = stored.sum_base_price + change.base_price,
    sum_disc_price = stored.sum_disc_price + change.disc_price,
    sum_charge = stored.sum_charge + change.charge

-- check
select
    l_returnflag, l_linestatus, sum_qty, sum_base_price, sum_disc_price, sum_charge, count_order
from {floor}
