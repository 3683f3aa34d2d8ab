"""The classes of dbt's suites that are not run here, and why.

Keys are a suite (a folder of the package dbt-tests-adapter) or `suite.Class`.
"""

from __future__ import annotations

LEFT_OUT = {
    "grants": "Open Spark has no GRANT. `tests/adapter/test_grants.py` shows that grants are "
    "granted where the engine has them, and warned of where it has not.",
    "functions": "dbt's resource `functions` is not built for Spark.",
    "aliases.BaseSameAliasDifferentDatabases": "A session has no databases above its schemas.",
    "dbt_clone.BaseCloneNotPossible": "Delta tables can be cloned.",
    "utils.BaseCurrentTimestampAware": "PySpark gives times without their zone: see "
    "BaseCurrentTimestampNaive.",
    "utils.BaseEscapeSingleQuotesQuote": "Spark escapes quotes by a backslash: see "
    "BaseEscapeSingleQuotesBackslash.",
    "empty.BaseTestEmptySeedFlag": "dbt-core 1.11 has no `dbt seed --empty`.",
    "simple_seed.BaseSeedWithWrongDelimiter": "A header that is not split is one column, "
    "whose name Delta takes, commas and all.",
    "simple_seed.BaseSeedSpecificFormats": "A seed with dots in its name is refused with a "
    "message: Spark's catalog takes no dots. `tests/adapter/test_seeds.py` loads large seeds.",
    "simple_snapshot.BaseSnapshotDbtValidToCurrent": "It names rows by their places in a SELECT "
    "without ORDER BY: see BaseSnapshotNewRecordDbtValidToCurrent.",
    "constraints.BaseTableContractSqlHeader": "A statement of a table can't have another one "
    "before it in Spark, so dbt-spark has no `sql_header` of tables.",
    "constraints.BaseIncrementalContractSqlHeader": "See BaseTableContractSqlHeader.",
    "constraints.BaseContractSqlHeader": "The base of those two.",
    "basic.BaseGetCatalogForSingleRelation": "dbt-spark does not have "
    "`get_catalog_for_single_relation`, which no command of dbt-core asks for.",
}
