"""Is there a Java that can run Spark? Asked before Spark, whose own answer is a stack trace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from dbt.adapters.exceptions import FailedToConnectError

OLDEST = 17
_ADVICE = (
    f"Spark needs Java {OLDEST} or newer: install a JDK (such as openjdk-{OLDEST}), "
    "and set JAVA_HOME to its folder or put its `java` on the PATH."
)


def check_java() -> None:
    """Make sure that Spark's launcher will find a suitable Java.

    Raises:
        FailedToConnectError: one line that says what was found and what to do.
    """
    java, found_by = _find_java()
    major = _major_version(java)
    if major is None:
        raise FailedToConnectError(f"{java} ({found_by}) does not run. {_ADVICE}")
    if major < OLDEST:
        raise FailedToConnectError(f"{java} ({found_by}) is Java {major}. {_ADVICE}")


def _find_java() -> tuple[str, str]:
    """The executable that Spark's launcher will take, and how it is found.

    The order is the launcher's: JAVA_HOME where it is set (even if wrongly), else the PATH.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        java = shutil.which("java", path=str(Path(home) / "bin"))
        if java is None:
            raise FailedToConnectError(f"JAVA_HOME is {home}, which has no bin/java. {_ADVICE}")
        return java, "from JAVA_HOME"
    java = shutil.which("java")
    if java is None:
        raise FailedToConnectError(f"No Java: JAVA_HOME is not set, no `java` on PATH. {_ADVICE}")
    return java, "from the PATH"


def _major_version(java: str) -> int | None:
    """What `java -version` says, or None where it does not run."""
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr + answer.stdout)
    if match is None:
        return None
    major, minor = int(match[1]), int(match[2] or 0)
    return minor if major == 1 else major  # Java 8 calls itself 1.8
