"""What users do with the package: errors, progress, Ctrl-C, threads, exports, and the libraries that take its tables."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import tracedrop as td

from conftest import COMMAND, DATA, OTHER, RANKS, TRACE, command


@pytest.fixture(scope="module")
def trace() -> td.Trace:
    return td.open(TRACE)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace that takes seconds to read."""
    path = tmp_path_factory.mktemp("large") / "large.json"
    with path.open("w") as out:
        out.write('[{"name":"first","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}')
        for block in range(30):
            events = (
                f',{{"name":"kernel {at % 7}","cat":"c","ph":"X","ts":{block * 100_000 + at},"dur":1,"pid":1,"tid":1}}'
                for at in range(10_000)
            )
            out.write("".join(events))
        out.write("]")
    return path


def test_the_readme_works_as_typed(trace: td.Trace) -> None:
    assert trace.reports and trace.findings and trace.account.facts["kept"].value > 0
    assert trace.report("gpu-kernels").tables["kernels"].units["total"] == "ns"
    assert trace.findings[0].time_ns and 0 < trace.findings[0].share <= 1
    assert trace.findings[0].evidence[0].unit
    assert len(trace.events()) == len(trace.events("slices"))
    for shown in [trace, trace.reports[0], trace.report("gpu-kernels").tables, trace.events(), td.compare(trace, trace)]:
        assert repr(shown)


def test_what_one_types_first_works(trace: td.Trace, tmp_path: Path) -> None:
    kernels = trace.report("gpu-kernels").tables["by_name"]
    assert kernels is trace.reports["gpu-kernels"].tables["kernels"]
    assert kernels.num_rows == len(kernels) == len(list(kernels)) == len(pd.DataFrame(kernels))
    assert next(iter(kernels))["name"] == kernels["name"][0].as_py() == pd.DataFrame(kernels)["name"][0]
    assert pd.DataFrame(trace.events())["dur"].equals(trace.events().to_pandas()["dur"])
    # A finding a line, without the evidence.
    lines = str(trace.findings).splitlines()
    assert len(lines) == len(trace.findings) and all(len(line) < 400 and "evidence" not in line for line in lines)
    assert len(str(trace.reports).splitlines()) == len(trace.reports)
    with pytest.raises(KeyError, match="no column 'x'; there are: name"):
        kernels["x"]
    with pytest.raises(KeyError, match="no report 'x'; there are: gpu-findings"):
        trace.reports["x"]
    assert "gpu-kernels" in trace.reports and "x" not in trace.reports and trace.reports[0] in trace.reports
    with pytest.raises(td.TracedropError, match=r"as in export\('html', 'report.html'\)"):
        trace.export("report.html")
    with pytest.raises(FileNotFoundError, match=r"missing/report.html'$"):
        trace.export("html", tmp_path / "missing" / "report.html")
    with pytest.raises(td.TracedropError, match="no file to open"):
        td.open([])


def test_libraries_take_tables_as_they_are(trace: td.Trace) -> None:
    kernels = trace.report("gpu-kernels").tables["kernels"]
    rows = pa.table(kernels).to_pylist()
    assert pl.DataFrame(kernels).to_dicts() == rows
    assert pl.from_arrow(kernels) is not None
    assert duckdb.sql("select sum(total) from kernels").fetchall() == [(sum(row["total"] for row in rows),)]
    assert kernels.to_pandas()["name"].tolist() == [row["name"] for row in rows]
    assert pd.DataFrame.from_arrow(kernels).shape == kernels.to_pandas().shape
    events = trace.events()
    names = pa.table(events)["name"].to_pylist()
    assert pl.DataFrame(events)["name"].cast(pl.String).to_list() == names
    assert events.to_pandas()["name"].astype(str).tolist() == names
    longest = duckdb.sql("select name from events where dur is not null order by dur desc, id limit 1").fetchall()
    assert longest[0][0] in names


def test_missing_libraries_are_named(trace: td.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = trace.report("gpu-kernels").tables["kernels"]
    for name, make in [("pyarrow", kernels.to_arrow), ("polars", kernels.to_polars), ("pandas", kernels.to_pandas)]:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, name, None)
            with pytest.raises(ImportError, match=f"pip install {name}"):
                make()


def test_arguments_of_slices_are_json(trace: td.Trace) -> None:
    args = [text for text in pa.table(trace.events(args=True))["args"].to_pylist() if text]
    assert args and all(isinstance(json.loads(text), dict) for text in args)


def test_columns_in_memory_are_not_copied(trace: td.Trace) -> None:
    address = [pa.table(trace.events())["ts"].chunk(0).buffers()[1].address for _ in range(2)]
    assert address[0] == address[1]


def test_tables_outlive_their_trace() -> None:
    events = pa.table(td.open(TRACE).events())
    assert sum(events["dur"].fill_null(0).to_pylist()) > 0 and events["name"].to_pylist()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: td.open("no/such/file.json"), "no/such/file.json: cannot be opened"),
        (lambda: td.open(TRACE, topp=3), "no option 'topp'; did you mean 'top'?"),
        (lambda: td.open(TRACE).export("html", only="0..1s"), "no option 'only'"),
        (lambda: td.open(str(DATA / "pytorch" / "*.json.gz")), "Patterns are for glob"),
        (lambda: td.open(TRACE, only="5"), "two times separated by"),
        (lambda: td.open(TRACE, report="nothing"), "unknown report 'nothing'"),
        (lambda: td.open(TRACE, where="total>nonsense"), "--where"),
        (lambda: td.open([TRACE, OTHER]), "all as the ranks of one run, with `together`"),
        (lambda: td.open(DATA / "chrome" / "hand_empty_file.json"), "hand_empty_file.json"),
        (lambda: td.open(TRACE).export("nothing"), "unknown format 'nothing' for --to"),
        (lambda: td.open(TRACE).events("nothing"), "there are: slices"),
        (lambda: td.compare(TRACE, DATA / "sway"), "sway"),
    ],
)
def test_errors_say_what_and_where(make, says: str) -> None:
    with pytest.raises(td.TracedropError, match=None) as error:
        make()
    assert says in str(error.value), str(error.value)


def test_what_is_no_path_is_refused() -> None:
    for path in (3, None):
        with pytest.raises(TypeError, match="a list of paths, not (int|NoneType)"):
            td.open(path)  # type: ignore[arg-type]
    with TRACE.open("rb") as file, pytest.raises(TypeError, match="not an open file"):
        td.open(file)  # type: ignore[arg-type]
    assert td.open(str(TRACE).encode()).title == TRACE.name  # type: ignore[arg-type]


def test_options_of_open_traces_are_not_ignored(trace: td.Trace) -> None:
    with pytest.raises(TypeError, match="top: for paths"):
        td.compare(trace, trace, top=3)


def test_errors_cross_processes(trace: td.Trace) -> None:
    # Ray and multiprocessing send them to where the task was started.
    with pytest.raises(td.TracedropError) as error:
        td.open("no/such/file.json")
    again = pickle.loads(pickle.dumps(error.value))
    assert type(again) is td.TracedropError and str(again) == str(error.value)
    assert f"{td.TracedropError.__module__}.{td.TracedropError.__name__}" == "tracedrop.TracedropError"


def test_missing_names_list_what_there_is(trace: td.Trace) -> None:
    with pytest.raises(KeyError, match="there are: gpu-findings"):
        trace.report("nothing")
    with pytest.raises(KeyError, match="there are: operations"):
        trace.report("gpu-kernels").tables["nothing"]
    with pytest.raises(TypeError, match="for printing"):
        td.open(TRACE, format="json")


def test_progress_is_told(large: Path) -> None:
    heard: list[tuple[str, float | None]] = []
    td.open(large, progress=lambda doing, share: heard.append((doing, share)))
    assert {doing for doing, _ in heard} <= {"reading", "reports"} and heard
    assert all(share is None or 0 <= share <= 1 for _, share in heard)


def test_a_failing_progress_stops_the_reading(large: Path) -> None:
    def fail(doing: str, share: float | None) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        td.open(large, progress=fail)


def test_ctrl_c_stops_the_reading(large: Path) -> None:
    program = textwrap.dedent(f"""
        import tracedrop as td
        print("ready", flush=True)
        try:
            while True:
                td.open({str(large)!r})
        except KeyboardInterrupt:
            print("stopped", flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=20)[0] == "stopped\n"


def test_other_threads_run_meanwhile(large: Path) -> None:
    counted = [0]
    is_over = threading.Event()

    def count() -> None:
        while not is_over.wait(0.005):
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    td.open(large)
    is_over.set()
    thread.join()
    assert counted[0] > 5


def test_a_trace_is_used_from_any_thread(trace: td.Trace) -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(len(trace.events())))
    thread.start()
    thread.join()
    assert found == [len(trace.events())]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_does_not_wait_for_a_thread_it_lacks(trace: td.Trace) -> None:
    program = textwrap.dedent(f"""
        import os, signal
        import tracedrop as td
        trace = td.open({str(TRACE)!r})
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            assert td.open({str(TRACE)!r}).title == {TRACE.name!r}
            try:
                trace.events()
            except RuntimeError as error:
                os._exit(0 if "forked" in str(error) else 3)
            os._exit(4)
        assert os.waitpid(child, 0)[1] == 0
    """)
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_exports(trace: td.Trace, tmp_path: Path) -> None:
    for to in ("html", "markdown", "json", "csv", "parquet", "chrome-trace", "speedscope", "tracedrop", "index", "link"):
        content = trace.export(to)
        assert content, to
        if to in ("markdown", "json", "csv", "chrome-trace", "speedscope"):
            printed = command("export", "--to", to, TRACE)
            assert printed.stdout == content, to
    trace.export("chrome-trace", tmp_path / "part.json", window="0..5ms", max_depth=2, redact=["symbols"])
    assert json.loads((tmp_path / "part.json").read_bytes())
    assert [path.name for path in tmp_path.iterdir()] == ["part.json"]
    again = td.open(tmp_path / "part.json")
    assert 0 < len(again.events()) < len(trace.events())
    trace.export("index", tmp_path / "trace.tdx")
    indexed = td.open(tmp_path / "trace.tdx")
    assert pa.table(indexed.events()).equals(pa.table(trace.events()))
    assert {"html", "speedscope"} <= set(td.export_formats())


def test_run_directories(tmp_path: Path) -> None:
    path = next(path for path in sorted((DATA / "mrm" / "inputs").iterdir()) if path.name.endswith((".txt", ".txt.gz")))
    accesses = td.open(path)
    accesses.export("mrm-run", tmp_path / "run.zip", run_id="r1")
    assert "trace.parquet" in {name.rsplit("/")[-1] for name in zipfile.ZipFile(tmp_path / "run.zip").namelist()}


def test_limits() -> None:
    compared = td.compare(TRACE, OTHER)
    checked = compared.check("gpu.busy > 1000%", "nothing > 1")
    assert [limit.state for limit in checked] == ["ok", "unknown"]
    assert "gpu.busy" in compared.metrics and all(compared.metrics.values())
    with pytest.raises(td.LimitExceeded, match="no metric"):
        compared.fail_on("nothing > 1")
    compared.fail_on("gpu.busy > 1000%")
    assert compared.to_markdown().startswith("## ")


def test_several_ranks(tmp_path: Path) -> None:
    together = td.open(RANKS, together=True, progress=lambda *_: None)
    assert [file["name"].value for file in together.source] if "name" in together.source[0] else together.source
    assert td.compare(RANKS, RANKS).reports


def test_the_command_of_the_package() -> None:
    assert command("--version").stdout.decode() == f"tracedrop {td.__version__}\n"
    assert command("report", "no/such/file").returncode == 1
    assert command("no-such-command").returncode == 2
    assert command("report", "--list").stdout
    module = subprocess.run([sys.executable, "-m", "tracedrop", "formats"], capture_output=True)
    assert module.stdout == command("formats").stdout
    assert command("report", "-", "--format", "markdown", input=TRACE.read_bytes()).stdout


def test_sql(trace: td.Trace) -> None:
    total = sum(row for row in pa.table(trace.report("gpu-kernels").tables["kernels"])["total"].to_pylist())
    assert td.sql('select sum(total) from "gpu-kernels".kernels', trace).fetchall() == [(total,)]
    assert trace.sql("select sum(total) from kernels").fetchall() == [(total,)]
    assert td.sql("select count(*) from slices", TRACE).fetchall() == [(len(trace.events()),)]
    joined = trace.sql("select count(*) from slices s join tracks t on s.track = t.id where t.kind = 'thread'").fetchall()
    assert joined[0][0] > 0
    with pytest.raises(td.TracedropError, match="Tables: slices, "):
        trace.sql("select * from no_such_table")


def test_the_command_sql(trace: td.Trace) -> None:
    query = "select name, count(*) as n from slices group by name order by n desc, name limit 2"
    rows = trace.sql(query).fetchall()
    printed = command("sql", TRACE, query, "--format", "json")
    assert [tuple(row.values()) for row in json.loads(printed.stdout)] == rows, printed.stderr
    assert command("sql", TRACE, query, "--format", "csv").stdout.decode().startswith("name,n\r\n")
    assert rows[0][0][:20] in command("sql", TRACE, query).stdout.decode()
    assert b'"gpu-kernels".kernels' in command("sql", TRACE, "--tables").stdout
    failed = command("sql", "no/such/file", "select 1")
    assert failed.returncode == 1 and b"cannot be opened" in failed.stderr


def test_json_of_sql_has_every_column_and_only_numbers_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    from decimal import Decimal

    from tracedrop import _sql

    class Answer:
        columns = ["a", "a", "a_2", "list", "struct", "map"]

        def fetchall(self) -> list[tuple[Any, ...]]:
            inf, nan = float("inf"), float("nan")
            return [(1, Decimal(2), -inf, [nan, 1.5], {"x": (inf, Decimal("0.5"))}, {1: nan})]

    _sql.write(Answer(), "json")
    printed = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    # The second "a" goes around the name "a_2", which another column has.
    assert printed == [{"a": 1, "a_3": 2, "a_2": None, "list": [None, 1.5], "struct": {"x": [None, 0.5]}, "map": {"1": None}}]


def test_commands_end_quietly_when_the_reader_or_the_user_has_enough(large: Path, tmp_path: Path) -> None:
    first = subprocess.run(["bash", "-c", f"{COMMAND} sql {TRACE} 'select * from slices' --format csv | head -1"], capture_output=True, text=True)
    assert first.stdout.startswith("id,") and not first.stderr
    # Short tables, so that it needs time and no memory.
    endless = "select count(*) from range(100000) a, range(100000) b, range(1000) c"
    for args in [["sql", str(TRACE), endless], ["fleet", "add", str(large), "--run=a", f"-o={tmp_path}"]]:
        process = subprocess.Popen([COMMAND, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            out, error = process.communicate(timeout=60)
        finally:
            process.kill()
        assert "Traceback" not in error, (args, error)
        assert process.returncode in (-signal.SIGINT, 130) or "added" in out, args


def test_sql_without_duckdb_says_how_to_install_it(trace: td.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(td.TracedropError, match="pip install"):
        trace.sql("select 1")


def test_junit_of_a_comparison() -> None:
    import xml.etree.ElementTree as ET

    printed = command("compare", TRACE, OTHER, "--format", "junit", "--fail-on", "gpu.busy > -1000%", "--fail-on", "gpu.work > 1000%")
    suite = ET.fromstring(printed.stdout)
    assert printed.returncode == 3 and suite.get("tests") == "3" and suite.get("failures") == "1"
    # What readers of GitLab, GitHub and Jenkins have in common: names and times; a failure with a message, and the text of it.
    assert [test.get("time") for test in suite.iter("testcase")] == ["0"] * 3
    assert all(test.get("classname") and test.get("name") for test in suite.iter("testcase"))
    (failure,) = suite.iter("failure")
    assert failure.get("type") and failure.get("message") == failure.text and "gpu.busy" in (failure.text or "")


def test_tables_and_values_of_several_files_are_all_there() -> None:
    together = td.open([TRACE, OTHER], together=True)
    described = json.loads(together.to_json())
    for report, expected in [*zip(together.reports, described["reports"]), (together.account, described["ledger"])]:
        tables = [block for block in expected["blocks"] if block["type"] == "table"]
        assert list(report.tables) == [table["id"] for table in tables]
        assert [len(table) for table in report.tables.values()] == [len(table["rows"]) for table in tables]
        values = [fact for block in expected["blocks"] if block["type"] == "facts" for fact in block["facts"]]
        assert [fact.value for fact in report.facts.values()] == [fact["value"] for fact in values]
    assert {"metadata", "metadata_2"} <= set(together.report("overview").tables)
    one, other = td.open(TRACE).account.facts["kept"], td.open(OTHER).account.facts["kept"]
    facts = together.account.facts
    kept = [fact.value for id, fact in facts.items() if fact.id == "kept"]
    assert kept[-2:] == [one.value, other.value], "each file's own"
