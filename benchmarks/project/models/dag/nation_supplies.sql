-- Sales by the supplier's nation.
{{ config(unique_key='nation') }}
select
    nation,
    count(*) as suppliers,
    sum(revenue) as revenue
    {{ stock(', max(supplier_sales.loaded) as loaded') }}
from {{ ref('supplier_sales') }} as supplier_sales
join {{ ref('suppliers') }} as suppliers on suppliers.suppkey = supplier_sales.suppkey
{% if is_incremental() %}
where nation in (
    select nation
    from (select * from {{ newer(ref('supplier_sales')) }}) as supplier_sales
    join {{ ref('suppliers') }} as suppliers on suppliers.suppkey = supplier_sales.suppkey
)
{% endif %}
group by
    nation
