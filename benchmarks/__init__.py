"""Benchmarks: measured by `make bench`, never asserted. Results: `docs/benchmarks/`."""
