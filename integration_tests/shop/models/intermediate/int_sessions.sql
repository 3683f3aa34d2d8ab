-- A visit ends after half an hour without a page.
with gaps as (
  select
    *,
    lag(viewed_at) over (partition by customer_id order by viewed_at, view_id) as before
  from {{ ref('stg_page_views') }}
),

numbered as (
  select
    *,
    sum(if(before is null or viewed_at > before + interval 30 minutes, 1, 0))
      over (partition by customer_id order by viewed_at, view_id) as session
  from gaps
)

select customer_id, session, view_id, viewed_at, page
from numbered
