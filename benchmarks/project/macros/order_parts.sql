{#- How much of each part an order took: about as many groups as lines. -#}
{% macro order_parts() %}
select
    l_orderkey,
    l_partkey,
    count(*) as lines,
    sum(l_quantity) as quantity,
    sum(l_extendedprice * (1 - l_discount)) as revenue
from {{ source('tpch', 'lineitem') }}
group by
    l_orderkey,
    l_partkey
{% endmacro %}
