-- create
select
    o_clerk,
    count(*) as orders,
    count(distinct o_custkey) as customers
from {sources}.orders
group by o_clerk

-- orders: orders got another customer: their clerks' customers are counted again
merge into {floor} as stored
using (
    select
        o_clerk,
        count(distinct o_custkey) as customers
    from {sources}.orders
    where o_clerk in (
        select o_clerk from table_changes('{sources}.orders', {version}, {version})
    )
    group by o_clerk
) as change
on stored.o_clerk = change.o_clerk
when matched then update set customers = change.customers

-- check
select * from {floor}
