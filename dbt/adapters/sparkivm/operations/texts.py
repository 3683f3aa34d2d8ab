"""What the operations tell, as tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table

from dbt.adapters.sparkivm.operations.totals import totals
from python_ivm.operate.check import Check
from python_ivm.operate.pending import Pending
from python_ivm.operate.preview import ERROR, Preview
from python_ivm.operate.records import Record
from python_ivm.operate.status import Status
from python_ivm.optimize.cost import ReadSize

_WIDTH = 140
_MOST_SOURCES = 3
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """A table as text.

    Args:
        titles: The columns' titles.
        rows: The cells.
        numbers: The titles of columns that are aligned to the right.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in titles:
        made.add_column(title, justify="right" if title in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    file = StringIO()
    console = Console(file=file, width=_WIDTH, markup=False, highlight=False, emoji=False)
    console.print(made)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def of_previews(found: Sequence[Preview]) -> str:
    """What a run would do, with its totals."""
    if not found:
        return "No maintained model is selected."
    titles = ("model", "strategy", "reason", "pending", "reads", "about", "rebuild")
    rows = [
        (
            p.model,
            p.strategy,
            p.reason,
            _pending(p.sources),
            reading(p.reads),
            seconds(p.seconds),
            seconds(p.rebuild_seconds),
        )
        for p in found
    ]
    lines = [table(titles, rows, ("reads", "about", "rebuild"))]
    told = [note for p in found for note in _notes(p)]
    if told:
        lines += ["", *told]
    return "\n".join([*lines, "", _total(found)])


def _notes(found: Preview) -> list[str]:
    notes = [f"{found.model}: {note}" for note in found.notes]
    if found.fallback or found.strategy in (ERROR, "unknown"):
        notes.insert(0, f"{found.model}: {found.explanation}")
    if found.followers:
        notes.append(
            f"{found.model}: {', '.join(found.followers)} reads it, and is not part of this run"
        )
    return notes


def _total(found: Sequence[Preview]) -> str:
    sums = totals(found)
    strategies = ", ".join(f"{number} {name}" for name, number in sums["strategies"].items())
    known = sums["seconds"]
    took = "" if known is None else f"; about {seconds(known)}"
    if known is not None and sums["without_estimate"]:
        took += f" without {sums['without_estimate']} whose time is not known yet"
    return f"{len(found)} models: {strategies}{took}"


def _pending(sources: Sequence[Pending]) -> str:
    changed = [s for s in sources if s.is_changed and s.bookmark is not None]
    shown = [_source(s) for s in changed[:_MOST_SOURCES]]
    if len(changed) > _MOST_SOURCES:
        shown.append(f"{len(changed) - _MOST_SOURCES} more")
    return "\n".join(shown)


def _source(found: Pending) -> str:
    name = found.source.split(".")[-1]
    versions = f"{name}@{found.bookmark}→{'?' if found.version is None else found.version}"
    if found.by:
        return f"{versions} (by {found.by})"
    if found.change == "replaced":
        return f"{versions} replaced"
    if found.rewritten:
        return f"{versions} all rows written"
    counts = (found.inserted, found.updated, found.deleted)
    if None in counts:
        return f"{versions} rows not told"
    told = " ".join(f"{sign}{n:,}" for sign, n in zip("+~-", counts, strict=True) if n)
    size = f", {bytes_(found.bytes)}" if found.bytes is not None else ""
    return f"{versions} {told or 'no rows'}{size}, {age(found.since)} old"


def reading(found: ReadSize) -> str:
    """How much is read, in short."""
    if found.bytes == 0 and found.rows == 0:
        return ""
    told = [] if found.rows is None else [f"{found.rows:,} rows"]
    told += [] if found.bytes is None else [bytes_(found.bytes)]
    return ", ".join(told) or "?"


def seconds(took: float | None) -> str:
    """A time in short."""
    if took is None:
        return "?"
    if took < 100:
        return f"{took:.1f} s"
    return f"{took / 60:.0f} min" if took < 7200 else f"{took / 3600:.1f} h"


def bytes_(size: int | None) -> str:
    """A size in short."""
    if size is None:
        return "?"
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{size} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def age(time: str | None) -> str:
    """How long ago a time in ISO 8601 was."""
    if time is None:
        return "?"
    then = datetime.fromisoformat(time.replace("Z", "+00:00"))
    passed = max((datetime.now(timezone.utc) - then).total_seconds(), 0)
    for most, size, unit in ((120, 1, "s"), (7200, 60, "min"), (172800, 3600, "h")):
        if passed < most:
            return f"{passed / size:.0f} {unit}"
    return f"{passed / 86400:.0f} days"


def of_checks(found: Sequence[Check]) -> str:
    """How models can be maintained."""
    if not found:
        return "No maintained model is selected."
    lines = [table(("model", "verdict", "reason"), [(c.model, c.verdict, c.reason) for c in found])]
    told = [line for c in found for line in _of_check(c)]
    counts = Counter(c.verdict for c in found)
    total = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items()))
    return "\n".join([*lines, *([""] if told else []), *told, "", f"{len(found)} models: {total}"])


def _of_check(found: Check) -> list[str]:
    lines = [f"{found.model}: {found.explanation}"] if found.explanation else []
    if found.text:
        lines.append(f"    {found.line} | {found.text}")
    lines += [f"{found.model}: recomputes {sentence}" for sentence in found.recomputed]
    return lines + [f"{found.model}: {sentence}" for sentence in found.advice]


def of_statuses(found: Sequence[Status]) -> str:
    """Where models stand."""
    if not found:
        return "No maintained model is selected."
    titles = ("model", "last", "reason", "ago", "took", "rows ±", "behind", "rows", "size", "files")
    lines = [table(titles, [_of_status(s) for s in found], titles[3:5] + titles[7:])]
    told = [f"{s.model}: {sentence}" for s in found for sentence in s.trouble]
    return "\n".join([*lines, *([""] if told else []), *told])


def _of_status(found: Status) -> tuple[str, ...]:
    last = found.last
    if last is None:
        return (found.model, *[""] * 9)
    behind = [_source(s) for s in found.sources if s.is_changed]
    return (
        found.model,
        last.strategy or "?",
        last.reason or "?",
        age(last.at),
        seconds(last.seconds),
        changed_rows(last),
        "\n".join(behind),
        "?" if found.rows is None else f"{found.rows:,}",
        bytes_(found.bytes),
        "?" if found.files is None else str(found.files),
    )


def changed_rows(record: Record) -> str:
    """The rows that a refresh changed, as in dbt's log."""
    if record.written is not None:
        return f"{record.written:,} rows"
    counts = (record.inserted, record.updated, record.deleted)
    if None in counts:
        return "?"
    return " ".join(f"{sign}{n:,}" for sign, n in zip("+~-", counts, strict=True))


def of_histories(found: Sequence[tuple[str, Sequence[Record], str]]) -> str:
    """The refreshes of models."""
    if not found:
        return "No maintained model is selected."
    titles = ("model", "refresh", "at", "strategy", "reason", "took", "rows ±", "sources")
    rows = [
        (
            model,
            str(record.refresh),
            record.at or "?",
            record.strategy or "?",
            record.reason or "?",
            seconds(record.seconds),
            changed_rows(record),
            ", ".join(f"{name.split('.')[-1]}@{v}" for name, v in record.sources.items()),
        )
        for model, past, _ in found
        for record in past
    ]
    told = [f"{model}: {why}" for model, _, why in found if why]
    return "\n".join([*([table(titles, rows, ("refresh", "took"))] if rows else []), *told])


def of_fallback(model: str, fallback: Record | None, next_one: Preview | None) -> str:
    """Why a model was last refreshed from all rows, and what its next refresh would be."""
    if fallback is None:
        lines = [f"{model}: no refresh that its state remembers was a fallback."]
    else:
        told = f": {fallback.sentence}" if fallback.sentence else ""
        lines = [
            f"{model}: refresh {fallback.refresh} at {fallback.at} was {fallback.strategy} "
            f"({fallback.reason}){told}",
            f"    It took {seconds(fallback.seconds)}, and wrote {changed_rows(fallback)}.",
        ]
    if next_one is not None:
        lines.append(f"    Next: {next_one.strategy} ({next_one.reason}): {next_one.explanation}")
    return "\n".join(lines)
