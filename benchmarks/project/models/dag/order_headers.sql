-- Orders.
{{ config(unique_key='orderkey') }}
select
    o_orderkey as orderkey,
    o_custkey as custkey,
    o_orderdate as ordered,
    o_orderpriority as priority,
    o_totalprice as total
    {{ stock(', loaded') }}
from {{ source('tpch', 'orders') }}
{% if is_incremental() %}
where loaded > (select max(loaded) from {{ this }})
{% endif %}
