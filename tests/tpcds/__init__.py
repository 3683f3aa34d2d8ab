"""The 99 queries of TPC-DS, maintained through rounds of changes."""
