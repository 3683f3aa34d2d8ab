"""The suite that runs on each Spark (`make test-matrix`), and what it did there."""
