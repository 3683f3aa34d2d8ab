"""What `dbt debug` shows: versions, places, and whether Delta works there."""
