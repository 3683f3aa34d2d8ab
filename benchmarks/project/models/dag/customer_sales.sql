-- What each customer bought.
{{ config(unique_key='custkey') }}
select
    custkey,
    count(*) as lines,
    sum(revenue) as revenue
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('order_lines') }}
{% if is_incremental() %}
where custkey in (select custkey from {{ newer(ref('order_lines')) }})
{% endif %}
group by
    custkey
