"""Window functions and time windows."""
