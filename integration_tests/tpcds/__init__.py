"""TPC-DS: its 99 queries in Spark's SQL, and its data."""
