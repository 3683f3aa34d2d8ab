-- orders: their clerks' customers are counted again; pinned, by docs/decisions/0005
merge into {floor} as stored
using (
    select /*+ broadcast(changed) */
        o_clerk,
        count(distinct o_custkey) as customers
    from {sources}.orders version as of {version}
    inner join (
        select distinct o_clerk
        from table_changes('{sources}.orders', {version}, {version})
    ) as changed using (o_clerk)
    group by o_clerk
) as change
on stored.o_clerk = change.o_clerk
when matched then update set customers = change.customers

-- check
select * from {floor}
