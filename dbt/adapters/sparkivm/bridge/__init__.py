"""From dbt to the planner and back: questions answered, refreshes carried out."""
