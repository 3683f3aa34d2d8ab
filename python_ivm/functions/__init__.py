"""What the binder knows of aggregate and window functions."""
