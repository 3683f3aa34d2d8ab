"""Rewrites of plans that save work and change no result."""
