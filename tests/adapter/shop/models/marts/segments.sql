{{ config(materialized='table') }}
select 'north' as region, 'Europe' as market
union all
select 'south', 'Africa'
