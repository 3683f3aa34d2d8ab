"""The resident Spark: a server that stays between runs of dbt."""
