-- Sales of each brand.
{{ config(unique_key='brand') }}
select
    brand,
    sum(lines) as lines,
    sum(revenue) as revenue
    {{ stock(', max(part_sales.loaded) as loaded') }}
from {{ ref('part_sales') }} as part_sales
join {{ ref('parts') }} as parts on parts.partkey = part_sales.partkey
{% if is_incremental() %}
where brand in (
    select brand
    from (select * from {{ newer(ref('part_sales')) }}) as part_sales
    join {{ ref('parts') }} as parts on parts.partkey = part_sales.partkey
)
{% endif %}
group by
    brand
