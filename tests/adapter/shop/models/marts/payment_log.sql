{{ config(materialized='incremental', incremental_strategy='merge', unique_key='payment_id') }}
select payment_id, order_id, method, amount as `amount paid` from {{ ref('stg_payments') }}
{% if is_incremental() %}
where payment_id > (select max(payment_id) from {{ this }})
{% endif %}
