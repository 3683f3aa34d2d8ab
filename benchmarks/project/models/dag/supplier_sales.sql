-- What each supplier sold.
{{ config(unique_key='suppkey') }}
select
    suppkey,
    count(*) as lines,
    sum(revenue) as revenue
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('lines') }}
{% if is_incremental() %}
where suppkey in (select suppkey from {{ newer(ref('lines')) }})
{% endif %}
group by
    suppkey
