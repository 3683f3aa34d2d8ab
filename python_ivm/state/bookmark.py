"""The bookmark: what a state was computed from, in the user metadata of the state's own commit."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace

from python_ivm.sources.clock import Instant
from python_ivm.sources.cloned import RECORD, Cloned
from python_ivm.sources.history import Change, Commit, SourceVersion, Until, is_bookmark
from python_ivm.state.timings import Timings, Took

FORMAT = 2
"""The version of the bookmark's format and of the state's layout; another one means a rebuild."""
_FORMAT = re.compile(r'\{"ivm":(\d+)')

_MINUTE = 60_000
"""In milliseconds, as the times of commits are."""


@dataclass(frozen=True)
class Told:
    """What a commit tells of its refresh beside the bookmark, for people and for estimates.

    Attributes:
        strategy: How the state was refreshed.
        reason: The code of why.
        sentence: The same in words, where a line of dbt's log has them.
        began: When the refresh was asked for, in milliseconds; None if that is not known.
        rebuild: The milliseconds of the last build; None if they are not known.
        is_bag: Whether the state's rows have no keys, so that Delta counts a row that changed as
            one that went and one that came.
        fallback: Whether all rows were read where one would expect to follow what changed.
        optimized: The number of the refresh at which the state's files were last written anew;
            None if that is not known.
        vacuumed: When files that no version needs were last removed, in milliseconds; None
            likewise. A build counts, as it leaves none of its own.
        rows: How many rows changed of the sources that the query reads; None if that is not known.
        changed: Which of them changed, by their places among the sorted ones; None likewise.
        estimated: Whether all rows were written as the cost model found that to follow the change
            would read more.
        timings: How long the refreshes before it took.
    """

    strategy: str
    reason: str
    sentence: str = ""
    began: int | None = None
    rebuild: int | None = None
    is_bag: bool = False
    fallback: bool = False
    optimized: int | None = None
    vacuumed: int | None = None
    rows: int | None = None
    changed: tuple[int, ...] | None = None
    estimated: bool = False
    timings: Timings = field(default_factory=Timings)

    @staticmethod
    def of(value: object) -> Told | None:
        """Read what :meth:`Bookmark.text` wrote; None if nothing was."""
        if not isinstance(value, Mapping):
            return None
        known = {field.name for field in fields(Told)}
        told = Told(**{str(key): told for key, told in value.items() if key in known})
        changed = None if told.changed is None else tuple(told.changed)
        return replace(told, changed=changed, timings=Timings.of(told.timings))


@dataclass(frozen=True)
class Bookmark:
    """What a state holds.

    Attributes:
        query: Hash of the model's SQL text and of the settings that can change its result.
        fingerprint: Hash of the bound plan, the used columns' types and the layout.
        refresh: The refresh's number, from 1; the fence against two runs at once.
        sources: The version of each source, by planner key.
        types: What a build was told of types: of summed arguments, maps and unions.
        model: The model's public view.
        maintained: Whether the state has counters; if not, it is the plain result of a query for
            which there are no rules.
        unversioned: Sources that are no Delta tables, so that no change of theirs can be seen.
        views: What is kept of each view that was taken apart, by key
            (``refresh/metadata/redefined.py``).
        instant: The clock as the rows were computed by it; None if the query does not ask it.
        sizes: Bytes of tables when they were last asked for, by name.
        view: Hash of the public view's text; empty if it is not known.
        project: The dbt project that the model is of; empty if it is not known.
        state: The state's own name, by which a copy of its files is known; empty as above.
        shape: Hash of the query over the tables below its views, whatever schemas these are in,
            and of the settings; empty where that is not known.
        clone: The state that this one is a clone of, if it is one.
        storage: How its rows are stored, as :meth:`Storage.value` gives it.
        told: What its commit tells of the refresh; None if it is of an older version.
        start: Code and text of why the state was emptied, while its first rows are still to come;
            only models that read their own rows are built in these two steps.
        cut_off: Whether a loop reached a limit, so that the rows are not all of the query's.
        log: Whether the state holds the rows that came, and not those that are there.
    """

    query: str
    fingerprint: str
    refresh: int
    sources: Mapping[str, SourceVersion]
    types: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    model: str = ""
    maintained: bool = True
    unversioned: Sequence[str] = ()
    views: Mapping[str, str] = field(default_factory=dict)
    instant: Instant | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    view: str = ""
    project: str = ""
    state: str = ""
    shape: str = ""
    clone: Cloned | None = None
    storage: Mapping[str, object] = field(default_factory=dict)
    told: Told | None = None
    start: tuple[str, ...] = ()
    cut_off: bool = False
    log: bool = False

    def text(self) -> str:
        """The bookmark as one line of JSON."""
        return encoded(
            {
                "ivm": FORMAT,
                "model": self.model,
                "refresh": self.refresh,
                "query": self.query,
                "fingerprint": self.fingerprint,
                "sources": {k: _told_version(v) for k, v in self.sources.items()},
                "types": {k: dict(v) for k, v in self.types.items()},
                "maintained": self.maintained,
                "unversioned": list(self.unversioned),
                "views": dict(self.views),
                "instant": asdict(self.instant) if self.instant is not None else None,
                "sizes": dict(self.sizes),
                "view": self.view,
                "project": self.project,
                "state": self.state,
                "shape": self.shape,
                RECORD: self.clone.value() if self.clone is not None else None,
                "storage": dict(self.storage),
                "told": asdict(self.told) if self.told is not None else None,
                "start": list(self.start),
                "cut_off": self.cut_off,
                "log": self.log,
            },
        )

    @staticmethod
    def of(text: str | None) -> Bookmark | None:
        """Read a commit's user metadata; None if it is not a bookmark of this format."""
        if text is None or not is_bookmark(text):
            return None
        try:
            data = json.loads(text)
            if data["ivm"] != FORMAT:
                return None
            return Bookmark(
                query=data["query"],
                fingerprint=data["fingerprint"],
                refresh=int(data["refresh"]),
                sources={k: _read_version(v) for k, v in data["sources"].items()},
                types=data["types"],
                model=data["model"],
                maintained=bool(data["maintained"]),
                unversioned=tuple(data["unversioned"]),
                views=data.get("views", {}),
                instant=Instant(**data["instant"]) if data.get("instant") else None,
                sizes=data.get("sizes", {}),
                view=data.get("view", ""),
                project=data.get("project", ""),
                state=data.get("state", ""),
                shape=data.get("shape", ""),
                clone=Cloned.of(data.get(RECORD)),
                storage=data.get("storage", {}),
                told=Told.of(data.get("told")),
                start=tuple(data.get("start", ())),
                cut_off=bool(data.get("cut_off")),
                log=bool(data.get("log")),
            )
        except (ValueError, KeyError, TypeError, IndexError):
            return None


def _told_version(version: SourceVersion) -> list[object]:
    until = version.until
    told = [until.column, until.kind, until.value] if until is not None else []
    return [version.version, version.timestamp, *told]


def _read_version(told: Sequence[str]) -> SourceVersion:
    until = Until(*told[2:]) if len(told) > 2 else None
    return SourceVersion(int(told[0]), told[1], until)


def is_newer(text: str | None) -> bool:
    """Whether a commit's user metadata is a bookmark of a format that is yet to come."""
    found = _FORMAT.match(text or "")
    return found is not None and int(found[1]) > FORMAT


def telling(text: str, told: Told) -> str:
    """A bookmark's text that tells this of its refresh."""
    bookmark = Bookmark.of(text)
    return text if bookmark is None else replace(bookmark, told=told).text()


def build_time(found: Found) -> int | None:
    """The milliseconds of a state's last build, as its newest bookmark knows them.

    A build's own bookmark was written before it was done: it is known by its commit's time.
    """
    told = found.bookmark.told if found.bookmark is not None else None
    if told is None:
        return None
    return taken(told, found.commit) if told.strategy == "full" else told.rebuild


def timings(found: Found) -> Timings:
    """How long a state's refreshes took; the newest one is known by its commit's time, as above."""
    bookmark, commit = found.bookmark, found.commit
    told = bookmark.told if bookmark is not None and bookmark.clone is None else None
    if bookmark is None or told is None:
        return Timings()
    milliseconds = taken(told, commit)
    if milliseconds is None:
        return told.timings
    is_build = told.strategy == "full"
    took = Took(milliseconds, told.rows, bookmark.refresh, is_build, told.changed)
    if took.build:
        return Timings(anew=(took,))  # others were of another query, or of other tables
    return told.timings.after(told.reason, took, estimated=told.estimated)


def no_refresh(found: Found, told: Told, reason: str) -> Told:
    """What a commit tells that is no refresh; it keeps what is known of those before it."""
    return replace(
        told, strategy="noop", reason=reason, sentence="", began=None, fallback=False,
        rebuild=build_time(found), timings=timings(found),
    )  # fmt: skip


def taken(told: Told, commit: Commit | None) -> int | None:
    """The milliseconds from when a refresh was asked for to its commit; None if not known."""
    if commit is None or told.began is None or not commit.timestamp.isdigit():
        return None
    took = int(commit.timestamp) - told.began
    return took if took >= 0 else None


def cut_off(text: str) -> str:
    """A bookmark's text of a state whose loop reached a limit."""
    bookmark = Bookmark.of(text)
    return text if bookmark is None else replace(bookmark, cut_off=True).text()


@dataclass(frozen=True)
class Found:
    """What a state table's history says.

    Attributes:
        bookmark: The newest bookmark, if there is one.
        commit: Its commit.
        newer: Whether the newest bookmark is of a format that is yet to come.
        intact: Whether nothing but the refreshes wrote rows since it.
        version: The state's version; None if there is no state.
        steady: The sources that have probably not changed, by planner key: those that the last
            refresh found unchanged, and all of them where the history tells of no other refresh.
    """

    bookmark: Bookmark | None
    intact: bool
    version: int | None
    steady: frozenset[str] = frozenset()
    commit: Commit | None = None
    newer: bool = False


NOT_BUILT = Found(None, True, None)


def newest(commits: Sequence[Commit]) -> Found:
    """The newest bookmark of a state table's commits (newest first)."""
    intact = True
    version = commits[0].version if commits else None
    for number, commit in enumerate(commits):
        bookmark = Bookmark.of(commit.user_metadata)
        if bookmark is not None:
            steady = _steady(bookmark, commit, commits[number + 1 :])
            return Found(bookmark, intact, version, steady, commit)
        if is_newer(commit.user_metadata):
            return Found(None, False, version, newer=True)
        if commit.change is not Change.NONE:
            intact = False
    return Found(None, False, version)


def _steady(bookmark: Bookmark, commit: Commit, earlier: Sequence[Commit]) -> frozenset[str]:
    """The sources that a bookmark has at the version of the one before, if there is one.

    A first build does not tell which of its sources change; that they do not is the better guess.
    If it is wrong, the next refresh asks a little more, once; the other one would be wrong at each
    refresh that finds nothing to do, as such a refresh leaves no bookmark.

    They are known again by the times of their newest commits. A later commit has another one: the
    bookmark's own commit came between, and no writer's clock is wrong by as much.
    """
    bookmarks = (Bookmark.of(commit.user_metadata) for commit in earlier)
    former = next((b for b in bookmarks if b is not None and b.refresh < bookmark.refresh), None)
    known = former.sources if former is not None else bookmark.sources
    return frozenset(
        key
        for key, version in bookmark.sources.items()
        if known.get(key) == version and _long_before(version.timestamp, commit.timestamp)
    )


def _long_before(time: str, later: str) -> bool:
    """Whether a commit is older than another one by a minute; not where that cannot be told."""
    return time.isdigit() and later.isdigit() and int(later) - int(time) > _MINUTE


_REDACTED = re.compile("url|secret|password|token|access|credential", re.IGNORECASE)


def encoded(value: object) -> str:
    """A value as one line of JSON that passes through Spark unchanged.

    ``${`` is written as an escape, for Spark substitutes variables in statements and, when it
    reads them, in settings too; and so are words for which it shows a property as
    ``*********(redacted)``, as which ``hourly`` has one.
    """
    text = json.dumps(value, separators=(",", ":")).replace("${", "\\u0024{")
    # Their last letters: the first may be those of another escape.
    return _REDACTED.sub(lambda word: f"{word[0][:-1]}\\u{ord(word[0][-1]):04x}", text)


def digest(*parts: object) -> str:
    """A short stable hash of texts and JSON-like values."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
