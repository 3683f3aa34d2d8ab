"""A second catalog of Delta tables for tests: `LakeCatalog.java`, compiled.

Of the catalogs that hold Delta tables beside Spark's own none can be had from the registries (Unity
Catalog's connector is not served), so this one stands in for them. It needs Spark 4.2, whose
catalogs can have views.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

SOURCE = Path(__file__).with_name("LakeCatalog.java")
CLASS = "sparkivm.testing.LakeCatalog"


class MissingCompiler(RuntimeError):
    """There is no Java compiler here."""


def compiled(folder: Path) -> None:
    """Write the catalog's class into a folder, which a JVM may have on its path already.

    Raises:
        MissingCompiler: this Java has none.
        RuntimeError: it does not compile; with what the compiler says.
    """
    compiler = shutil.which("javac")
    if compiler is None:
        raise MissingCompiler("There is no javac: install a JDK, not a JRE")
    jars = Path(_find_spark_home()) / "jars" / "*"
    command = [compiler, "-nowarn", "-d", str(folder), "-cp", str(jars), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
