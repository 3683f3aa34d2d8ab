"""A small row engine: evaluates plans over rows in memory, by what changed since the last round."""
