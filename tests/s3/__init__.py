"""A warehouse on an object store; runs alone, as its Spark is started with other settings."""
