"""Refreshes that are killed, and the plain run after each."""
