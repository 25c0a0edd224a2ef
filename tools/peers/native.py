"""Loads a trace with one library and adds up the durations per name: python native.py LIBRARY FILE

Prints JSON: how many names, and their sum in seconds, so that one sees that all did the same work.
"""

import json
import os
import sys


def with_orjson(path):
    import orjson

    with open(path, "rb") as file:
        events = orjson.loads(file.read())["traceEvents"]
    totals = {}
    for event in events:
        if (duration := event.get("dur")) is not None:
            name = event["name"]
            totals[name] = totals.get(name, 0) + duration
    return totals


def with_duckdb(path):
    import duckdb

    # The file is one object: without its size as the limit DuckDB refuses it (16 MiB). With the columns given it reads
    # no others; left to find them out itself it takes five times as long.
    found = duckdb.execute(
        """
        SELECT event.name, sum(event.dur)
        FROM (SELECT unnest(traceEvents) AS event
              FROM read_json(?, format = 'unstructured', records = true, maximum_object_size = ?,
                             columns = {traceEvents: 'STRUCT(name VARCHAR, dur DOUBLE)[]'}))
        WHERE event.dur IS NOT NULL GROUP BY 1
        """,
        [path, os.path.getsize(path) + 1024],
    )
    return dict(found.fetchall())


def with_wafer(path):
    # Its table has the kernels of the GPU only, but each with phase, operation, layer and Python stack.
    from wafer_core.lib.trace_compare import load_trace

    kernels = load_trace(path)[3]
    return kernels.groupby("name")["dur_us"].sum().to_dict()


if __name__ == "__main__":
    library, path = sys.argv[1:]
    try:
        totals = {"orjson": with_orjson, "duckdb": with_duckdb, "wafer": with_wafer}[library](path)
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    print(json.dumps({"names": len(totals), "seconds": round(sum(totals.values()) / 1e6, 3)}))
