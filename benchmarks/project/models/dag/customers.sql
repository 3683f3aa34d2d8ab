-- Customers with nation and region.
{{ config(unique_key='custkey') }}
select
    c_custkey as custkey,
    c_name as name,
    c_mktsegment as segment,
    n_name as nation,
    r_name as region
    {{ stock(', customer.loaded') }}
from {{ source('tpch', 'customer') }}
join {{ source('tpch', 'nation') }} on n_nationkey = c_nationkey
join {{ source('tpch', 'region') }} on r_regionkey = n_regionkey
{% if is_incremental() %}
where customer.loaded > (select max(loaded) from {{ this }})
{% endif %}
