-- The dearest line of each order: the first of a window.
{{ config(unique_key='l_orderkey') }}
select
    l_orderkey,
    l_linenumber,
    l_partkey,
    l_extendedprice
    {{ stock(', loaded') }}
from (
    select
        l_orderkey,
        l_linenumber,
        l_partkey,
        l_extendedprice,
        {{ stock('max(loaded) over (partition by l_orderkey) as loaded,') }}
        row_number() over (
            partition by l_orderkey order by l_extendedprice desc, l_linenumber
        ) as place
    from {{ source('tpch', 'lineitem') }}
    {% if is_incremental() %}
    where l_orderkey in (select l_orderkey from {{ newer(source('tpch', 'lineitem')) }})
    {% endif %}
    ) as ranked
where
    place = 1
