"""SQL over the tables of a trace, with DuckDB."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from typing import Any

from . import Trace, TracedropError, event_kinds, open

MISSING = "SQL needs DuckDB, which is not installed. Install it with: pip install 'tracedrop[sql]'"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def tables(trace: Trace) -> list[tuple[str | None, str]]:
    """Tables that queries can use: report (`None` for events) and table."""
    of_reports = [(report.id, table) for report in trace.reports for table in report.tables]
    return [(None, kind) for kind in event_kinds()] + of_reports


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


def run(trace: Trace, query: str) -> Any:
    """Relation of a query."""
    connection = connect(trace, query)
    import duckdb

    try:
        relation = connection.sql(query)
    except duckdb.Error as error:
        there = ", ".join(table if report is None else f'"{report}".{table}' for report, table in tables(trace))
        hint = f"\nTables: {there}" if isinstance(error, duckdb.CatalogException) else ""
        raise TracedropError(f"{error}{hint}") from None
    return relation


def main(args: list[str]) -> int:
    """``tracedrop sql``; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="tracedrop sql",
        description="Run SQL over the tables of a trace with DuckDB. docs/tables.md lists the tables; --tables those of a trace.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="the trace; several with --together")
    parser.add_argument("query", metavar="QUERY", help="for instance: select name, sum(dur) from slices group by name")
    parser.add_argument("--format", choices=["table", "csv", "json"], default="table")
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
        relation = run(trace, given.query)
        if relation is None:
            return 0
        if given.format == "table":
            print(relation)
            return 0
        columns, rows = relation.columns, relation.fetchall()
    except (TracedropError, TypeError) as error:
        print(f"tracedrop: {error}", file=sys.stderr)
        return 1
    if given.format == "csv":
        out = csv.writer(sys.stdout)
        out.writerow(columns)
        out.writerows(rows)
    else:
        json.dump([dict(zip(columns, row)) for row in rows], sys.stdout, default=str, ensure_ascii=False, indent=1)
        print()
    return 0
