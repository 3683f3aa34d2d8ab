select customer_id, name, lower(email) as email, country, created_on
from {{ source('shop', 'customers') }}
