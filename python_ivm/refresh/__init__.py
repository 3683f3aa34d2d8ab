"""Which strategy refreshes a model, by which statements, in which order."""
