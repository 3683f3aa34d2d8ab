-- What the snapshot saw, numbered, with the price before.
select
  {{ surrogate_key(['product_id', 'dbt_valid_from']) }} as version_key,
  product_id,
  price,
  row_number() over (partition by product_id order by dbt_valid_from) as version,
  lag(price) over (partition by product_id order by dbt_valid_from) as price_before,
  dbt_valid_from as valid_from,
  dbt_valid_to as valid_to
from {{ ref('product_prices') }}
