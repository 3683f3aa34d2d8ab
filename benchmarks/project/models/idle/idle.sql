{{ config(materialized='idle') }}
select 1 as one
