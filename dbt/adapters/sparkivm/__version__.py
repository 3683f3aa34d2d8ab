"""The adapter's version; dbt shows it in `dbt --version`."""

version = "0.2.0"
