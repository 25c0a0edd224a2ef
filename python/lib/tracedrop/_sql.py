"""SQL over the tables of a trace, with DuckDB."""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
from decimal import Decimal
from typing import Any

from . import Trace, TracedropError, event_kinds, open

MISSING = "SQL needs DuckDB, which is not installed. Install it with: pip install 'tracedrop[sql]'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def tables(trace: Trace) -> list[tuple[str | None, str]]:
    """Tables that queries can use: report (`None` for events) and table."""
    of_events: list[tuple[str | None, str]] = [(None, kind) for kind in event_kinds()]
    return of_events + [(report.id, table) for report in trace.reports for table in report.tables]


def connect(trace: Trace, query: str) -> Any:
    """Connection that has the tables whose names are in `query`."""
    try:
        import duckdb
    except ImportError:
        raise TracedropError(MISSING) from None
    connection = duckdb.connect()
    text = query.lower()
    of_reports: dict[str, list[str]] = {}
    for report, table in tables(trace):
        if report is not None:
            of_reports.setdefault(table, []).append(report)
    for report, table in tables(trace):
        if table.lower() not in text:
            continue
        if report is None:
            try:
                connection.register(table, trace.events(table))
            except TracedropError:
                # A trace without single events still has reports; a query of events says that there is no such table.
                if report is None and f"from {table}" in text:
                    raise
            continue
        is_only_one = len(of_reports[table]) == 1 and table not in event_kinds()
        if not is_only_one and report.lower() not in text:
            continue
        name = f"{report}.{table}"
        connection.register(name, trace.report(report).tables[table])
        connection.execute(f"create schema if not exists {_quoted(report)}")
        view = f"{_quoted(report)}.{_quoted(table)}"
        connection.execute(f"create temp view {_quoted('tracedrop ' + name)} as select * from {_quoted(name)}")
        connection.execute(f"create view {view} as select * from temp.{_quoted('tracedrop ' + name)}")
        if is_only_one:
            connection.register(table, trace.report(report).tables[table])
    return connection


def answer(connection: Any, query: str, tables: list[str]) -> Any:
    """Relation of a query; ``None`` if it has no rows to give, such as ``set``.

    :raises TracedropError: DuckDB refuses it. If it names a table that does not exist, the message lists those that do.
    """
    import duckdb

    try:
        return connection.sql(query)
    except duckdb.Error as error:
        hint = f"\nTables: {', '.join(tables)}" if isinstance(error, duckdb.CatalogException) else ""
        raise TracedropError(f"{error}{hint}") from None


def run(trace: Trace, query: str) -> Any:
    """Relation of a query on a trace."""
    there = [table if report is None else f'"{report}".{table}' for report, table in tables(trace)]
    return answer(connect(trace, query), query, there)


def add_format(parser: argparse.ArgumentParser) -> None:
    """Add the option that :func:`write` takes."""
    parser.add_argument("--format", choices=["table", "csv", "json"], default="table", help="[default: table, which shows some of the rows]")


def _apart(names: list[str]) -> list[str]:
    """Names of columns, each once, as keys of an object: the second ``a`` is ``a_2``."""
    taken = set(names)
    out: list[str] = []
    for name in names:
        own, number = name, 2
        while own in out or (number > 2 and own in taken):
            own, number = f"{name}_{number}", number + 1
        out.append(own)
    return out


def _json_value(value: Any) -> Any:
    """Exact numbers as numbers; those that JSON lacks, such as NaN, are missing, also in lists and structs."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _json_value(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(inner) for inner in value]
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    if isinstance(value, (float, Decimal)):
        return float(value) if math.isfinite(value) else None
    return value


def write(relation: Any, format: str) -> None:
    """Print the rows of a relation."""
    if relation is None:
        return
    if format == "table":
        print(relation)
        return
    columns, rows = relation.columns, relation.fetchall()
    if format == "csv":
        out = csv.writer(sys.stdout)
        out.writerow(columns)
        out.writerows(rows)
    else:
        names = _apart(columns)
        values = [{name: _json_value(value) for name, value in zip(names, row)} for row in rows]
        json.dump(values, sys.stdout, default=str, ensure_ascii=False, indent=1, allow_nan=False)
        print()


def main(args: list[str]) -> int:
    """``tracedrop sql``; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="tracedrop sql",
        description="Run SQL over the tables of a trace with DuckDB. docs/tables.md lists the tables; --tables those of a trace.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="the trace; several with --together")
    parser.add_argument("query", metavar="QUERY", help="for instance: select name, sum(dur) from slices group by name")
    add_format(parser)
    parser.add_argument("--together", action="store_true", help="read all files as one run")
    parser.add_argument("--only", metavar="START..END", help="only this time range, as in `tracedrop report`")
    parser.add_argument("--from", dest="from_", metavar="FORMAT", help="parse as this format instead of detecting it")
    parser.add_argument("--hold", metavar="EVENTS", help="keep at most this many events in memory")
    parser.add_argument("--tables", action="store_true", help="list the tables of FILE, of those that contain QUERY in their name")
    if "--tables" in args and len([arg for arg in args if not arg.startswith("-")]) == 1:
        args = [*args, ""]
    given = parser.parse_args(args)
    options = {name: getattr(given, name) for name in ("only", "from_", "hold")}
    try:
        trace = open(given.files, together=given.together, **options)
        if given.tables:
            for report, table in tables(trace):
                name = table if report is None else f'"{report}".{table}'
                if given.query in name:
                    print(name)
            return 0
        write(run(trace, given.query), given.format)
    except (TracedropError, TypeError) as error:
        print(f"tracedrop: {error}", file=sys.stderr)
        return 1
    return 0
