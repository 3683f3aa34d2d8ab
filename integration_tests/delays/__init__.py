"""Models that feed on themselves, and a simulation of each."""
