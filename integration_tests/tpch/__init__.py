"""The TPC-H source tables of this project: generating, loading and changing them."""
