"""A driver here, executors on a cluster; runs alone, as its Spark has other settings."""
