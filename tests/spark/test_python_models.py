"""Python models through dbt: their results, what reads them, and their errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.dbt_project import DbtProject

SOURCES = "sources: [{name: lake, schema: %s, tables: [{name: x}]}]"

# pyspark's functions, a function in Python, and a dataclass that looks for its module.
PLAIN = '''

"""Two blank lines above: dbt strips them."""

from __future__ import annotations

import dataclasses

from pyspark.sql import functions as F


@dataclasses.dataclass
class Scale:
    by: int = 10

    def __call__(self, v: int) -> int:
        return v * self.by


def model(dbt, session):
    dbt.config(materialized="table", tblproperties={"maker": "me"})
    frame = dbt.source("lake", "x").join(dbt.ref("names"), "i")
    scaled = F.udf(Scale(), "int")
    return frame.select("i", "name", scaled("v").alias("v"), F.lit(str(dbt.this)).alias("me"))
'''
SUMS = """{{ config(materialized='incremental_ivm') }}
select name, sum(v) as s from {{ ref('scaled') }} group by name"""


@pytest.fixture
def lake(project: DbtProject) -> DbtProject:
    project.sql("create table x using delta as values (1, 10), (2, 20) as t(i, v)")
    project.write({"models/sources.yml": SOURCES % project.schema})
    return project


def test_a_python_model_is_a_delta_table_whose_changes_maintained_models_follow(
    lake: DbtProject,
) -> None:
    lake.models(names="select * from values (1, 'a'), (2, 'b') as t(i, name)", sums=SUMS)
    lake.write({"models/scaled.py": PLAIN})
    result = lake.run()
    assert result.response("sums")["strategy"] == "full"
    rows = lake.sql("select * from scaled order by i")
    me = f"{lake.schema}.scaled"
    assert rows == [(1, "a", 100, me), (2, "b", 200, me)]
    properties = dict(lake.sql("show tblproperties scaled"))
    assert properties["delta.enableChangeDataFeed"] == "true"
    assert properties["maker"] == "me"
    assert lake.sql("select s from sums order by s") == [(100,), (200,)]

    lake.sql("update x set v = 11 where i = 1")
    result = lake.run()
    assert result.response("sums")["reason"] == "SOURCE_REPLACED"
    assert result.response("sums")["strategy"] == "recompute"  # what differs is merged
    assert lake.sql("select s from sums order by s") == [(110,), (200,)]
    assert lake.sql("show views like 'dbt_python*'") == []


INCREMENTAL = """
def model(dbt, session):
    dbt.config(materialized="incremental", unique_key="i", incremental_strategy="merge")
    frame = dbt.source("lake", "x")
    if dbt.is_incremental:
        newest = session.table(str(dbt.this)).agg({"i": "max"}).first()[0]
        frame = frame.filter(frame.i > newest)
    return frame
"""


@pytest.mark.thorough
def test_an_incremental_python_model_writes_what_is_new_and_is_followed(
    lake: DbtProject, tmp_path: Path
) -> None:
    # The table between the model and its MERGE must not take the model's place.
    root = f"{{location_root: '{tmp_path / 'lake'}'}}"
    lake.write(
        {
            "models/inc.py": INCREMENTAL,
            "models/inc.yml": f"models: [{{name: inc, config: {root}}}]",
        }
    )
    lake.models(
        counts="{{ config(materialized='incremental_ivm') }}\n"
        "select count(*) as n from {{ ref('inc') }}"
    )
    lake.run()
    lake.sql("insert into x values (3, 30)")
    lake.sql("update x set v = 0 where i = 1")  # not looked at
    result = lake.run()
    assert lake.sql("select i, v from inc order by i") == [(1, 10), (2, 20), (3, 30)]
    assert result.message("counts") == "incremental: +0 ~1 -0 rows from inc@0→1"
    assert lake.sql("show tables like '*dbt_tmp'") == []
    assert lake.sql("describe detail inc")[0]["location"] == f"file:{tmp_path}/lake/inc"


NAMES = """
import pandas

def model(dbt, session):
    return pandas.DataFrame({"Unit Price": [1.5], "a,b": ["x"]})
"""


@pytest.mark.thorough
def test_columns_of_pandas_keep_their_names(project: DbtProject) -> None:
    project.write({"models/names.py": NAMES})
    project.run()
    assert project.run().success  # a second time, over the first table
    assert project.sql("select `Unit Price`, `a,b` from names") == [(1.5, "x")]


FRAMES = {
    "pandas": "import pandas\n\ndef model(dbt, session):\n"
    "    return pandas.DataFrame({'i': [1, 2], 's': ['a', None]})",
    "on_spark": "import pyspark.pandas as ps\n\ndef model(dbt, session):\n"
    "    return ps.DataFrame({'i': [1, 2], 's': ['a', None]})",
    "pyspark": "def model(dbt, session):\n"
    "    return session.createDataFrame([(1, 'a'), (2, None)], 'i int, s string')",
    "own": "from pyspark.sql import SparkSession\n\ndef model(dbt, session):\n"
    "    other = SparkSession.builder.getOrCreate().newSession()\n"
    "    return other.createDataFrame([(1, 'a'), (2, None)], 'i int, s string')",
}


@pytest.mark.thorough
def test_frames_of_pyspark_pandas_and_other_sessions(project: DbtProject) -> None:
    project.write({f"models/{name}.py": text for name, text in FRAMES.items()})
    result = project.run("--threads", "2")
    assert set(result.statuses.values()) == {"success"}
    for name in FRAMES:
        assert project.sql(f"select i, s from {name} order by i") == [(1, "a"), (2, None)], name


FAILING = {
    "raises": "def model(dbt, session):\n\n    return 1 / 0\n",
    "unresolved": "def model(dbt, session):\n"
    "    frame = session.range(3)\n    return frame.select('nope')\n",
    "in_a_worker": "from pyspark.sql.functions import udf\n\n"
    "def bad(x):\n    return x // (x - x)\n\n"
    "def model(dbt, session):\n"
    "    return session.range(3).select(udf(bad, 'int')('id').alias('y'))",
    "a_list": "def model(dbt, session):\n    return [session.range(3)]\n",
    "imports": "import no_such_module\n\ndef model(dbt, session):\n    return session.range(3)\n",
}


def test_an_error_names_the_models_file_and_line(
    project: DbtProject, capfd: pytest.CaptureFixture[str]
) -> None:
    project.write({f"models/{name}.py": text for name, text in FAILING.items()})
    result = project.dbt("run")
    told = {name: result.message(name) for name in FAILING}
    assert "Runtime Error in model raises (models/raises.py)" in told["raises"]
    assert "ZeroDivisionError: division by zero" in told["raises"]
    assert "in model, models/raises.py line 3: return 1 / 0" in told["raises"]
    assert "Database Error in model unresolved" in told["unresolved"]
    assert "[UNRESOLVED_COLUMN" in told["unresolved"]
    assert "models/unresolved.py line 3: return frame.select('nope')" in told["unresolved"]
    assert told["in_a_worker"].count("line 4") == 1
    assert 'File "models/in_a_worker.py", line 4, in bad' in told["in_a_worker"]
    assert "pyspark" not in told["in_a_worker"]
    assert "ZeroDivisionError" in told["in_a_worker"]
    assert "model() returned a list" in told["a_list"]
    assert "No module named 'no_such_module'" in told["imports"]
    assert "models/imports.py line 1" in told["imports"]
    printed = capfd.readouterr()
    for text in (*told.values(), result.log, printed.out, printed.err):
        assert "at org.apache" not in text
