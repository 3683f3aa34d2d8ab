-- TPC-H Q9: product type profit measure, 6-way join, aggregate
{{ config(unique_key=['nation', 'o_year']) }}
select
    nation,
    o_year,
    sum(amount) as sum_profit
    {{ stock(', max(loaded) as loaded') }}
from (
    select
        n_name as nation,
        extract(year from o_orderdate) as o_year,
        l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity as amount
        {{ stock(', lineitem.loaded') }}
    from
        {{ source('tpch', 'part') }},
        {{ source('tpch', 'supplier') }},
        {{ source('tpch', 'lineitem') }},
        {{ source('tpch', 'partsupp') }},
        {{ source('tpch', 'orders') }},
        {{ source('tpch', 'nation') }}
    where
        s_suppkey = l_suppkey
        and ps_suppkey = l_suppkey
        and ps_partkey = l_partkey
        and p_partkey = l_partkey
        and o_orderkey = l_orderkey
        and s_nationkey = n_nationkey
        and p_name like '%sandy%'
        {% if is_incremental() %}
        and (n_nationkey, extract(year from o_orderdate)) in (
            select s_nationkey, extract(year from o_orderdate)
            from (select l_orderkey, l_suppkey from {{ newer(source('tpch', 'lineitem')) }})
            join {{ source('tpch', 'orders') }} on o_orderkey = l_orderkey
            join {{ source('tpch', 'supplier') }} on s_suppkey = l_suppkey
        )
        {% endif %}
    ) as profit
group by
    nation,
    o_year
