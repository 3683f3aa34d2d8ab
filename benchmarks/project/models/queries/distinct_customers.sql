-- How many different customers each clerk served: count(distinct).
{{ config(unique_key='o_clerk') }}
select
    o_clerk,
    count(*) as orders,
    count(distinct o_custkey) as customers
    {{ stock(', max(loaded) as loaded') }}
from {{ source('tpch', 'orders') }}
{% if is_incremental() %}
where o_clerk in (select o_clerk from {{ newer(source('tpch', 'orders')) }})
{% endif %}
group by
    o_clerk
