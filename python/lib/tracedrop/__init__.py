"""Tracedrop: see what's slow in a trace.

>>> import tracedrop as td
>>> t = td.open("trace.json.gz")
>>> t.findings
>>> t.report("gpu-kernels").tables["kernels"].to_pandas()
>>> t.events("slices")          # Arrow: Polars, pandas, PyArrow and DuckDB take it as it is

All numbers are those of ``tracedrop report --format json``: times are integer nanoseconds, shares are from 0 to 1, sizes are bytes.
The unit of each column is in :attr:`Table.units`.
"""

from __future__ import annotations

import builtins as _builtins
import glob as _glob
import json as _json
import os as _os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as _field
from functools import cached_property as _cached
from importlib import import_module as _import_module
from typing import Any, TypeVar, Union, overload

from . import _tracedrop
from ._tracedrop import TracedropError, __version__

__all__ = [
    "Column",
    "Comparison",
    "Events",
    "Fact",
    "Finding",
    "Limit",
    "LimitExceeded",
    "Report",
    "Reports",
    "Table",
    "Trace",
    "TracedropError",
    "compare",
    "event_kinds",
    "export_formats",
    "open",
    "sql",
    "__version__",
]

PathLike = Union[str, "_os.PathLike[str]"]
Progress = Callable[[str, Union[float, None]], object]

# Options of the command that say how it prints, which Python does itself.
_NOT_OPTIONS = {"format", "color", "width", "output", "table", "list", "quiet", "preview", "help", "version"}

#: Options of exports; those of the command that say how a file is read are options of `open`.
_OF_EXPORTS = ("window", "max_depth", "redact", "notes", "with_index")


class LimitExceeded(TracedropError):
    """A comparison exceeded a limit; see :meth:`Comparison.check`."""


def _arguments(options: Mapping[str, Any]) -> list[str]:
    """Keyword arguments as options of the command: ``path_of="step"`` is ``--path-of=step``."""
    out: list[str] = []
    for name, value in options.items():
        option = name.rstrip("_").replace("_", "-")
        if option in _NOT_OPTIONS:
            raise TypeError(f"'{name}' is an option for printing; Python has the values themselves")
        if value is None or value is False:
            continue
        if value is True:
            out.append(f"--{option}")
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        out += [f"--{option}={_os.fspath(one) if isinstance(one, _os.PathLike) else one}" for one in values]
    return out


def _paths(paths: PathLike | Iterable[PathLike]) -> list[str]:
    """Paths as texts; ``~`` is the home folder."""
    if hasattr(paths, "read"):
        raise TypeError("give the path of the file, not an open file")
    try:
        several = [paths] if isinstance(paths, (str, bytes, _os.PathLike)) else list(paths)
        found = [_os.path.expanduser(_os.fsdecode(path)) for path in several]
    except TypeError:
        raise TypeError(f"a trace is a path, or several traces are a list of paths, not {type(paths).__name__}") from None
    for path in found:
        if _glob.has_magic(path) and not _os.path.lexists(path):
            raise TracedropError(f"{path}: no such file. Patterns are for glob, as in open(sorted(glob.glob({path!r})), together=True)")
    return found


def open(
    path: PathLike | Iterable[PathLike],
    *,
    together: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Trace:
    """Open a trace, or several traces together.

    :param path: A file (plain, gzip, zstd, LZ4), a run directory, a zip archive or a folder; or a list of them.
    :param together: Read all files as one run, for instance the ranks of a distributed run.
    :param progress: Called with what is being done (``"reading"`` or ``"reports"``) and its share from 0 to 1, or ``None`` where the
        size is unknown.
    :param options: The options of ``tracedrop report``, with ``_`` for ``-``: ``top=20``, ``only="1.5s..2s"``, ``hold=50_000_000``,
        ``from_="perf-script"``, ``report=["gpu-kernels"]``, ``where="self>1ms"`` (filters all tables), ``kernel_rules="my.rules"``,
        ``show_secrets=True``.
    :raises TracedropError: The file cannot be read, or an option is wrong. The message says what, where, and what to try.

    Reading runs without the GIL; Ctrl-C stops it.
    """
    args = ["tracedrop", "report", *_arguments(options)]
    if together:
        args.append("--together")
    paths = _paths(path)
    if not paths:
        raise TracedropError("no file to open: give a path, or a list of them")
    trace = Trace(_tracedrop.Document.open([*args, "--", *paths], progress))
    if not options:
        trace._unchanged = paths
    return trace


def compare(
    a: Trace | PathLike | Iterable[PathLike],
    b: Trace | PathLike | Iterable[PathLike],
    **options: Any,
) -> Comparison:
    """Compare B with A, the baseline.

    :param a: An open trace, a path, or a list of paths that are read together.
    :param b: The same for B.
    :param options: The options of ``tracedrop compare``, with ``_`` for ``-``: ``phase="decode"``, ``where="delta>1ms"``, ``report="compare-gpu"``; those of
        :func:`open` apply to paths.
    :raises TracedropError: A file cannot be read, or A and B are not of the same kind.

    Differences are B − A: positive times mean that B is slower.
    """
    own: dict[str, Any] = {name: options.pop(name) for name in ("phase", "where", "report") if name in options}
    if options and isinstance(a, Trace) and isinstance(b, Trace):
        raise TypeError(f"{', '.join(options)}: for paths; both traces are open already, so pass it to open()")
    sides = [
        side if isinstance(side, Trace) else open(_paths(side), together=True, **options) for side in (a, b)
    ]
    args = ["tracedrop", "compare", *_arguments(own), "--", "A", "B"]
    return Comparison(_tracedrop.Document.compare(args, sides[0]._document, sides[1]._document))


def sql(query: str, trace: Trace | PathLike, **options: Any) -> Any:
    """Run SQL over the tables of a trace with DuckDB; return its relation (``.df()``, ``.pl()``, ``.arrow()``, ``.fetchall()``).

    Tables of events go by their kind (``slices``), tables of reports by report and table (``"gpu-kernels".kernels``).
    ``docs/tables.md`` lists all of them.

    :raises TracedropError: DuckDB is not installed, or the file cannot be read.
    """
    from ._sql import run

    opened = trace if isinstance(trace, Trace) else open(trace, **options)
    return run(opened, query)


def export_formats() -> dict[str, str]:
    """Formats of :meth:`Trace.export`: id and title."""
    return dict(_tracedrop.export_formats())


def event_kinds() -> dict[str, str]:
    """Kinds of :meth:`Trace.events`, each with what a row is."""
    return dict(_tracedrop.event_kinds())


@dataclass(frozen=True)
class Column:
    """Column of a table."""

    id: str
    label: str
    #: ``ns``, ``bytes``, ``count``, ``ratio`` (0 to 1), ``none``, …; as in JSON.
    unit: str
    #: Whether the column names the row.
    key: bool
    #: Definition; may be empty.
    hint: str


@dataclass(frozen=True)
class Fact:
    """One named value."""

    id: str
    label: str
    #: In ``unit``; ``None`` if unknown.
    value: Any
    unit: str
    hint: str
    #: ``"good"``, ``"fair"``, ``"bad"``, ``"plain"``, or ``None`` for a value without a verdict.
    mark: str | None = None


@dataclass(frozen=True)
class Finding:
    """One finding, with its evidence."""

    #: Kind of finding.
    id: str
    text: str
    #: Nanoseconds at stake; of a comparison, B − A. ``None`` if unknown.
    time_ns: int | None
    #: The same as a share of the total time, from 0 to 1.
    share: float | None
    evidence: list[Fact] = _field(repr=False)
    #: Rows with the evidence: ``report``, ``table``, ``filter``.
    rows: dict[str, str] | None = _field(repr=False)


@dataclass(frozen=True)
class Limit:
    """Outcome of a limit on a comparison."""

    text: str
    #: ``"ok"``, ``"exceeded"``, or ``"unknown"`` if there is no such metric.
    state: str
    why: str

    @property
    def exceeded(self) -> bool:
        return self.state == "exceeded"


_T = TypeVar("_T")


class _Lines(list[_T]):
    """List that prints one item a line."""

    def __repr__(self) -> str:
        return "[" + ",\n ".join(map(repr, self)) + "]"


def _library(name: str) -> Any:
    """A library that takes Arrow."""
    try:
        return _import_module(name)
    except ImportError as error:
        raise ImportError(f"this needs {name}: pip install {name}. Other libraries that take Arrow take the table as it is", name=error.name) from None


class _Arrow:
    """What Arrow consumers take. With PyArrow, it also has rows and columns of its own."""

    _arrow: Any

    def __arrow_c_schema__(self) -> object:
        return self._arrow.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._arrow.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self._arrow.num_rows

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Rows, as dictionaries by column."""
        for batch in self.to_arrow().to_batches():
            yield from batch.to_pylist()

    def __getitem__(self, column: str) -> Any:
        """A column, as a ``pyarrow.ChunkedArray``."""
        if column not in self.column_names:
            raise KeyError(f"no column {column!r}; there are: {', '.join(self.column_names)}")
        return self.to_arrow()[column]

    @property
    def num_rows(self) -> int:
        return len(self)

    @property
    def column_names(self) -> list[str]:
        return self._arrow.column_names

    @property
    def units(self) -> dict[str, str]:
        """Unit of each column: ``ns``, ``bytes``, ``count``, ``ratio`` (0 to 1), ``none``, …; as in JSON."""
        return dict(self._arrow.units)

    def to_arrow(self) -> Any:
        """As a ``pyarrow.Table``.

        :raises ImportError: PyArrow is not installed.
        """
        return _library("pyarrow").table(self)

    def to_pandas(self) -> Any:
        """As a ``pandas.DataFrame``.

        :raises ImportError: PyArrow or pandas is not installed.
        """
        _library("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """As a ``polars.DataFrame``.

        :raises ImportError: Polars is not installed.
        """
        return _library("polars").DataFrame(self)


class Table(_Arrow):
    """Table of a report, in the order of the command.

    Any library that takes Arrow takes it as it is: ``polars.DataFrame(table)``, ``pyarrow.table(table)``,
    ``duckdb.sql("select * from table_")``.
    """

    def __init__(
        self, document: _tracedrop.Document, report: str, id: str, position: int, described: dict[str, Any]
    ) -> None:
        self._document = document
        self._report = report
        self._position = position
        self._described = described
        self.id = id

    @_cached
    def _arrow(self) -> Any:
        return self._document.table(self._report, self._position)

    @property
    def title(self) -> str:
        return self._described["title"]

    @property
    def caption(self) -> str:
        return self._described["caption"]

    @property
    def rows_left_out(self) -> int:
        """Rows that a very long table lacks."""
        return self._described["rows_left_out"]

    @property
    def columns(self) -> list[Column]:
        return [Column(c["id"], c["label"], c["unit"], c["key"], c["hint"]) for c in self._described["columns"]]

    def __repr__(self) -> str:
        return f"<Table {self._report}.{self.id}: {len(self):,} rows, columns {', '.join(self.column_names)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The first rows, in notebooks; with PyArrow only."""
        from . import _notebook

        try:
            first = self.to_arrow().slice(0, _notebook.MAX_ROWS)
        except ImportError:
            return {"text/plain": repr(self)}
        rows = [list(row.values()) for row in first.to_pylist()]
        shown = _notebook.of_table(self.title, self.column_names, self.units, rows, len(self))
        return {"text/plain": repr(self), **shown}


class Events(_Arrow):
    """Events of one kind, one row each. Times are nanoseconds on the trace's own clock."""

    def __init__(self, arrow: _tracedrop.ArrowTable, kind: str) -> None:
        self._arrow = arrow
        self.kind = kind

    def __repr__(self) -> str:
        return f"<Events {self.kind}: {len(self):,} rows, columns {', '.join(self.column_names)}>"


#: Other names of tables, by report.
_ALIASES = {("gpu-kernels", "by_name"): "kernels"}


class _Tables(Mapping[str, Table]):
    """Tables of a report by id."""

    def __init__(self, tables: dict[str, Table], report: str) -> None:
        self._tables = tables
        self._report = report

    def __getitem__(self, id: str) -> Table:
        try:
            return self._tables[_ALIASES.get((self._report, id), id)]
        except KeyError:
            there = ", ".join(self._tables) or "none"
            raise KeyError(f"no table '{id}' in report '{self._report}'; there are: {there}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"{{{', '.join(f'{id!r}: {table!r}' for id, table in self._tables.items())}}}"


def _facts(block: dict[str, Any]) -> list[Fact]:
    return [Fact(**fact) for fact in block]  # type: ignore[arg-type]


class Report:
    """One report: a sentence, values, tables, findings and notes."""

    def __init__(self, document: _tracedrop.Document, described: dict[str, Any]) -> None:
        self._document = document
        self._described = described

    @property
    def id(self) -> str:
        return self._described["id"]

    @property
    def title(self) -> str:
        return self._described["title"]

    @property
    def summary(self) -> str:
        """One sentence; may be empty."""
        return self._described["summary"]

    def _blocks(self, kind: str) -> list[dict[str, Any]]:
        return [block for block in self._described["blocks"] if block["type"] == kind]

    @_cached
    def tables(self) -> Mapping[str, Table]:
        """Tables by id, in display order; of traces opened together, those after the first have a number (``metadata_2``)."""
        tables: dict[str, Table] = {}
        for position, block in enumerate(self._blocks("table")):
            id, number = block["id"], 2
            while id in tables:
                id, number = f"{block['id']}_{number}", number + 1
            tables[id] = Table(self._document, self.id, id, position, block)
        return _Tables(tables, self.id)

    @_cached
    def facts(self) -> dict[str, Fact]:
        """Values by id; of traces opened together, those after the first have a number (``skipped_2``)."""
        facts: dict[str, Fact] = {}
        numbers: dict[str, int] = {}
        for block in self._blocks("facts"):
            for fact in _facts(block["facts"]):
                id, number = fact.id, numbers.get(fact.id, 1)
                while id in facts:
                    number += 1
                    id = f"{fact.id}_{number}"
                numbers[fact.id] = number
                facts[id] = fact
        return facts

    @_cached
    def findings(self) -> list[Finding]:
        """Findings, most time first."""
        return _Lines(
            Finding(f["id"], f["text"], f["time_ns"], f["share"], _facts(f["evidence"]), f["rows"])
            for block in self._blocks("findings")
            for f in block["findings"]
        )

    @property
    def warnings(self) -> list[str]:
        """Sentences without which the numbers can be misleading."""
        return [block["text"] for block in self._blocks("note") if block["level"] == "warning"]

    @property
    def notes(self) -> list[str]:
        """Sentences that help to interpret the numbers."""
        return [block["text"] for block in self._blocks("note") if block["level"] == "info"]

    def __repr__(self) -> str:
        return f"<Report {self.id}: {self.title}, tables {', '.join(self.tables) or 'none'}>"


class Reports:
    """Reports in display order, by position or by id."""

    def __init__(self, reports: Iterable[Report]) -> None:
        self._all = _Lines(reports)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Report]:
        return iter(self._all)

    def __contains__(self, report: object) -> bool:
        return any(report in (one, one.id) for one in self._all)

    @overload
    def __getitem__(self, at: Union[int, str]) -> Report: ...
    @overload
    def __getitem__(self, at: slice) -> list[Report]: ...
    def __getitem__(self, at: Union[int, str, slice]) -> Union[Report, list[Report]]:
        if isinstance(at, slice):
            return _Lines(self._all[at])
        if isinstance(at, int):
            return self._all[at]
        for report in self._all:
            if report.id == at:
                return report
        there = ", ".join(report.id for report in self._all)
        raise KeyError(f"no report '{at}'; there are: {there}")

    def __repr__(self) -> str:
        return repr(self._all)


class _Document:
    """What traces and comparisons have in common."""

    def __init__(self, document: _tracedrop.Document) -> None:
        self._document = document

    @_cached
    def _described(self) -> dict[str, Any]:
        return _json.loads(self._document.describe())

    @property
    def title(self) -> str:
        return self._described["title"]

    @property
    def messages(self) -> list[str]:
        """Parsing issues and notes, as the command prints them."""
        return self._document.messages

    @_cached
    def reports(self) -> Reports:
        """All reports, in display order: by position, or by id as in ``t.reports["gpu-kernels"]``."""
        return Reports(Report(self._document, report) for report in self._described["reports"])

    def report(self, id: str) -> Report:
        """The report of that id.

        :raises KeyError: There is none; the message lists those that there are.
        """
        return self.reports[id]

    @property
    def findings(self) -> list[Finding]:
        """All findings, in the order of the reports."""
        return _Lines(finding for report in self.reports for finding in report.findings)

    @property
    def warnings(self) -> list[str]:
        """Warnings of all reports."""
        return [warning for report in self.reports for warning in report.warnings]

    @overload
    def export(self, to: str, path: None = None, **options: Any) -> bytes: ...
    @overload
    def export(self, to: str, path: PathLike, **options: Any) -> None: ...
    def export(self, to: str, path: PathLike | None = None, **options: Any) -> bytes | None:
        """Export in a format of :func:`export_formats`.

        :param to: ``"html"``, ``"markdown"``, ``"json"``, ``"csv"``, ``"parquet"``, ``"chrome-trace"``, ``"speedscope"``, ``"index"``,
            ``"tracedrop"``, ``"link"``, …
        :param path: Output file, replaced once all of it is written; without it, the bytes are returned. ``"mrm-run"`` needs one.
        :param options: Those of ``tracedrop export``: ``window="1.5s..2s"``, ``max_depth=6``, ``redact=["paths", "hosts"]``,
            ``notes="notes.json"``, ``with_index=True``; with ``"mrm-run"``, ``run_id="a"``.
        :raises TracedropError: The format or an option does not exist, or there is nothing to write in it.
        """
        if to not in export_formats() and "." in to:
            raise TracedropError(f"'{to}' is not a format: give that first, as in export('html', '{to}'); see export_formats()")
        possible = ("run_id",) if to == "mrm-run" else _OF_EXPORTS
        for name in options.keys() - set(possible):
            what = f"no option '{name}' of exports to '{to}'; there are: {', '.join(possible)}"
            raise TracedropError(f"{what}. How a trace is read is an option of open()")
        if to == "mrm-run":
            if path is None:
                raise TracedropError("'mrm-run' is a folder, or a .zip archive: give its path")
            self._document.export_run(path, options.pop("run_id", None))
            return None
        args = ["tracedrop", "export", f"--to={to}", *_arguments(options), "--", "-"]
        content, left_out = self._document.export(args)
        #: What the last export lacks, as noun phrases.
        self.left_out = left_out
        if path is None:
            return content
        target = _os.fspath(path)
        part = f"{target}.{_os.getpid()}.part"
        try:
            with _builtins.open(part, "wb") as out:
                out.write(content)
            _os.replace(part, target)
        except OSError as error:
            # Not the name that the file has while it is written.
            raise type(error)(error.errno, error.strerror, target) from None
        finally:
            if _os.path.exists(part):
                _os.remove(part)
        return None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """The report in notebooks: a page in a sandboxed frame, Markdown, and a picture."""
        from . import _notebook

        return _notebook.of_document(self)

    def view(
        self,
        report: str | None = None,
        height: int = 640,
        *,
        viewer: PathLike | None = None,
        with_viewer: bool = False,
    ) -> None:
        """Show the whole viewer in a notebook: all reports, flame graphs and the timeline, in a sandboxed frame without network.

        The output holds everything that was read, except arguments of events. Traces opened together are held as they are, unless options
        changed how they were read; then the output has the reports only, like that of a comparison.
        The first output also holds the viewer, and those of other cells use that one.

        :param report: Id of the only report to show; ``"flame"`` is the flame graph, ``"timeline"`` the timeline.
        :param height: Height of the frame in pixels.
        :param viewer: Path of ``tracedrop.html``, by default that of the environment variable ``TRACEDROP_VIEWER``, or the one in the
            package.
        :param with_viewer: Put the viewer into this output too: the one that had it is gone, or the notebook isolates cells from each
            other.
        :raises TracedropError: Not in a notebook, no viewer, or more than 50 MB of data.
        :raises KeyError: There is no such report.
        """
        from . import _view

        _view.show(self, report, height, viewer, with_viewer)

    def to_markdown(self) -> str:
        """All reports as Markdown."""
        return self.export("markdown").decode()

    def to_html(self) -> str:
        """All reports as one self-contained page, which works offline and loads nothing."""
        return self.export("html").decode()

    def to_json(self) -> str:
        """All reports as JSON; see ``docs/report.schema.json``."""
        return self.export("json").decode()


class Trace(_Document):
    """An open trace, or several that are one run. Made by :func:`open`."""

    #: Its files, if no option changes how they are read.
    _unchanged: Sequence[str] = ()

    @property
    def account(self) -> Report:
        """Parsing details: bytes and records that were kept, repaired and skipped, and each issue."""
        return Report(self._document, self._described["ledger"])

    @property
    def source(self) -> list[dict[str, Fact]]:
        """Facts about each file: name, size, format, producer, …"""
        return [{fact.id: fact for fact in _facts(file["facts"])} for file in self._described["source"]]

    @property
    def shortfall(self) -> str | None:
        """Why it shows less than was asked for; ``None`` if it does not."""
        return self._document.shortfall()

    def events(self, kind: str = "slices", *, args: bool = False) -> Events:
        """Events of one kind of :func:`event_kinds`, as Arrow.

        Columns that are in memory are not copied: ``ts``, ``name``, ``category``, ``parent``, ``track`` of slices, for instance. Names
        are dictionary columns. ``docs/tables.md`` lists all columns with their units.

        :param kind: ``"slices"`` (instants included), ``"instants"``, ``"counters"``, ``"flows"``, ``"collective_calls"``,
            ``"scoring_calls"`` (forward passes), ``"samples"``, ``"stack_samples"``, ``"stacks"``, ``"accesses"``, ``"tracks"``.
        :param args: Add the column ``args`` to slices: their arguments as JSON. They are read from the file again.
        :raises TracedropError: There is no such kind, or single events were not kept (``hold``). A trace without such events has no
            rows.
        """
        return Events(self._document.events(kind, args), kind)

    def sql(self, query: str) -> Any:
        """Run SQL over the tables of this trace with DuckDB; see :func:`sql`."""
        return sql(query, self)

    def __repr__(self) -> str:
        return f"<Trace {self.title}: reports {', '.join(report.id for report in self.reports) or 'none'}>"


class Comparison(_Document):
    """B compared with A. Made by :func:`compare`. Differences are B − A."""

    @property
    def metrics(self) -> dict[str, str]:
        """Metrics that limits can have: name, as in ``"gpu.per_step"``, and meaning."""
        return dict(self._document.metrics())

    def check(self, *limits: str) -> list[Limit]:
        """Check limits such as ``"gpu.per_step > 3%"`` or ``"gpu.idle > 200us"``; changes within noise never exceed one.

        :raises TracedropError: A text is no limit.
        """
        return [Limit(*limit) for limit in self._document.limits(list(limits))]

    def fail_on(self, *limits: str) -> None:
        """Raise :class:`LimitExceeded` if a limit is exceeded, or if there is no such metric."""
        checked = [limit for limit in self.check(*limits) if limit.state != "ok"]
        if checked:
            raise LimitExceeded("\n".join(f"{limit.state}: {limit.text} ({limit.why})" for limit in checked))

    def __repr__(self) -> str:
        return f"<Comparison {self.title}>"


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext tracedrop`` adds ``%%tracedrop``, which profiles a cell with ``torch.profiler`` and shows the report."""
    from . import _notebook

    def tracedrop(line: str, cell: str) -> Any:
        return _notebook.profiled(line, cell, shell)

    shell.register_magic_function(tracedrop, "cell")
