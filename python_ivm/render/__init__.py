"""From plans to Spark SQL text."""
