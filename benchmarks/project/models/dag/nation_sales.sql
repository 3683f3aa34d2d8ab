-- Sales by the customer's nation.
{{ config(unique_key='nation') }}
select
    nation,
    count(*) as customers,
    sum(revenue) as revenue
    {{ stock(', max(customer_sales.loaded) as loaded') }}
from {{ ref('customer_sales') }} as customer_sales
join {{ ref('customers') }} as customers on customers.custkey = customer_sales.custkey
{% if is_incremental() %}
where nation in (
    select nation
    from (select * from {{ newer(ref('customer_sales')) }}) as customer_sales
    join {{ ref('customers') }} as customers on customers.custkey = customer_sales.custkey
)
{% endif %}
group by
    nation
