-- What each order comes to.
{{ config(unique_key='orderkey') }}
select
    orderkey,
    count(*) as lines,
    sum(quantity) as quantity,
    sum(revenue) as revenue
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('lines') }}
{% if is_incremental() %}
where orderkey in (select orderkey from {{ newer(ref('lines')) }})
{% endif %}
group by
    orderkey
