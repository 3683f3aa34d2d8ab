select view_id, customer_id, viewed_at, page
from {{ source('shop', 'page_views') }}
where customer_id is not null
