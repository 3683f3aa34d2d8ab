-- dbt's own incremental beside the maintained views: a log, to which the newest rows are added.
{{ config(materialized='incremental', unique_key='view_id', incremental_strategy='merge') }}
select view_id, customer_id, viewed_at, page
from {{ source('shop', 'page_views') }}
{% if is_incremental() %}
where view_id > (select coalesce(max(view_id), 0) from {{ this }})
{% endif %}
