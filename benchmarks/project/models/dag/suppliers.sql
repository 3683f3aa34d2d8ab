-- Suppliers with nation and region.
{{ config(unique_key='suppkey') }}
select
    s_suppkey as suppkey,
    s_name as name,
    n_name as nation,
    r_name as region
    {{ stock(', supplier.loaded') }}
from {{ source('tpch', 'supplier') }}
join {{ source('tpch', 'nation') }} on n_nationkey = s_nationkey
join {{ source('tpch', 'region') }} on r_regionkey = n_regionkey
{% if is_incremental() %}
where supplier.loaded > (select max(loaded) from {{ this }})
{% endif %}
