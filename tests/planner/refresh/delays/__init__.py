"""Models that read rows of the run before."""
