-- Sales by the customer's nation.
{{ config(unique_key='nation') }}
{{ customer_sales_by('nation') }}
