"""DuckDB, Ray and Spark make the same dataset from made-up ranks and answer the ten queries with the same rows.

`make test-fleet` runs this; FLEET_RANKS and FLEET_MEGABYTES are the number of ranks and the JSON of each. What is wrong with the
made-up runs is known (`make_ranks.py`), and the queries have to find it. Where `report --together` has the same numbers, they are
compared, too.
"""

from __future__ import annotations

import decimal
import math
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tracedrop as td
from tracedrop import fleet

import make_ranks

RANKS = int(os.environ.get("FLEET_RANKS", "64"))
MEGABYTES = float(os.environ.get("FLEET_MEGABYTES", "0.2"))
QUERIES = sorted(Path(__file__).parent.glob("*.sql"))
RUNS = {"a": "v1", "b": "v2"}
FILES_PER_TASK = 5


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """Files of two runs; GEMMs of the second are slower, and one of its files is no trace."""
    folder = tmp_path_factory.mktemp("ranks")
    made = {run: make_ranks.make_ranks(folder / run, RANKS, MEGABYTES, run == "b", seed) for seed, run in enumerate(RUNS, 1)}
    broken = folder / "b" / "broken.json"
    broken.write_text("no trace")
    made["b"].append(broken)
    return made


@pytest.fixture(scope="session")
def by_duckdb(made: dict[str, list[Path]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    dataset = tmp_path_factory.mktemp("duckdb") / "fleet"
    for run, build in RUNS.items():
        added = fleet.add(made[run], run=run, dataset=dataset, build=build)
        assert (added.added, added.unreadable, added.known) == (len(made[run]), int(run == "b"), 0)
    return dataset


@pytest.fixture(scope="session")
def ray_fleet() -> Iterator[Any]:
    pytest.importorskip("ray", reason="Ray is not installed")
    import ray

    # Tasks import `ray_fleet`, too.
    found = {"env_vars": {"PYTHONPATH": str(Path(__file__).parent)}}
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=found)
    import ray_fleet

    yield ray_fleet
    ray.shutdown()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark", reason="Spark is not installed")
    import spark_fleet

    here = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false"}
    session = spark_fleet.session(**{"spark.master": "local[2]", "spark.sql.shuffle.partitions": 2}, **here)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def by_ray(made: dict[str, list[Path]], ray_fleet: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    dataset = tmp_path_factory.mktemp("ray") / "fleet"
    for run, build in RUNS.items():
        added = ray_fleet.add(made[run], run=run, dataset=dataset, build=build, files_per_task=FILES_PER_TASK)
        assert (added.added, added.unreadable, added.known) == (len(made[run]), int(run == "b"), 0)
    assert ray_fleet.add(made["a"], run="a", dataset=dataset, files_per_task=FILES_PER_TASK).added == 0
    return dataset


@pytest.fixture(scope="session")
def by_spark(made: dict[str, list[Path]], spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    import spark_fleet

    dataset = tmp_path_factory.mktemp("spark") / "fleet"
    for run, build in RUNS.items():
        added = spark_fleet.add(spark, made[run], run=run, dataset=dataset, build=build, files_per_task=FILES_PER_TASK)
        assert (added.added, added.unreadable, added.known) == (len(made[run]), int(run == "b"), 0)
    assert spark_fleet.add(spark, made["a"], run="a", dataset=dataset, files_per_task=FILES_PER_TASK).added == 0
    return dataset


def rows_of(dataset: Path, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    relation = fleet.connect(dataset).sql(query)
    return relation.columns, relation.fetchall()


def answer(dataset: Path, name: str) -> list[dict[str, Any]]:
    columns, rows = rows_of(dataset, next(Path(__file__).parent.glob(f"{name}*.sql")).read_text())
    return [dict(zip(columns, row)) for row in rows]


def assert_same(ours: tuple[list[str], list[tuple[Any, ...]]], theirs: tuple[list[str], list[tuple[Any, ...]]]) -> None:
    """Whole numbers and texts are equal; numbers with a fraction are, but for rounding."""
    assert list(ours[0]) == list(theirs[0])
    assert len(ours[1]) == len(theirs[1])
    for row, other in zip(ours[1], theirs[1]):
        for column, a, b in zip(ours[0], row, other):
            if isinstance(a, float) or isinstance(b, float):
                # Differences of nearly equal sums are near 0; 1e-6 ms is a nanosecond.
                assert math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-6), (column, row, other)
            else:
                whole = [int(value) if isinstance(value, decimal.Decimal) else value for value in (a, b)]
                assert whole[0] == whole[1], (column, row, other)


def assert_same_tables(ours: Path, theirs: Path) -> None:
    for table, columns in fleet.TABLES.items():
        if table == "runs":
            # A row per part; counts add up.
            sums = "sum(files), sum(unreadable), sum(bytes), sum(kept), sum(repaired), sum(skipped)"
            query = f"select run, build, {sums} from runs group by all order by all"
        else:
            query = f"select * from {table} order by all"
        first, second = rows_of(ours, query), rows_of(theirs, query)
        assert first[1], table
        assert first == second, table


def test_ray_makes_the_same_dataset(by_duckdb: Path, by_ray: Path, ray_fleet: Any) -> None:
    assert_same_tables(by_duckdb, by_ray)
    # Ray Data reads it as well.
    sums = ray_fleet.table(by_ray, "operations").groupby(["run", "operation"]).sum("total_ns").take_all()
    found = {(row["run"], row["operation"], row["sum(total_ns)"]) for row in sums}
    expected = rows_of(by_duckdb, "select run, operation, sum(total_ns)::bigint from operations group by all")[1]
    assert found == set(expected)


def test_spark_makes_the_same_dataset(by_duckdb: Path, by_spark: Path) -> None:
    assert_same_tables(by_duckdb, by_spark)


@pytest.mark.parametrize("query", QUERIES, ids=lambda path: path.stem)
def test_ray_answers_the_same(query: Path, by_duckdb: Path, by_ray: Path, ray_fleet: Any) -> None:
    assert_same(rows_of(by_duckdb, query.read_text()), ray_fleet.sql(by_ray, query.read_text()))


@pytest.mark.parametrize("query", QUERIES, ids=lambda path: path.stem)
def test_spark_answers_the_same(query: Path, by_duckdb: Path, by_spark: Path, spark: Any) -> None:
    import spark_fleet

    answered = spark_fleet.sql(spark, by_spark, query.read_text())
    assert_same(rows_of(by_duckdb, query.read_text()), (answered.columns, [tuple(row) for row in answered.collect()]))


def test_queries_find_what_is_wrong(by_duckdb: Path) -> None:
    runs = answer(by_duckdb, "01")
    assert [(row["run"], row["build"], row["n_unreadable"], row["ranks"], row["ranks_missing"]) for row in runs] == [
        ("a", "v1", 0, RANKS, 0),
        ("b", "v2", 1, RANKS, 0),
    ]
    assert [row["file"] for row in answer(by_duckdb, "02")] == ["broken.json"]
    first = answer(by_duckdb, "03")[0]
    assert (first["rank"], first["slowest_in"]) == (make_ranks.STRAGGLER, make_ranks.STEPS)
    assert {row["waited_for"] for row in answer(by_duckdb, "04")} == {make_ranks.STRAGGLER}
    slower = answer(by_duckdb, "06")[0]
    assert slower["operation"] == "GEMM" and 1.14 < slower["of_a"] < 1.16
    if RANKS > 2 * make_ranks.RANKS_PER_HOST:
        slowest = answer(by_duckdb, "08")[0]
        assert slowest["host"] == f"node-{make_ranks.SLOW_HOST:03}" and 1.06 < slowest["of_median"] < 1.1


def test_numbers_are_those_of_the_report_together(by_duckdb: Path, made: dict[str, list[Path]]) -> None:
    together = td.open(made["a"], together=True)
    durations = {"count": "count", "total": "total_ns"}
    kernels = {"name": "name", "operation": "operation", "min": "min_ns", "max": "max_ns"} | durations
    steps = {"step": "step", "gpu_time": "gpu_time_ns", "exposed_communication": "exposed_communication_ns", "idle": "idle_ns"}
    collectives = {"collective": "collective", "message": "message_bytes", "min": "min_ns", "max": "max_ns"} | durations
    for report, table, columns in [
        ("gpu-kernels", "kernels", kernels),
        ("gpu-kernels", "operations", {"operation": "operation"} | durations),
        ("gpu-breakdown", "steps", steps),
        ("gpu-communication", "collectives", collectives),
    ]:
        tables = together.report(report).tables
        for rank in range(RANKS):
            # A table per rank, numbered from the second.
            reported = tables[table if rank == 0 else f"{table}_{rank + 1}"].to_arrow().to_pylist()
            stored = rows_of(by_duckdb, f"select {', '.join(columns.values())} from {table} where run = 'a' and rank = {rank}")[1]
            assert sorted(tuple(row[name] for name in columns) for row in reported) == sorted(stored), (table, rank)
    stragglers = {row["rank"]: row for row in together.report("gpu-ranks").tables["stragglers"].to_arrow().to_pylist()}
    # It comes first; the clocks of these files don't tell by how much it is late at each collective.
    assert next(iter(stragglers)) == make_ranks.STRAGGLER
    assert all(row["held_up"] is None for row in stragglers.values())
    waits: dict[str, float] = defaultdict(float)
    for row in answer(by_duckdb, "04"):
        waits[row["run"]] += row["wait_ms"]
    exact = sum(row["wait"] for row in stragglers.values()) / 1e6
    assert math.isclose(waits["a"], exact, rel_tol=1e-3), (waits, exact)
