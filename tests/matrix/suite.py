"""Which tests the matrix takes: those that meet Spark where its releases differ."""

SPARKS = {"3.5": "3.5.5", "4.0": "4.0.5", "4.1": "4.1.4", "4.2": "4.2.1"}
"""Spark's releases that have a Delta, each with the newest version that works with it."""

SUITE = {
    "tests/spark/test_operators.py": "operators' queries, rounds of changes",
    "tests/spark/test_abilities.py": "what not every Spark can do",
    "tests/spark/test_types.py": "types",
    "tests/spark/test_sources.py": "sources' lives",
    "tests/spark/test_lifecycle.py": "views and states that were dropped or replaced",
    "tests/spark/test_faults.py": "runs that die",
    "tests/spark/test_bad_input.py": "bad input",
    "tests/adapter/test_on_spark.py": "dbt's own materializations, seeds and connections",
    "tests/integration/test_tpch.py": "TPC-H in a dbt project: run, change, build, test",
}
"""Module to what it is about."""

QUICK = (
    "tests/spark/test_abilities.py",
    "tests/spark/test_operators.py",
    "tests/spark/test_lifecycle.py",
    "tests/adapter/test_on_spark.py",
)
"""Modules of the short form."""

EVERY = 12
"""Of the operators' queries each so many-th one."""
