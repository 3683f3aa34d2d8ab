"""The delta of a plan: one operator, one module."""
