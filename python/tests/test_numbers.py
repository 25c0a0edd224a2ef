"""Python has the numbers of the command: every report of every file, cell by cell."""

from __future__ import annotations

import concurrent.futures
import json
import math
import os
from pathlib import Path

import pyarrow as pa
import pytest
import tracedrop as td

from conftest import DATA, OTHER, PYTORCH, RANKS, TRACE, command, trace_files

#: Reading larger files twice takes long in a build for tests; TRACEDROP_ALL_FILES=1 reads them as well.
MAX_BYTES = 100_000_000 if os.environ.get("TRACEDROP_ALL_FILES") else 200_000
FILES_PER_CALL = 60


def plain(value: object) -> object:
    """A value as JSON has it, where NaN and infinity are missing."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def same(document: td.Trace | td.Comparison, expected: dict) -> None:
    assert document.title == expected["title"]
    assert [report.id for report in document.reports] == [report["id"] for report in expected["reports"]]
    reports = list(zip(document.reports, expected["reports"]))
    if isinstance(document, td.Trace):
        reports.append((document.account, expected["ledger"]))
    for report, wanted in reports:
        assert (report.title, report.summary) == (wanted["title"], wanted["summary"])
        blocks = wanted["blocks"]
        facts = [fact for block in blocks if block["type"] == "facts" for fact in block["facts"]]
        for fact in facts:
            assert fact["id"] in report.facts
        findings = [found for block in blocks if block["type"] == "findings" for found in block["findings"]]
        assert [(f.id, f.text, f.time_ns, f.share) for f in report.findings] == [
            (f["id"], f["text"], f["time_ns"], f["share"]) for f in findings
        ]
        tables = [block for block in blocks if block["type"] == "table"]
        assert len(report.tables) == len(tables)
        for table, wanted_table in zip(report.tables.values(), tables):
            assert table.id.startswith(wanted_table["id"])
            where = f"{report.id}.{table.id}"
            assert table.rows_left_out == wanted_table["rows_left_out"], where
            assert len(table) == len(wanted_table["rows"]), where
            assert [(c.id, c.unit) for c in table.columns] == [(c["id"], c["unit"]) for c in wanted_table["columns"]], where
            assert table.units == {c["id"]: c["unit"] for c in wanted_table["columns"]}, where
            columns = [column.to_pylist() for column in pa.table(table).columns]
            rows = [[plain(cell) for cell in row] for row in zip(*columns)]
            assert rows == wanted_table["rows"], where


def readable(path: Path) -> td.Trace | None:
    """The trace, with all rows; `None` if Python refuses the file, with a reason."""
    try:
        # With a filter, even an empty one, the layout is Tracedrop's own.
        return td.open(path, where="")
    except td.TracedropError as error:
        assert str(error), f"{path} is refused without a reason"
        return None


def check(paths: list[Path]) -> list[str]:
    """What differs in these files."""
    traces = [(path, trace) for path in paths if (trace := readable(path))]
    # One call for all: starting a program takes longer than reading a small file. Files that are refused are not in the list.
    printed = command("report", "--quiet", "--where", "", "--format", "json", "--", *paths)
    documents = json.loads(printed.stdout)
    if len(documents) != len(traces):
        return [f"{len(traces)} of {paths[0]} … {paths[-1]} opened in Python, {len(documents)} in the command"]
    problems = []
    for (path, trace), document in zip(traces, documents):
        try:
            same(trace, document)
        except AssertionError as error:
            problems.append(f"{path}: {error}")
    return problems


def test_every_file_has_the_numbers_of_the_command() -> None:
    files = [path for path in trace_files() if path.stat().st_size <= MAX_BYTES]
    assert len(files) > 100
    parts = [files[start : start + FILES_PER_CALL] for start in range(0, len(files), FILES_PER_CALL)]
    # Python reads without the GIL.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        problems = [problem for part in pool.map(check, parts) for problem in part]
    assert not problems, "\n".join(problems)


def test_ranks_together() -> None:
    printed = command("report", "--quiet", "--together", "--format", "json", "--", *RANKS)
    together = td.open(RANKS, together=True)
    same(together, json.loads(printed.stdout))
    events = pa.table(together.events())
    assert set(events["file"].to_pylist()) == {0, 1}
    each = [pa.table(td.open(rank).events()) for rank in RANKS]
    assert events.num_rows == sum(table.num_rows for table in each)
    assert events["name"].to_pylist() == [name for table in each for name in table["name"].to_pylist()]


def test_comparisons() -> None:
    printed = command("compare", "--quiet", "--format", "json", TRACE, OTHER)
    same(td.compare(TRACE, OTHER), json.loads(printed.stdout))
    same(td.compare(td.open(TRACE), td.open(OTHER)), json.loads(printed.stdout))
    printed = command("compare", "--quiet", "--format", "json", "--report", "compare-slices", "--where", "name:a", TRACE, OTHER)
    same(td.compare(TRACE, OTHER, report="compare-slices", where="name:a"), json.loads(printed.stdout))
    with pytest.raises(td.TracedropError, match="no 'nothing' in this comparison"):
        td.compare(TRACE, OTHER, report="nothing")
    printed = command("compare", "--quiet", "--format", "json", "--phase", "decode", TRACE, OTHER)
    if printed.returncode == 0:
        same(td.compare(TRACE, OTHER, phase="decode"), json.loads(printed.stdout))
    else:
        with pytest.raises(td.TracedropError):
            td.compare(TRACE, OTHER, phase="decode")


def test_options_are_those_of_the_command() -> None:
    options = {"top": 3, "only": "0..5ms", "report": ["slices", "longest"], "where": "count>1"}
    args = ["--top=3", "--only=0..5ms", "--report=slices", "--report=longest", "--where=count>1"]
    printed = command("report", "--quiet", "--format", "json", *args, TRACE)
    same(td.open(TRACE, **options), json.loads(printed.stdout))


def test_events_add_up_to_the_reports() -> None:
    trace = td.open(TRACE)
    slices = trace.events().to_pandas()
    assert slices["ts"].is_monotonic_increasing
    by_name = trace.report("slices").tables["slices"].to_pandas()
    row = by_name.sort_values("total", ascending=False).iloc[0]
    of_name = slices[(slices["name"].astype(str) == row["name"]) & (slices["kind"].astype(str) != "instant")]
    assert len(of_name) == row["count"]
    children = slices[slices["parent"].notna()]
    parents = slices.set_index("id").loc[children["parent"]]
    assert (parents["depth"].to_numpy() + 1 == children["depth"].to_numpy()).all()


#: For each kind of events, a file that has some.
WITH_EVENTS = {
    "slices": TRACE,
    "instants": DATA / "chrome" / "hand_instants.json",
    "flows": PYTORCH / "alexnet-a100-sync.json.gz",
    "collective_calls": RANKS[0],
    "scoring_calls": DATA / "sway",
    "tracks": TRACE,
    "counters": DATA / "chrome" / "hand_counters.json",
    "samples": DATA / "chrome" / "hand_stacks_samples.json",
    "stacks": DATA / "stacks",
    "stack_samples": DATA / "stacks",
    "accesses": DATA / "mrm",
}


def test_all_kinds_of_events_are_sound() -> None:
    assert set(WITH_EVENTS) == set(td.event_kinds())
    for kind, path in WITH_EVENTS.items():
        paths = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file() and p.stat().st_size < 50_000)
        n_rows = 0
        for path in paths:
            try:
                table = pa.table(td.open(path).events(kind))
            except td.TracedropError:
                continue
            table.validate(full=True)
            n_rows += table.num_rows
        assert n_rows, kind
