"""Datasets of summaries: they add up, they can be added to again, and the example queries run."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
import tracedrop as td
from tracedrop import fleet

from conftest import DATA, RANKS, ROOT, command

QUERIES = sorted((ROOT / "examples" / "fleet").glob("*.sql"))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "broken.json").write_text("no trace")
    added = fleet.add([*RANKS, folder / "broken.json"], run="a", dataset=folder / "dataset")
    assert (added.added, added.unreadable, added.known) == (3, 1, 0)
    fleet.add(RANKS, run="b", dataset=folder / "dataset")
    return folder / "dataset"


def test_sums_are_those_of_the_reports(dataset: Path) -> None:
    connection = fleet.connect(dataset)
    for number, path in enumerate(RANKS):
        kernels = td.open(path).report("gpu-kernels").tables["kernels"].to_pandas()
        expected = {name: (count, total) for name, count, total in kernels[["name", "count", "total"]].itertuples(index=False)}
        rows = connection.execute("select name, count, total_ns from kernels where run = 'a' and rank = ?", [number]).fetchall()
        assert {name: (count, total) for name, count, total in rows} == expected
    both = connection.sql("select sum(count) from kernels where run = 'a'").fetchall()
    assert both == connection.sql("select sum(count) from kernel_durations where run = 'a'").fetchall()
    assert connection.sql("select min(total_ns2 * count >= total_ns::hugeint * total_ns) from kernels").fetchall() == [(True,)]
    expected = {}
    for id, table in td.open(RANKS, together=True).report("gpu-kernels").tables.items():
        # One table per rank.
        if id in ("operations", "operations_2"):
            for row in table.to_arrow().to_pylist():
                expected[row["operation"]] = expected.get(row["operation"], 0) + row["total"]
    sums = connection.sql("select operation, sum(total_ns) from operations where run = 'a' group by 1").fetchall()
    assert {name: int(total) for name, total in sums} == expected


def test_a_rank_that_cannot_be_read_is_a_row(dataset: Path) -> None:
    rows = fleet.connect(dataset).sql("select file, error from files where error is not null").fetchall()
    assert [row[0] for row in rows] == ["broken.json"] and "unrecognized" in rows[0][1]


def test_a_rank_whose_kernels_were_not_kept_is_a_row(tmp_path: Path) -> None:
    added = fleet.add([RANKS[0]], run="a", dataset=tmp_path, hold=10)
    assert (added.added, added.unreadable) == (1, 1)
    [(error,)] = fleet.connect(tmp_path).sql("select error from files").fetchall()
    assert "larger `hold`" in error


def test_runs_add_up(tmp_path: Path) -> None:
    for path in RANKS:
        fleet.add([path], run="a", dataset=tmp_path, build="v1")
    connection = fleet.connect(tmp_path)
    sums = "sum(files)::int, sum(unreadable)::int, sum(bytes)::int, sum(kept)::int"
    assert connection.sql(f"select count(*), min(build), {sums} from runs").fetchall() == [
        (2, "v1", *connection.sql("select count(*), count(error), sum(bytes)::int, sum(kept)::int from files").fetchall()[0])
    ]
    assert connection.sql("select rank, world_size from files order by rank").fetchall() == [(0, 8), (1, 8)]
    # Each part is complete for any engine.
    assert {table: len(paths) for table, paths in fleet.parts(tmp_path).items()} == dict.fromkeys(fleet.TABLES, 2)


def test_squares_of_operations_are_those_of_their_kernels(dataset: Path) -> None:
    connection = fleet.connect(dataset)
    by = "select run, rank, operation, sum(count)::int, sum(total_ns2)::hugeint, min(min_ns), max(max_ns) from {} group by all order by all"
    assert connection.sql(by.format("operations")).fetchall() == connection.sql(by.format("kernels")).fetchall()


def test_squares_and_histograms_of_collectives_are_those_of_their_calls(dataset: Path) -> None:
    connection = fleet.connect(dataset)
    for number, path in enumerate(RANKS):
        calls: dict[tuple[object, ...], list[int]] = {}
        for call in td.open(path).events("collective_calls").to_arrow().to_pylist():
            key = tuple(call[name] for name in ("collective", "dtype", "message", "group", "ranks"))
            calls.setdefault(key, []).append(call["dur"])
        assert calls
        of_key = "select collective, dtype, message_bytes, group_name, ranks, {} where run = 'a' and rank = ?"
        sums = connection.execute(of_key.format("count, total_ns, total_ns2, min_ns, max_ns from collectives"), [number]).fetchall()
        assert {tuple(row[:5]): tuple(map(int, row[5:])) for row in sums} == {
            key: (len(durs), sum(durs), sum(dur * dur for dur in durs), min(durs), max(durs)) for key, durs in calls.items()
        }
        buckets: dict[tuple[object, ...], int] = {}
        for key, durs in calls.items():
            for dur in durs:
                buckets[*key, dur.bit_length() - 1] = buckets.get((*key, dur.bit_length() - 1), 0) + 1
        rows = connection.execute(of_key.format("bucket, count from collective_durations"), [number]).fetchall()
        assert {tuple(row[:6]): row[6] for row in rows} == buckets


def test_datasets_of_older_versions_open(dataset: Path, tmp_path: Path) -> None:
    old = DATA / "fleet"
    assert pq.read_metadata(next((old / "table=collectives" / "run=monday").iterdir())).metadata[b"schema_version"] == b"2"
    connection = fleet.connect(old)
    assert connection.sql("select count(total_ns), count(total_ns2) from collectives").fetchall() == [(8, 0)]
    assert connection.sql("select count(*) from collective_durations").fetchall() == [(0,)]
    for query in QUERIES:
        assert connection.sql(query.read_text()).fetchall() or query.stem.startswith("06"), query
    # Runs of both versions in one dataset.
    shutil.copytree(dataset, tmp_path / "both")
    shutil.copytree(old, tmp_path / "both", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.json", "*.md"))
    runs = fleet.connect(tmp_path / "both").sql("select run, count(total_ns2) > 0 from collectives group by run order by run").fetchall()
    assert runs == [("a", True), ("b", True), ("monday", False), ("tuesday", False)]


def test_hosts_are_in_the_names_of_torch(tmp_path: Path) -> None:
    named = tmp_path / "node-7_a_4012.1790000000000.pt.trace.json.gz"
    shutil.copy(RANKS[0], named)
    fleet.add([named, RANKS[1]], run="a", dataset=tmp_path / "dataset")
    assert fleet.connect(tmp_path / "dataset").sql("select host from files order by rank").fetchall() == [("node-7_a",), (None,)]


def test_adding_again_changes_nothing(dataset: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in dataset.rglob("*.parquet")}
    assert fleet.add(RANKS, run="a", dataset=dataset).known == 2
    assert {path: path.read_bytes() for path in dataset.rglob("*.parquet")} == before
    # The same files in another order and place are the same bytes.
    shutil.copytree(RANKS[0].parent, tmp_path / "ranks")
    fleet.add(sorted((tmp_path / "ranks").glob("*.gz"), reverse=True), run="b", dataset=tmp_path / "again", jobs=1)
    for path, content in before.items():
        if "run=b" in path.parts:
            assert (tmp_path / "again" / path.relative_to(dataset)).read_bytes() == content, path


def test_interrupted_parts_do_not_count(dataset: Path, tmp_path: Path) -> None:
    shutil.copytree(dataset, tmp_path / "dataset")
    n_before = fleet.connect(dataset).sql("select count(*) from kernels").fetchall()
    part = next((tmp_path / "dataset" / "table=kernels" / "run=a").iterdir())
    shutil.copy(part, part.with_name("part-0000000000000000.parquet"))
    assert fleet.connect(tmp_path / "dataset").sql("select count(*) from kernels").fetchall() == n_before


def test_units_are_in_the_metadata(dataset: Path) -> None:
    part = next((dataset / "table=kernels" / "run=a").iterdir())
    metadata = pq.read_metadata(part).metadata
    assert metadata[b"schema_version"] == b"3" and metadata[b"unit.total_ns"] == b"ns"
    # Any engine reads the folders.
    rows = duckdb.sql(f"select count(*) from read_parquet('{dataset}/table=kernels/**/*.parquet', hive_partitioning = true)").fetchall()
    assert rows == fleet.connect(dataset).sql("select count(*) from kernels").fetchall()


@pytest.mark.parametrize("query", QUERIES, ids=lambda path: path.stem)
def test_example_queries(query: Path, dataset: Path) -> None:
    assert query.read_text().startswith("-- ")
    assert fleet.connect(dataset).sql(query.read_text()).fetchall()
    assert command("fleet", "sql", dataset, query).returncode == 0


def test_the_page_lists_all_columns() -> None:
    page = (ROOT / "docs" / "tables.md").read_text().split("## Fleets")[1]
    for table, columns in fleet.TABLES.items():
        section = page.split(f"### `{table}`")[1].split("\n### ")[0]
        for name, (_, unit, about) in columns.items():
            assert f"| `{name}` | {'' if unit == 'none' else unit} | {about} |" in section


def test_one_file_may_stand_alone_and_others_are_refused_whole(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    assert fleet.add(str(RANKS[0]), run="a", dataset=tmp_path / "one", progress=lambda n, of: heard.append((n, of))).added == 1
    assert heard == [(1, 1)]
    for files, says in [([RANKS[0], tmp_path / "missing"], "missing: cannot be read, so nothing was added"), ([tmp_path], "a folder; give the files")]:
        with pytest.raises(td.TracedropError, match=says):
            fleet.add(files, run="a", dataset=tmp_path / "none")
        assert command("fleet", "add", *files, "--run", "a", "-o", tmp_path / "none").returncode == 1
    assert not (tmp_path / "none").exists()
    # An empty answer would look like a fleet without problems.
    with pytest.raises(td.TracedropError, match="no fleet dataset"):
        fleet.connect(tmp_path)


def test_the_command_prints_rows_for_programs(dataset: Path) -> None:
    query = "select run, sum(total_ns2) as squares, 'nan'::double as none from operations where run = 'a' group by run"
    (row,) = json.loads(command("fleet", "sql", dataset, query, "--format", "json").stdout)
    assert row == {"run": "a", "squares": int(fleet.connect(dataset).sql(query).fetchall()[0][1]), "none": None}
    assert command("fleet", "sql", dataset, query, "--format", "csv").stdout.startswith(b"run,squares,none\r\n")
    for query, says in [("select nope from files", b"nope"), ("select * from nope", b"Tables: runs, files")]:
        refused = command("fleet", "sql", dataset, query)
        assert refused.returncode == 1 and says in refused.stderr and b"Traceback" not in refused.stderr


def test_wrong_names_of_runs_are_refused(tmp_path: Path) -> None:
    for run in ["", "../x", "a/b", ".hidden"]:
        with pytest.raises(td.TracedropError, match="not a name for a run"):
            fleet.add(RANKS, run=run, dataset=tmp_path)
