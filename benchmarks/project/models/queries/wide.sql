-- Every line with its order and its customer: a wide bag, no aggregate.
{{ config(unique_key=['l_orderkey', 'l_linenumber']) }}
select
    l_orderkey,
    l_linenumber,
    l_quantity,
    l_extendedprice,
    l_discount,
    l_shipdate,
    l_shipmode,
    o_orderdate,
    o_orderpriority,
    o_totalprice,
    c_custkey,
    c_name,
    c_mktsegment
    {{ stock(', lineitem.loaded') }}
from {{ source('tpch', 'lineitem') }}
join {{ source('tpch', 'orders') }} on o_orderkey = l_orderkey
join {{ source('tpch', 'customer') }} on c_custkey = o_custkey
{% if is_incremental() %}
where lineitem.loaded > (select max(loaded) from {{ this }})
{% endif %}
