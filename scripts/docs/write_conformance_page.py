"""Writes the table of `docs/conformance.md` from the modules of `tests/conformance` (`make docs`).

What a class did comes from its last run (`tests/conformance/outcomes.json`).
"""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import dbt.tests.adapter

from scripts.docs import DOCS
from scripts.docs.marked_blocks import filled
from tests import conformance
from tests.conformance import outcomes
from tests.conformance.left_out import LEFT_OUT

PAGE = DOCS / "conformance.md"
SUITES = dbt.tests.adapter.__name__

COUNTED = {
    "passes": "pass as they are",
    "passes adapted": "pass adapted",
    "fails": "fail",
    "not run": "did not run",
    "left out": "are left out",
}
"""How the page counts each result."""

Class = type[object]


def suite_of(suite_class: Class) -> str:
    """The folder of dbt's package in which a class is."""
    return suite_class.__module__.removeprefix(f"{SUITES}.").split(".")[0]


def suite_classes() -> Iterator[Class]:
    """The classes of dbt's package that have tests, without those that dbt itself runs."""
    for module in _modules(dbt.tests.adapter):
        for name, member in vars(module).items():
            own = inspect.isclass(member) and member.__module__ == module.__name__
            if own and not name.startswith("Test") and any(_tests(member)):
                yield member


def our_classes() -> Iterator[Class]:
    """The classes of `tests/conformance` that pytest runs."""
    for module in _modules(conformance):
        for name, member in vars(module).items():
            own = inspect.isclass(member) and member.__module__ == module.__name__
            if own and name.startswith("Test"):
                yield member


def taken_from(our_class: Class) -> Class:
    """The class of dbt's package that one of ours runs."""
    return next(base for base in our_class.__mro__ if base.__module__.startswith(f"{SUITES}."))


def is_adapted(our_class: Class) -> bool:
    """Whether a class has anything of its own."""
    own = set(vars(our_class)) - {"__doc__", "__module__", "pytestmark"}
    return bool({name for name in own if not name.startswith("__")} or len(our_class.__bases__) > 1)


def result(our_class: Class, recorded: outcomes.Outcomes) -> str:
    """What a class did when it ran last."""
    module = our_class.__module__.rsplit(".", 1)[-1]
    found = recorded.get(f"{module}.{our_class.__name__}", {})
    ran = {test.split("[")[0] for test, outcome in found.items() if outcome != "skipped"}
    if "failed" in found.values():
        return "fails"
    if not ran or set(_tests(our_class)) - ran:
        return "not run"
    return "passes adapted" if is_adapted(our_class) else "passes"


def is_quick(our_class: Class) -> bool:
    """Whether the default run of the tests takes it."""
    return any(mark.name == "quick" for mark in getattr(our_class, "pytestmark", ()))


def reason_left_out(suite_class: Class, reasons: Mapping[str, str] = LEFT_OUT) -> str | None:
    """Why a class is not run, or None."""
    suite = suite_of(suite_class)
    return reasons.get(f"{suite}.{suite_class.__name__}", reasons.get(suite))


def page(text: str) -> str:
    """The page's text with what the classes did."""
    return filled(text, {"classes": classes()}.__getitem__)


def classes() -> str:
    """What each class did, as a table."""
    versions, recorded = outcomes.recorded()
    rows = []
    for ours in our_classes():
        taken = taken_from(ours)
        why = " ".join((ours.__doc__ or "").split()) if is_adapted(ours) else ""
        rows.append((suite_of(taken), taken.__name__, result(ours, recorded), is_quick(ours), why))
    run = {base for ours in our_classes() for base in ours.__mro__}
    for suite_class in suite_classes():
        reason = reason_left_out(suite_class)
        if suite_class not in run and reason is not None:
            rows.append((suite_of(suite_class), suite_class.__name__, "left out", False, reason))
    counts = Counter(row[2] for row in rows)
    told = ", ".join(f"{counts[each]} {text}" for each, text in COUNTED.items() if counts[each])
    with_versions = ", ".join(f"{package} {version}" for package, version in versions.items())
    lines = [
        f"Of {len(rows)} classes, {told}. They ran with {with_versions}.\n",
        "| suite | class | result | why |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {suite} | {name} | {did}{' (quick)' if quick else ''} | {why} |"
        for suite, name, did, quick, why in sorted(rows)
    ]
    return "\n".join(lines)


def _tests(suite_class: Class) -> Iterator[str]:
    """The names of its tests; what else has such a name is a fixture."""
    named = (name for name in dir(suite_class) if name.startswith("test_"))
    return (name for name in named if inspect.isfunction(getattr(suite_class, name)))


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    """The modules below a package, some of whose folders are no packages."""
    (root,) = map(Path, package.__path__)
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if parts[-1] != "__init__":
            yield importlib.import_module(".".join((package.__name__, *parts)))


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
