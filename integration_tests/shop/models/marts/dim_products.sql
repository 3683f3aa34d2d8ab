select {{ surrogate_key(['p.product_id']) }} as product_key, p.*
from {{ ref('stg_products') }} p
