-- Shipments by day and mode.
{{ config(unique_key=['shipped', 'shipmode']) }}
select
    shipped,
    shipmode,
    count(*) as lines,
    sum(quantity) as quantity
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('lines') }}
{% if is_incremental() %}
where (shipped, shipmode) in (select shipped, shipmode from {{ newer(ref('lines')) }})
{% endif %}
group by
    shipped,
    shipmode
