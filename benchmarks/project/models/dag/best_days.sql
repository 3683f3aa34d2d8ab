-- The best day of each month: the first of a window.
{{ config(unique_key='month') }}
select
    month,
    ordered,
    revenue
    {{ stock(', loaded') }}
from (
    select
        trunc(ordered, 'month') as month,
        ordered,
        revenue,
        {{ stock("max(loaded) over (partition by trunc(ordered, 'month')) as loaded,") }}
        row_number() over (
            partition by trunc(ordered, 'month') order by revenue desc, ordered
        ) as place
    from {{ ref('daily_sales') }}
    {% if is_incremental() %}
    where trunc(ordered, 'month') in (
        select trunc(ordered, 'month') from {{ newer(ref('daily_sales')) }}
    )
    {% endif %}
    ) as ranked
where
    place = 1
