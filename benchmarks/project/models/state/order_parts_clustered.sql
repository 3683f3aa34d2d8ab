-- The same, whose files have rows of near orders each.
{{ config(liquid_clustered_by='l_orderkey') }}
{{ order_parts() }}
