{# What several models of the DAG say of other keys. #}

{# The lines of each order, part or other key. #}
{% macro lines_by(key) %}
select
    {{ key }},
    count(*) as lines,
    sum(quantity) as quantity,
    sum(revenue) as revenue
    {{ stock(', max(loaded) as loaded') }}
from {{ ref('lines') }}
{% if is_incremental() %}
where {{ key }} in (select {{ key }} from {{ newer(ref('lines')) }})
{% endif %}
group by
    {{ key }}
{% endmacro %}

{# The sales to the customers of each nation, or market segment. #}
{% macro customer_sales_by(column) %}
select
    {{ column }},
    count(*) as customers,
    sum(revenue) as revenue
    {{ stock(', max(customer_sales.loaded) as loaded') }}
from {{ ref('customer_sales') }} as customer_sales
join {{ ref('customers') }} as customers on customers.custkey = customer_sales.custkey
{% if is_incremental() %}
where {{ column }} in (
    select {{ column }}
    from (select * from {{ newer(ref('customer_sales')) }}) as customer_sales
    join {{ ref('customers') }} as customers on customers.custkey = customer_sales.custkey
)
{% endif %}
group by
    {{ column }}
{% endmacro %}
