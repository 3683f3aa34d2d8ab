-- Sales by market segment.
{{ config(unique_key='segment') }}
{{ customer_sales_by('segment') }}
