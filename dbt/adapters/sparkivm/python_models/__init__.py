"""dbt's Python models, run in the Spark that dbt is connected to."""
