"""Summaries of many traces as a Parquet dataset, for engines such as DuckDB, Spark and Ray Data.

>>> from tracedrop import fleet
>>> fleet.add(["rank0.json.gz", "rank1.json.gz"], run="2026-11-26", dataset="fleet/")

Sums, sums of squares, counts and histograms of ranks add up exactly to those of all. Times are integer nanoseconds.
``docs/tables.md`` lists tables and columns.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import Trace, TracedropError, __version__, open

#: Version 3 added `total_ns2` of collectives, and `collective_durations`.
SCHEMA_VERSION = "3"
#: Files in one part of a table, so that parts have a size that engines like.
FILES_PER_PART = 256
#: Arguments of a progress function: files read, and all files that are read.
Progress = Callable[[int, int], object]
MISSING = "Summaries of fleets need DuckDB, which is not installed. Install it with: pip install 'tracedrop[sql]'"

def _tables() -> dict[str, dict[str, tuple[str, str, str]]]:
    tables: dict[str, dict[str, tuple[str, str, str]]] = {}
    for line in Path(__file__).with_name("fleet.tsv").read_text("utf-8").splitlines():
        fields = line.split("\t")
        if line.startswith("#") or not line:
            continue
        if fields[0]:
            columns = tables.setdefault(fields[0], {})
        else:
            _, name, kind, unit, about = fields
            columns[name] = (kind, unit, about)
    return tables


#: Columns of each table: type, unit, meaning. Each table also has the partition column ``run``.
TABLES = _tables()


@dataclass(frozen=True)
class Added:
    """What :func:`add` did."""

    #: Files added, those among them that cannot be read, and files that were in the dataset already.
    added: int
    unreadable: int
    known: int


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError:
        raise TracedropError(MISSING) from None
    return duckdb


def _sha256(path: Path) -> str:
    if path.is_dir():
        raise TracedropError(f"{path}: a folder; give the files in it, one per rank, such as {path}/*.json.gz")
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError as error:
        # Without its content, nobody can say later whether it was added.
        raise TracedropError(f"{path}: cannot be read, so nothing was added: {error.strerror}") from None
    return digest.hexdigest()


def _folder(dataset: Path, table: str, run: str) -> Path:
    return dataset / f"table={table}" / f"run={run}"


def _known(connection: Any, dataset: Path, run: str) -> set[str]:
    """Checksums of the files that the dataset has for a run."""
    folder = _folder(dataset, "files", run)
    parts = sorted(str(path) for path in folder.glob("*.parquet"))
    if not parts:
        return set()
    return {row[0] for row in connection.execute("select sha256 from read_parquet(?)", [parts]).fetchall()}


def _rank(trace: Trace) -> tuple[int | None, int | None]:
    """Rank and world size, from the fact ``3 of 8`` or ``3``."""
    for report in trace.reports:
        if fact := report.facts.get("rank"):
            if found := re.fullmatch(r"(\d+)(?: of (\d+))?", str(fact.value)):
                return int(found[1]), int(found[2]) if found[2] else None
    return None, None


#: Name that ``torch.profiler.tensorboard_trace_handler`` gives a file: host, process, nanoseconds.
_NAME_OF_TORCH = re.compile(r"(.+)_\d+\.\d+\.pt\.trace\.json(?:\.gz)?")


def _host(cursor: Any, trace: Trace, path: Path) -> str | None:
    """Host of a file, from its metadata (rocpd, XPlane) or from its name."""
    overview = next((report.tables.get("metadata") for report in trace.reports if report.id == "overview"), None)
    if overview is not None:
        cursor.register("metadata_of_file", overview)
        found = cursor.execute("select value::varchar from metadata_of_file where name = 'hostname' and value <> ''").fetchall()
        cursor.unregister("metadata_of_file")
        if found:
            return str(found[0][0])
    named = _NAME_OF_TORCH.fullmatch(path.name)
    return named[1] if named else None


def _rows(cursor: Any, trace: Trace, report: str, table: str, into: str, columns: str, rank: int | None) -> None:
    """Insert rows of a table of a report, if the trace has it."""
    found = next((one for one in trace.reports if one.id == report), None)
    if found is None or table not in found.tables:
        return
    rows = found.tables[table]  # noqa: F841
    cursor.register("rows_of_report", rows)
    cursor.execute(f"insert into {into} select ?, {columns} from rows_of_report", [rank])
    cursor.unregister("rows_of_report")


class _Stop:
    """Ends the reading of files in other threads, which Ctrl-C does not reach."""

    def __init__(self) -> None:
        self.is_set = False

    def check(self, *_: object) -> None:
        if self.is_set:
            raise KeyboardInterrupt


def _summarize(connection: Any, path: Path, sha256: str, options: dict[str, Any], stop: _Stop) -> bool:
    """Insert the rows of one file; whether it can be read."""
    cursor = connection.cursor()
    size = path.stat().st_size
    try:
        trace = open(path, progress=stop.check, **options)
        # Kernels are summed one by one, which needs all of them.
        trace.events()
    except TracedropError as error:
        # A rank that is missing would look like one that has nothing to say.
        reason = str(error).replace(str(path), path.name)
        values = [None, None, None, path.name, sha256, size, None, None, None, None, None, __version__, reason]
        cursor.execute(f"insert into files values ({', '.join('?' * len(values))})", values)
        return False
    rank, world_size = _rank(trace)
    facts = {id: fact.value for report in trace.reports if report.id == "gpu-breakdown" for id, fact in report.facts.items()}
    account = {id: fact.value for id, fact in trace.account.facts.items()}
    counts = [account.get(id) for id in ("kept", "repaired", "skipped")]
    host = _host(cursor, trace, path)
    graded = [facts.get("grade"), facts.get("gpu")]
    values = [rank, world_size, host, path.name, sha256, size, *counts, *graded, __version__, None]
    cursor.execute(f"insert into files values ({', '.join('?' * len(values))})", values)
    parts = "computation, exposed_communication, exposed_copies, idle, kernels"
    _rows(cursor, trace, "gpu-breakdown", "steps", "steps", f"device, step, phase, start, gpu_time, {parts}", rank)
    _collectives(cursor, trace, rank)
    for finding in trace.findings:
        row = [rank, finding.id, finding.time_ns, finding.share, finding.text]
        cursor.execute("insert into findings values (?, ?, ?, ?, ?)", row)
    _kernels(cursor, trace, rank)
    return True


#: Bucket of a histogram for the duration `dur`.
_BUCKET = "case when dur > 0 then length(ltrim(bin(dur), '0')) - 1 else -1 end"


def _collectives(cursor: Any, trace: Trace, rank: int | None) -> None:
    """Insert the rows of collectives, and their histograms."""
    found = next((report for report in trace.reports if report.id == "gpu-communication"), None)
    if found is None or "collectives" not in found.tables:
        return
    cursor.register("named", found.tables["collectives"])
    cursor.register("calls_of_file", trace.events("collective_calls"))
    key = 'collective::varchar as collective, dtype::varchar as dtype, message, "group"::varchar as group_name, ranks'
    # The report tells calls apart by more than the key, such as the elements that come out.
    cursor.execute(
        f"create or replace temp table reported as select {key}, sum(count) as count, sum(total) as total_ns, min(min) as min_ns, "
        "max(max) as max_ns from named group by all"
    )
    cursor.execute(f"create or replace temp table calls as select {key}, dur from calls_of_file")
    # Squares and histograms are there if single calls are those that the report counts.
    same = " and ".join(
        f"reported.{name} is not distinct from sums.{name}"
        for name in ("collective", "dtype", "message", "group_name", "ranks", "count", "total_ns")
    )
    cursor.execute(
        "create or replace temp table summed as select reported.*, sums.total_ns2 from reported left join "
        "(select collective, dtype, message, group_name, ranks, count(*) as count, sum(dur) as total_ns, "
        f"sum(dur::hugeint * dur::hugeint)::decimal(38, 0) as total_ns2 from calls group by all) as sums on {same}"
    )
    cursor.execute(
        "insert into collectives select ?, collective, dtype, message, group_name, ranks, count, total_ns, total_ns2, min_ns, max_ns "
        "from summed",
        [rank],
    )
    same = " and ".join(
        f"summed.{name} is not distinct from calls.{name}" for name in ("collective", "dtype", "message", "group_name", "ranks")
    )
    cursor.execute(
        f"insert into collective_durations select ?, calls.collective, calls.dtype, calls.message, calls.group_name, calls.ranks, {_BUCKET}, "
        f"count(*) from calls join summed on {same} where summed.total_ns2 is not null group by all",
        [rank],
    )
    # A thread reads many files.
    for name in ("named", "calls_of_file"):
        cursor.unregister(name)


def _kernels(cursor: Any, trace: Trace, rank: int | None) -> None:
    """Insert the rows of kernels, their histograms, and operations."""
    tables = next((report.tables for report in trace.reports if report.id == "gpu-kernels"), {})
    if "kernels" in tables:
        cursor.register("named", tables["kernels"])
        cursor.register("slices_of_file", trace.events())
        cursor.execute(
            "create or replace temp table work as select name::varchar as name, dur from slices_of_file "
            "where category in ('kernel', 'gpu_memcpy', 'gpu_memset') and dur is not null"
        )
        cursor.execute(
            "create or replace temp table by_name as select work.name, any_value(operation)::varchar as operation, "
            "count(*) as count, sum(dur) as total_ns, sum(dur::hugeint * dur::hugeint)::decimal(38, 0) as total_ns2, "
            "min(dur) as min_ns, max(dur) as max_ns from work left join (select distinct on (name) name, operation from named) as named on named.name = work.name "
            "group by work.name"
        )
        cursor.execute("insert into kernels select ?, * from by_name", [rank])
        cursor.execute(
            f"insert into kernel_durations select ?, name, {_BUCKET}, count(*) from work group by all",
            [rank],
        )
    else:
        cursor.execute(
            "create or replace temp table by_name (operation varchar, count bigint, total_ns bigint, total_ns2 decimal(38, 0))"
        )
    if "operations" in tables:
        # Squares are those of the kernels, if these are all that the report counts.
        cursor.register("named", tables["operations"])
        cursor.execute(
            "insert into operations select ?, named.operation, named.count, named.total, "
            "case when sums.count = named.count and sums.total_ns = named.total then sums.total_ns2 end, named.min, named.max "
            "from named left join (select operation, sum(count) as count, sum(total_ns) as total_ns, sum(total_ns2) as total_ns2 "
            "from by_name group by operation) as sums on sums.operation = named.operation",
            [rank],
        )
    # A thread reads many files.
    for name in ("named", "slices_of_file"):
        cursor.unregister(name)


def _write(connection: Any, dataset: Path, run: str, table: str, part: str) -> None:
    """Write a part of a table under another name, and rename it when it is whole."""
    folder = _folder(dataset, table, run)
    folder.mkdir(parents=True, exist_ok=True)
    columns = TABLES[table]
    metadata = {"schema_version": SCHEMA_VERSION} | {f"unit.{name}": unit for name, (_, unit, _) in columns.items()}
    pairs = ", ".join(f"'{key}': '{value}'" for key, value in metadata.items())
    order = ", ".join(f'"{name}"' for name in columns)
    unfinished = folder / f".{part}.{os.getpid()}"
    target = str(unfinished).replace("'", "''")
    connection.execute(
        f"copy (select * from {table} order by {order}) to '{target}' "
        f"(format parquet, compression zstd, kv_metadata {{{pairs}}})"
    )
    os.replace(unfinished, folder / f"{part}.parquet")


def add(
    files: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    run: str,
    dataset: str | os.PathLike[str],
    build: str | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Added:
    """Add summaries of traces to a dataset.

    :param files: Traces, one per rank, or a single one. One that cannot be read becomes a row of ``files`` with the reason.
    :param run: Name of the run: letters, digits, ``.``, ``-`` and ``_``.
    :param dataset: Folder of the dataset, created if missing.
    :param build: Build or commit that ran, for queries that compare builds.
    :param jobs: Files read at the same time; by default one per processor.
    :param progress: Called after each file, by one thread at a time, with the number of files read and of all that are read.
    :param options: Those of :func:`tracedrop.open`.
    :raises TracedropError: A file does not exist or is a folder, or a name or an option is wrong. Nothing is added then.

    Files that the run has already, by SHA-256, are left out, so adding again changes nothing. Several calls may add to a dataset at
    the same time, in tasks of any engine, if each has its own files. A task that is started again writes the same parts.
    """
    if not run or not all(letter.isalnum() or letter in ".-_" for letter in run) or run.startswith("."):
        raise TracedropError(f"'{run}' is not a name for a run: use letters, digits, '.', '-' and '_'")
    duckdb = _duckdb()
    dataset = Path(dataset)
    connection = duckdb.connect(config={"threads": 1})
    known = _known(connection, dataset, run)
    paths = sorted({Path(file) for file in ([files] if isinstance(files, (str, os.PathLike)) else files)})
    hashed = [(path, _sha256(path)) for path in paths]
    new = list({sha256: path for path, sha256 in hashed if sha256 not in known}.items())
    n_unreadable = n_read = 0
    stop, lock = _Stop(), threading.Lock()

    def summarize(one: tuple[str, Path]) -> bool:
        nonlocal n_read
        is_readable = _summarize(connection, one[1], one[0], options, stop)
        with lock:
            n_read += 1
            if progress:
                progress(n_read, len(new))
        return is_readable

    for start in range(0, len(new), FILES_PER_PART):
        batch = new[start : start + FILES_PER_PART]
        for table, columns in TABLES.items():
            declared = ", ".join(f'"{name}" {kind}' for name, (kind, *_) in columns.items())
            connection.execute(f"create or replace table {table} ({declared})")
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            try:
                read = list(pool.map(summarize, batch))
            except BaseException:
                stop.is_set = True
                raise
        n_unreadable += read.count(False)
        connection.execute(
            "insert into runs select ?, count(*), count(error), sum(bytes), sum(kept), sum(repaired), sum(skipped), ? from files",
            [build, __version__],
        )
        part = "part-" + hashlib.sha256("".join(sorted(sha256 for sha256, _ in batch)).encode()).hexdigest()[:16]
        # `files` is last: what it lists is there.
        for table in [*(table for table in TABLES if table != "files"), "files"]:
            _write(connection, dataset, run, table, part)
    return Added(len(new), n_unreadable, len(hashed) - len(new))


def parts(dataset: str | os.PathLike[str]) -> dict[str, list[str]]:
    """Paths of the complete Parquet files of each table, for any engine: ``DATASET/table=kernels/run=monday/part-….parquet``.

    Files that an interrupted call of :func:`add` left are not among them.

    :raises TracedropError: The folder is no dataset.
    """
    if not (Path(dataset) / "table=files").is_dir():
        raise TracedropError(f"{os.fspath(dataset)}: no fleet dataset, which has a folder table=files; `tracedrop fleet add` makes one")
    found = {table: sorted((Path(dataset) / f"table={table}").glob("run=*/*.parquet")) for table in TABLES}
    complete = {(path.parent.name, path.name) for path in found["files"]}
    return {table: [str(path) for path in paths if (path.parent.name, path.name) in complete] for table, paths in found.items()}


def connect(dataset: str | os.PathLike[str]) -> Any:
    """DuckDB connection with a view for each table of a dataset; each has the column ``run``.

    Columns and tables that an older version did not write are there, without values.

    :raises TracedropError: The folder is no dataset.
    """
    connection = _duckdb().connect()
    for table, paths in parts(dataset).items():
        typed = ", ".join(f'null::{kind} as "{name}"' for name, (kind, *_) in TABLES[table].items())
        empty = f"select {typed}, null::varchar as run where false"
        if paths:
            listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
            read = f"read_parquet([{listed}], hive_partitioning = true, hive_types = {{'run': varchar}}, union_by_name = true)"
            # The empty table first, for the order of its columns.
            connection.execute(f'create view {table} as {empty} union all by name select * exclude ("table") from {read}')
        else:
            connection.execute(f"create view {table} as {empty}")
    return connection


def _query(text: str) -> str:
    """SQL, or the content of a file with it."""
    try:
        return Path(text).read_text("utf-8") if text.endswith(".sql") else text
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{text}: cannot be read: {error.strerror}") from None


def _parser(description: str, prog: str | None = None) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser, argparse.ArgumentParser]:
    """Parsers of a command with the subcommands ``add`` and ``sql``: all, and those of the subcommands."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    commands = parser.add_subparsers(required=True, dest="command")
    adding = commands.add_parser("add", help="add summaries of traces")
    adding.add_argument("files", nargs="+", metavar="FILE")
    adding.add_argument("--run", required=True, metavar="ID", help="name of the run")
    adding.add_argument("-o", "--output", required=True, metavar="DATASET", help="folder of the dataset, created if missing")
    adding.add_argument("--build", metavar="ID", help="build or commit that ran")
    asking = commands.add_parser("sql", help="run SQL over a dataset")
    asking.add_argument("dataset", metavar="DATASET")
    asking.add_argument("query", type=_query, metavar="QUERY", help="SQL, or a file with it that ends in .sql")
    return parser, adding, asking


def arguments(description: str) -> argparse.Namespace:
    """Arguments of this process, as ``tracedrop fleet`` takes them, for programs that do the same on an engine: ``command`` (``"add"``
    or ``"sql"``), ``files``, ``run``, ``output`` and ``build``, or ``dataset`` and ``query``, which is the SQL itself.

    :param description: What the program does; its help shows the first line.
    """
    return _parser(description.partition("\n")[0])[0].parse_args()


def main(args: list[str]) -> int:
    """``tracedrop fleet``; returns its exit code."""
    from . import _sql

    parser, adding, asking = _parser("Summaries of many traces as a Parquet dataset.", "tracedrop fleet")
    adding.add_argument("--jobs", type=int, metavar="N", help="files read at the same time [default: one per processor]")
    _sql.add_format(asking)
    given = parser.parse_args(args)
    try:
        if given.command == "sql":
            _sql.write(_sql.answer(connect(given.dataset), given.query, list(TABLES)), given.format)
            return 0
        # On a terminal, a line that counts.
        shown = sys.stderr.isatty()
        progress = (lambda n, all: print(f"\r{n:,} of {all:,} files", end="", file=sys.stderr, flush=True)) if shown else None
        try:
            done = add(given.files, run=given.run, dataset=given.output, build=given.build, jobs=given.jobs, progress=progress)
        finally:
            if shown:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        print(json.dumps({"added": done.added, "unreadable": done.unreadable, "known": done.known}))
        return 0
    except TracedropError as error:
        print(f"tracedrop: {error}", file=sys.stderr)
    except OSError as error:
        print(f"tracedrop: {error.filename or given.output}: {error.strerror}", file=sys.stderr)
    return 1
