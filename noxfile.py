"""One environment for each Spark, and the same suite in each (`make test-matrix`).

`nox -l` lists them; `nox -s 'matrix(3.5)' -- --quick -k operators` runs a part of one.
"""

from __future__ import annotations

import re
from pathlib import Path

import nox

from tests.matrix.suite import EVERY, QUICK, SPARKS, SUITE

nox.options.default_venv_backend = "venv"
nox.options.reuse_existing_virtualenvs = True


@nox.session
@nox.parametrize("spark", list(SPARKS), ids=list(SPARKS))
def matrix(session: nox.Session, spark: str) -> None:
    """The suite on one Spark; `--quick` takes a part of it, other arguments go to pytest."""
    file = _constraints(Path(session.create_tmp()), SPARKS[spark])
    session.install("--quiet", "--constraint", str(file), "--editable", ".[session,test]")
    given = [argument for argument in session.posargs if argument != "--quick"]
    modules = QUICK if "--quick" in session.posargs else tuple(SUITE)
    often = () if "--quick" in session.posargs else (f"--ivm-every={EVERY}",)
    pytest = ("python", "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.matrix.outcomes")
    session.run(*pytest, *modules, *often, *given)


def _constraints(folder: Path, spark: str) -> Path:
    """The tested versions, with another Spark."""
    lines = Path("constraints.txt").read_text().splitlines()
    others = [line for line in lines if not re.match(r"(pyspark|py4j)==", line)]
    file = folder / "constraints.txt"
    file.write_text("\n".join([*others, f"pyspark=={spark}"]) + "\n")
    return file
