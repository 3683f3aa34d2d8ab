-- Lines of orders with their revenue.
{{ config(unique_key=['orderkey', 'linenumber']) }}
select
    l_orderkey as orderkey,
    l_linenumber as linenumber,
    l_partkey as partkey,
    l_suppkey as suppkey,
    l_quantity as quantity,
    l_extendedprice * (1 - l_discount) as revenue,
    l_shipmode as shipmode,
    l_shipdate as shipped
    {{ stock(', loaded') }}
from {{ source('tpch', 'lineitem') }}
{% if is_incremental() %}
where loaded > (select max(loaded) from {{ this }})
{% endif %}
