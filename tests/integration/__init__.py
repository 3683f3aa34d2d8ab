"""The project of `integration_tests/` on a real Spark."""
