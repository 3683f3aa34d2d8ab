-- What was ordered each day.
{{ config(unique_key='ordered') }}
select
    ordered,
    count(*) as lines,
    sum(quantity) as quantity,
    sum(revenue) as revenue
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('order_lines') }}
{% if is_incremental() %}
where ordered in (select ordered from {{ newer(ref('order_lines')) }})
{% endif %}
group by
    ordered
