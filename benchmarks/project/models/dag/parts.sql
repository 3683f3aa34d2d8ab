-- Parts.
{{ config(unique_key='partkey') }}
select
    p_partkey as partkey,
    p_brand as brand,
    p_type as type
    {{ stock(', loaded') }}
from {{ source('tpch', 'part') }}
{% if is_incremental() %}
where loaded > (select max(loaded) from {{ this }})
{% endif %}
