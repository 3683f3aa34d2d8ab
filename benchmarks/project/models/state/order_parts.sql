-- A state about as large as its source, whose files have rows of all orders each.
{{ order_parts() }}
