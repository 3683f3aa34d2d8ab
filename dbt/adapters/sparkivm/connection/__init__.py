"""How dbt reaches a Spark: the methods of the profile, their settings, and what they start."""
