"""Summaries of many traces as a Parquet dataset, for engines such as DuckDB, Spark and Ray Data.

>>> from tracedrop import fleet
>>> fleet.add(["rank0.json.gz", "rank1.json.gz"], run="2026-11-26", dataset="fleet/")

Sums, sums of squares, counts and histograms of ranks add up exactly to those of all. Times are integer nanoseconds.
``docs/fleet.md`` lists tables and columns.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import Trace, TracedropError, __version__, open

SCHEMA_VERSION = "2"
#: Files in one part of a table, so that parts have a size that engines like.
FILES_PER_PART = 256
MISSING = "Summaries of fleets need DuckDB, which is not installed. Install it with: pip install 'tracedrop[sql]'"

#: Columns of each table: type, unit, meaning. Each table also has the partition column ``run``.
TABLES: dict[str, dict[str, tuple[str, str, str]]] = {
    "runs": {
        "build": ("VARCHAR", "none", "build or commit, as given to `add`; missing if not given"),
        "files": ("BIGINT", "count", "files"),
        "unreadable": ("BIGINT", "count", "files that cannot be read"),
        "bytes": ("BIGINT", "bytes", "size of the files"),
        "kept": ("BIGINT", "count", "records kept"),
        "repaired": ("BIGINT", "count", "records repaired"),
        "skipped": ("BIGINT", "count", "records skipped"),
        "tracedrop": ("VARCHAR", "none", "version that made the summaries"),
    },
    "files": {
        "rank": ("INTEGER", "id", "rank as the trace has it; missing if it does not"),
        "world_size": ("INTEGER", "count", "ranks of the run as the trace has it; missing if it does not"),
        "host": ("VARCHAR", "none", "host, from the metadata or a name like `HOST_PID.TIME.pt.trace.json`; missing without"),
        "file": ("VARCHAR", "none", "file name"),
        "sha256": ("VARCHAR", "none", "checksum of the file"),
        "bytes": ("BIGINT", "bytes", "size of the file"),
        "kept": ("BIGINT", "count", "records kept"),
        "repaired": ("BIGINT", "count", "records repaired"),
        "skipped": ("BIGINT", "count", "records skipped"),
        "grade": ("VARCHAR", "none", "detail grade, A to D; missing without a GPU"),
        "gpu": ("VARCHAR", "none", "name of the GPU"),
        "tracedrop": ("VARCHAR", "none", "version that made the summary"),
        "error": ("VARCHAR", "none", "why the file cannot be read; missing if it can"),
    },
    "steps": {
        "rank": ("INTEGER", "id", "rank"),
        "device": ("VARCHAR", "none", "GPU"),
        "step": ("VARCHAR", "none", "name of the step"),
        "phase": ("VARCHAR", "none", "prefill, decode, …; missing for training"),
        "start_ns": ("BIGINT", "ns", "start, from the start of the trace"),
        "gpu_time_ns": ("BIGINT", "ns", "wall time of the step on the GPU"),
        "computation_ns": ("BIGINT", "ns", "computing"),
        "exposed_communication_ns": ("BIGINT", "ns", "communicating with no overlapping compute"),
        "exposed_copies_ns": ("BIGINT", "ns", "copying with no overlapping compute or communication"),
        "idle_ns": ("BIGINT", "ns", "idle"),
        "kernels": ("BIGINT", "count", "kernels, copies and fills"),
    },
    "operations": {
        "rank": ("INTEGER", "id", "rank"),
        "operation": ("VARCHAR", "none", "GEMM, Attention, All-reduce, …"),
        "count": ("BIGINT", "count", "kernels"),
        "total_ns": ("BIGINT", "ns", "sum of durations"),
        "total_ns2": ("DECIMAL(38,0)", "ns²", "sum of squared durations; missing if single kernels are not in the trace"),
        "min_ns": ("BIGINT", "ns", "shortest"),
        "max_ns": ("BIGINT", "ns", "longest"),
    },
    "kernels": {
        "rank": ("INTEGER", "id", "rank"),
        "name": ("VARCHAR", "none", "kernel, copy or fill"),
        "operation": ("VARCHAR", "none", "its operation"),
        "count": ("BIGINT", "count", "launches"),
        "total_ns": ("BIGINT", "ns", "sum of durations"),
        "total_ns2": ("DECIMAL(38,0)", "ns²", "sum of squared durations, for variances"),
        "min_ns": ("BIGINT", "ns", "shortest"),
        "max_ns": ("BIGINT", "ns", "longest"),
    },
    "kernel_durations": {
        "rank": ("INTEGER", "id", "rank"),
        "name": ("VARCHAR", "none", "kernel, copy or fill"),
        "bucket": ("INTEGER", "id", "durations from 2^bucket to below 2^(bucket+1) ns; −1 for 0 ns"),
        "count": ("BIGINT", "count", "launches"),
    },
    "collectives": {
        "rank": ("INTEGER", "id", "rank"),
        "collective": ("VARCHAR", "none", "allreduce, all_to_all, …"),
        "dtype": ("VARCHAR", "none", "type of the elements"),
        "message_bytes": ("BIGINT", "bytes", "size of the message"),
        "group_name": ("VARCHAR", "none", "process group"),
        "ranks": ("BIGINT", "count", "ranks in the group"),
        "count": ("BIGINT", "count", "calls"),
        "total_ns": ("BIGINT", "ns", "sum of durations"),
        "min_ns": ("BIGINT", "ns", "shortest"),
        "max_ns": ("BIGINT", "ns", "longest"),
    },
    "findings": {
        "rank": ("INTEGER", "id", "rank"),
        "kind": ("VARCHAR", "none", "kind of finding"),
        "time_ns": ("BIGINT", "ns", "time at stake; missing if unknown"),
        "share": ("DOUBLE", "ratio", "the same as a share of the trace, from 0 to 1"),
        "text": ("VARCHAR", "none", "the finding in a sentence"),
    },
}


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
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _slow(file)


def _slow(file: Any) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(1 << 20):
        digest.update(chunk)
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


def _summarize(connection: Any, path: Path, sha256: str, options: dict[str, Any]) -> bool:
    """Insert the rows of one file; whether it can be read."""
    cursor = connection.cursor()
    size = path.stat().st_size
    try:
        trace = open(path, **options)
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
    group = '"group"'
    sums = f"collective, dtype, message, {group}, ranks, count, total, min, max"
    _rows(cursor, trace, "gpu-communication", "collectives", "collectives", sums, rank)
    for finding in trace.findings:
        row = [rank, finding.id, finding.time_ns, finding.share, finding.text]
        cursor.execute("insert into findings values (?, ?, ?, ?, ?)", row)
    _kernels(cursor, trace, rank)
    return True


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
            "insert into kernel_durations select ?, name, "
            "case when dur > 0 then length(ltrim(bin(dur), '0')) - 1 else -1 end, count(*) from work group by all",
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
    files: Iterable[str | os.PathLike[str]],
    *,
    run: str,
    dataset: str | os.PathLike[str],
    build: str | None = None,
    jobs: int | None = None,
    **options: Any,
) -> Added:
    """Add summaries of traces to a dataset.

    :param files: Traces, one per rank. One that cannot be read becomes a row of ``files`` with the reason.
    :param run: Name of the run: letters, digits, ``.``, ``-`` and ``_``.
    :param dataset: Folder of the dataset, created if missing.
    :param build: Build or commit that ran, for queries that compare builds.
    :param jobs: Files read at the same time; by default one per processor.
    :param options: Those of :func:`tracedrop.open`.

    Files that the run has already, by SHA-256, are left out, so adding again changes nothing. Several calls may add to a dataset at
    the same time, in tasks of any engine, if each has its own files. A task that is started again writes the same parts.
    """
    if not run or not all(letter.isalnum() or letter in ".-_" for letter in run) or run.startswith("."):
        raise TracedropError(f"'{run}' is not a name for a run: use letters, digits, '.', '-' and '_'")
    duckdb = _duckdb()
    dataset = Path(dataset)
    connection = duckdb.connect(config={"threads": 1})
    known = _known(connection, dataset, run)
    paths = sorted({Path(file) for file in files})
    hashed = [(path, _sha256(path)) for path in paths]
    new = list({sha256: path for path, sha256 in hashed if sha256 not in known}.items())
    n_unreadable = 0
    for start in range(0, len(new), FILES_PER_PART):
        batch = new[start : start + FILES_PER_PART]
        for table, columns in TABLES.items():
            declared = ", ".join(f'"{name}" {kind}' for name, (kind, *_) in columns.items())
            connection.execute(f"create or replace table {table} ({declared})")
        with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
            read = list(pool.map(lambda one: _summarize(connection, one[1], one[0], options), batch))
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
    """
    found = {table: sorted((Path(dataset) / f"table={table}").glob("run=*/*.parquet")) for table in TABLES}
    complete = {(path.parent.name, path.name) for path in found["files"]}
    return {table: [str(path) for path in paths if (path.parent.name, path.name) in complete] for table, paths in found.items()}


def connect(dataset: str | os.PathLike[str]) -> Any:
    """DuckDB connection with a view for each table of a dataset; each has the column ``run``."""
    connection = _duckdb().connect()
    for table, paths in parts(dataset).items():
        if paths:
            listed = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)
            read = f"read_parquet([{listed}], hive_partitioning = true, hive_types = {{'run': varchar}}, union_by_name = true)"
            connection.execute(f'create view {table} as select * exclude ("table") from {read}')
        else:
            declared = ", ".join(f'"{name}" {kind}' for name, (kind, *_) in TABLES[table].items())
            connection.execute(f'create table {table} ({declared}, "run" varchar)')
    return connection


def main(args: list[str]) -> int:
    """``tracedrop fleet``; returns its exit code."""
    import argparse

    parser = argparse.ArgumentParser(prog="tracedrop fleet", description="Summaries of many traces as a Parquet dataset.")
    commands = parser.add_subparsers(required=True, dest="command")
    adding = commands.add_parser("add", help="add summaries of traces")
    adding.add_argument("files", nargs="+", metavar="FILE")
    adding.add_argument("--run", required=True, metavar="ID", help="name of the run")
    adding.add_argument("-o", "--output", required=True, metavar="DATASET", help="folder of the dataset, created if missing")
    adding.add_argument("--build", metavar="ID", help="build or commit that ran")
    adding.add_argument("--jobs", type=int, metavar="N", help="files read at the same time [default: one per processor]")
    asking = commands.add_parser("sql", help="run SQL over a dataset")
    asking.add_argument("dataset", metavar="DATASET")
    asking.add_argument("query", metavar="QUERY", help="SQL, or a file with it that ends in .sql")
    given = parser.parse_args(args)
    try:
        if given.command == "sql":
            query = Path(given.query).read_text() if given.query.endswith(".sql") else given.query
            relation = connect(given.dataset).sql(query)
            if relation is not None:
                print(relation)
            return 0
        done = add(given.files, run=given.run, dataset=given.output, build=given.build, jobs=given.jobs)
        print(json.dumps({"added": done.added, "unreadable": done.unreadable, "known": done.known}))
        return 0
    except (TracedropError, OSError) as error:
        print(f"tracedrop: {error}", file=sys.stderr)
        return 1
