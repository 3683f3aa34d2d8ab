"""The demo: TPC-H views that are maintained."""
