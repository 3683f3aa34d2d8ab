"""Models that feed on themselves: their own rows, or another model's, as of the run before."""
