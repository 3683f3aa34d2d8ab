-- What each order comes to.
{{ config(unique_key='orderkey') }}
{{ lines_by('orderkey') }}
