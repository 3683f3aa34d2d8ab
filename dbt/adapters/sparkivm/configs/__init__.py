"""What dbt's configs mean to a maintained model."""
