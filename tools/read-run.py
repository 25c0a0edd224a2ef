"""Reads an exported run with pyarrow, pandas and DuckDB, and says what they found. Any complaint of theirs is an error.

    target/readers/bin/python tools/read-run.py run.zip
"""

import hashlib
import json
import pathlib
import sys
import tempfile
import warnings
import xml.etree.ElementTree
import zipfile

import duckdb
import pandas
import pyarrow.parquet

warnings.simplefilter("error")

with tempfile.TemporaryDirectory() as folder:
    with zipfile.ZipFile(sys.argv[1]) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    (run,) = pathlib.Path(folder).iterdir()
    for name in ["trace", "region_map", "kv_block_lifecycle"]:
        path = run / f"{name}.parquet"
        table = pyarrow.parquet.read_table(path)
        table.validate(full=True)
        frame = pandas.read_parquet(path)
        [(n_rows,)] = duckdb.sql(f"select count(*) from read_parquet('{path}')").fetchall()
        assert len(frame) == table.num_rows == n_rows
        assert pyarrow.parquet.read_metadata(path).metadata[b"mrm_trace_schema_version"] == b"1.0"
        rows = duckdb.sql(f"from read_parquet('{path}')").fetchall()
        assert rows == [tuple(row.values()) for row in table.to_pylist()]
        print(name, n_rows, "rows")
    metrics = pandas.read_csv(run / "metrics.csv")
    print("metrics", len(metrics), "kinds")
    manifest = json.loads((run / "manifest.json").read_text())
    listed = {file["path"]: file for file in manifest["files"]}
    there = {path.relative_to(run).as_posix() for path in run.rglob("*") if path.is_file()}
    assert there == set(listed) | {"manifest.json"}, there ^ set(listed)
    for path, file in listed.items():
        content = (run / path).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file["size_bytes"], file["sha256"])
    figures = sorted(run.glob("figures/*.svg"))
    for figure in figures:
        xml.etree.ElementTree.parse(figure)
    print("figures", len(figures))
