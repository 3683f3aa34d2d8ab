"""Both ends of the planner: from SQL text to the logical plan, and from a plan to SQL text."""
