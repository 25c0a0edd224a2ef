"""Fleets on Ray: Ray Data maps `fleet.add` over files, and tasks answer queries.

    python ray_fleet.py add traces/*.json.gz --run monday -o /shared/fleet
    python ray_fleet.py sql /shared/fleet 03-stragglers.sql

Files and dataset are on storage that all nodes have, and so is the Python package (`pip install 'tracedrop[sql]' 'ray[data]'`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.fs
import ray
from tracedrop import fleet


def add(
    files: Iterable[Any], *, run: str, dataset: Any, build: str | None = None, files_per_task: int = fleet.FILES_PER_PART
) -> fleet.Added:
    """Add files to a dataset, one task and one part per ``files_per_task`` files. Tasks that Ray repeats change nothing."""
    paths = sorted({str(Path(file).absolute()) for file in files})
    dataset = str(Path(dataset).absolute())

    def summarize(batch: dict[str, Any]) -> dict[str, list[int]]:
        # A task has one processor, so it reads one file at a time.
        done = fleet.add([str(path) for path in batch["item"]], run=run, dataset=dataset, build=build, jobs=1)
        return {"added": [done.added], "unreadable": [done.unreadable], "known": [done.known]}

    n_tasks = -(-len(paths) // files_per_task)
    rows = ray.data.from_items(paths, override_num_blocks=n_tasks).map_batches(summarize, batch_size=None, num_cpus=1).take_all()
    return fleet.Added(*(sum(row[count] for row in rows) for count in ("added", "unreadable", "known")))


def table(dataset: Any, name: str) -> Any:
    """One table as a Ray dataset, for aggregation in Ray Data."""
    partitioning = ray.data.datasource.Partitioning("hive", base_dir=str(Path(dataset).absolute()), field_types={"run": str})
    paths = [str(Path(path).absolute()) for path in fleet.parts(dataset)[name]]
    return ray.data.read_parquet(paths, filesystem=pyarrow.fs.LocalFileSystem(), partitioning=partitioning)


@ray.remote
def _ask(dataset: str, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    relation = fleet.connect(dataset).sql(query)
    return relation.columns, relation.fetchall()


def sql(dataset: Any, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Columns and rows of a query. Ray has no SQL of its own, so DuckDB runs it in a task near the data."""
    return ray.get(_ask.remote(str(Path(dataset).absolute()), query))


def main() -> None:
    given = fleet.arguments(__doc__ or "")
    if given.command == "add":
        print(add(given.files, run=given.run, dataset=given.output, build=given.build))
        return
    columns, rows = sql(given.dataset, given.query)
    for row in [columns, *rows]:
        print("\t".join(map(str, row)))


if __name__ == "__main__":
    main()
