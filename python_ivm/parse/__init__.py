"""From Spark SQL text to a syntax tree: dialect, pipe syntax, views, calls of the clock."""
