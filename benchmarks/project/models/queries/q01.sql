-- TPC-H Q1: pricing summary report, one-table aggregate
{{ config(unique_key=['l_returnflag', 'l_linestatus']) }}
select
    l_returnflag,
    l_linestatus,
    sum(l_quantity) as sum_qty,
    sum(l_extendedprice) as sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge,
    avg(l_quantity) as avg_qty,
    avg(l_extendedprice) as avg_price,
    avg(l_discount) as avg_disc,
    count(*) as count_order
    {{ stock(', max(loaded) as loaded') }}
from {{ source('tpch', 'lineitem') }}
where
    l_shipdate <= date '1998-12-01' - interval '78' day
    {% if is_incremental() %}
    and (l_returnflag, l_linestatus) in (
        select l_returnflag, l_linestatus from {{ newer(source('tpch', 'lineitem')) }}
    )
    {% endif %}
group by
    l_returnflag,
    l_linestatus
