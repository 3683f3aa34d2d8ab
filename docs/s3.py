"""Writes `docs/s3.md` from what an S3 endpoint was asked (`make docs`)."""

from __future__ import annotations

from pathlib import Path

from tests.s3.counted import recorded

PAGE = Path(__file__).with_name("s3.md")
KINDS = ("LIST", "HEAD", "GET", "PUT", "DELETE")
RUNS = {
    "first build": "the first build",
    "a row": "a row of one source",
    "another row": "one more row",
    "nothing": "nothing changed",
}

TITLE = """# On an object store

This page says how to have the warehouse on S3, and what a refresh asks of it.

```yaml
shop:
  target: lake
  outputs:
    lake:
      type: sparkivm
      method: session
      schema: shop
      server_side_parameters:
        spark.jars.packages: org.apache.hadoop:hadoop-aws:3.5.0
        spark.sql.warehouse.dir: s3a://bucket/warehouse
        spark.hadoop.hive.metastore.uris: thrift://metastore.example.com:9083
```

Take the version of hadoop-aws that PySpark's own `hadoop-client-api` has: 3.3.4 for Spark 3.5,
3.5.0 for 4.2. The adapter adds Delta's JAR to `spark.jars.packages`. By default only one Spark at a
time may write a Delta table on S3: Delta's `S3SingleDriverLogStore` keeps two commits of one
driver from colliding, but knows nothing of other drivers. Several that write one table need
[Delta's store with DynamoDB](https://docs.delta.io/latest/delta-storage.html), which was never
run here.

`make test-s3` runs moto's endpoint on loopback, and dbt on it: a build, refreshes, and runs that
die before and after their `MERGE`. No test runs on AWS.

## Requests

What one `dbt run` of one model asked of the endpoint, by the number of tables that the model
joins. The driver had the tables' newest snapshots in memory, as a resident Spark has; a new
process reads their logs first.
"""


END = """
Most of it reads logs. Of each table Delta lists the log's folder; the adapter reads a commit by one
HEAD and one GET. It reads the two newest ones first, and more where more have come since the last
refresh. S3 keeps times to the second: where two commits of a table fall into one, Delta is asked by
`DESCRIBE HISTORY`, which reads them once more.
"""


def page() -> str:
    """The page's text."""
    lines = [TITLE, f"| sources | run | {' | '.join(KINDS)} | all |", "|---" * 8 + "|"]
    for sources, runs in sorted(recorded().items(), key=lambda item: int(item[0])):
        for run, told in RUNS.items():
            kinds = runs.get(run, {})
            numbers = [str(kinds.get(kind, 0)) for kind in KINDS]
            lines.append(f"| {sources} | {told} | {' | '.join(numbers)} | {sum(kinds.values())} |")
    return "\n".join(lines) + "\n" + END


if __name__ == "__main__":
    PAGE.write_text(page())
