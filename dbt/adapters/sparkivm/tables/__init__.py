"""The tables that dbt's own materializations make: their format, their change feed, seeds."""
