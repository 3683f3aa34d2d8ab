"""What the command `dbt-sparkivm` and dbt's run-operation tell and do about maintained models."""
