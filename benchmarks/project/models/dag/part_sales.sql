-- What was sold of each part.
{{ config(unique_key='partkey') }}
select
    partkey,
    count(*) as lines,
    sum(quantity) as quantity,
    sum(revenue) as revenue
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('lines') }}
{% if is_incremental() %}
where partkey in (select partkey from {{ newer(ref('lines')) }})
{% endif %}
group by
    partkey
