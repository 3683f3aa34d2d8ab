"""Spark's SQL as sqlglot reads it, but for what sqlglot reads otherwise than Spark does."""

from __future__ import annotations

from typing import ClassVar

from sqlglot.dialects.spark import Spark


class SparkSql(Spark):
    """Spark since 4.0: a quote that is doubled inside a string is one quote.

    sqlglot takes ``'it''s'`` for two strings side by side, which Spark concatenates only where
    something stands between them.
    """

    class Tokenizer(Spark.Tokenizer):
        """The first escape is the one that is written."""

        STRING_ESCAPES: ClassVar = ["\\", "'", '"']
