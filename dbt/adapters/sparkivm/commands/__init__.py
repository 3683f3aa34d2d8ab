"""dbt commands that do more, or other things, than dbt-spark has them do: clone, docs."""
