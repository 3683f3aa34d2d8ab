"""Spark's SQL as sqlglot reads and writes it, but for what sqlglot understands otherwise."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.generators.spark import SparkGenerator
from sqlglot.parsers.spark import SparkParser

_AS_WRITTEN = ("PERCENTILE", "MAX_BY", "MIN_BY", "LISTAGG", "STRING_AGG")
"""Functions of which sqlglot would drop an argument, or add one."""


class SparkSql(Spark):
    """Spark since 4.0.

    A quote that is doubled inside a string is one quote: sqlglot takes ``'it''s'`` for two strings
    side by side, which Spark concatenates only where something stands between them. ``percentile``
    may have frequencies, ``max_by`` a number of values; ``listagg`` has no comma unless it is
    given; and percentiles ``WITHIN GROUP`` are not approximate.
    """

    class Tokenizer(Spark.Tokenizer):
        """The first escape is the one that is written."""

        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    class Parser(SparkParser):
        """Functions that sqlglot reads with other arguments are kept as they are written."""

        FUNCTIONS: ClassVar = {
            name: parse for name, parse in SparkParser.FUNCTIONS.items() if name not in _AS_WRITTEN
        }
        FUNCTION_PARSERS: ClassVar = {
            name: parse
            for name, parse in SparkParser.FUNCTION_PARSERS.items()
            if name not in _AS_WRITTEN
        }

    class Generator(SparkGenerator):
        """sqlglot would write PERCENTILE_APPROX for percentiles WITHIN GROUP."""

        TRANSFORMS: ClassVar = {
            kind: write
            for kind, write in SparkGenerator.TRANSFORMS.items()
            if kind is not exp.WithinGroup
        }
