"""Fleets on Spark: executors map `fleet.add` over files, and Spark SQL answers queries.

    python spark_fleet.py add traces/*.json.gz --run monday -o /shared/fleet
    python spark_fleet.py sql /shared/fleet 03-stragglers.sql

Files and dataset are on storage that all nodes have, and so is the Python package (`pip install 'tracedrop[sql]' pyspark pyarrow`).
Spark needs Java.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit
from tracedrop import fleet


def session(**settings: Any) -> SparkSession:
    """The session, in which names of runs stay text."""
    builder = SparkSession.builder.appName("tracedrop")
    for name, value in {"spark.sql.sources.partitionColumnTypeInference.enabled": "false", **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def add(
    spark: SparkSession,
    files: Iterable[Any],
    *,
    run: str,
    dataset: Any,
    build: str | None = None,
    files_per_task: int = fleet.FILES_PER_PART,
) -> fleet.Added:
    """Add files to a dataset, one task and one part per ``files_per_task`` files. Tasks that Spark repeats change nothing."""
    paths = sorted({str(Path(file).absolute()) for file in files})
    dataset = str(Path(dataset).absolute())

    def summarize(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        mine = [path for batch in batches for group in batch.column("paths").to_pylist() for path in group]
        if mine:
            # A task has one processor, so it reads one file at a time.
            done = fleet.add(mine, run=run, dataset=dataset, build=build, jobs=1)
            counts = {"added": [done.added], "unreadable": [done.unreadable], "known": [done.known]}
            yield pyarrow.RecordBatch.from_pydict(counts)

    groups = [(number, paths[start : start + files_per_task]) for number, start in enumerate(range(0, len(paths), files_per_task))]
    tasks = spark.createDataFrame(groups, "number int, paths array<string>").repartition(max(len(groups), 1), "number")
    counted = tasks.mapInArrow(summarize, "added long, unreadable long, known long").collect()
    return fleet.Added(*(sum(row[count] for row in counted) for count in ("added", "unreadable", "known")))


def views(spark: SparkSession, dataset: Any) -> None:
    """A view for each table of a dataset; each has the column ``run``. What an older version did not write is there, without values."""
    for table, paths in fleet.parts(dataset).items():
        types = {name: "string" if kind == "VARCHAR" else kind for name, (kind, *_) in fleet.TABLES[table].items()} | {"run": "string"}
        if paths:
            read = spark.read.option("basePath", str(Path(dataset).absolute())).option("mergeSchema", "true")
            rows = read.parquet(*(str(Path(path).absolute()) for path in paths)).drop("table")
        else:
            rows = spark.createDataFrame([], ", ".join(f"`{name}` {kind}" for name, kind in types.items()))
        for name in types.keys() - set(rows.columns):
            rows = rows.withColumn(name, lit(None).cast(types[name]))
        rows.createOrReplaceTempView(table)


def sql(spark: SparkSession, dataset: Any, query: str) -> DataFrame:
    """The answer to a query in Spark SQL."""
    views(spark, dataset)
    return spark.sql(query)


def main() -> None:
    given = fleet.arguments(__doc__ or "")
    # Workers need the packages that this Python has; a cluster may name another one.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = session()
    if given.command == "add":
        print(add(spark, given.files, run=given.run, dataset=given.output, build=given.build))
    else:
        sql(spark, given.dataset, given.query).show(truncate=False)
    spark.stop()


if __name__ == "__main__":
    main()
