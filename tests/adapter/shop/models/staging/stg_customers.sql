select id as customer_id, name as customer_name, coalesce(region, 'unknown') as region, joined_on
from {{ ref('raw_customers') }}
