"""What the planner knows of Spark's functions, for every step that reads or writes their calls."""
