"""Grows an Nsight Systems export: grow-nsys.py FROM.sqlite.gz TO.sqlite MEGABYTES

Repeats its events one after the other, with times and correlation ids of their own.
"""

import gzip
import sqlite3
import sys

source, target, megabytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
with gzip.open(source) as packed, open(target, "wb") as out:
    out.write(packed.read())
base = sqlite3.connect(target)
base.execute("pragma journal_mode = off")
base.execute("pragma synchronous = off")
tables = [name for (name,) in base.execute("select name from sqlite_schema where type = 'table'")]
columns = {table: [row[1] for row in base.execute(f'pragma table_info("{table}")')] for table in tables}
events = [table for table in tables if "start" in columns[table] and table != "TARGET_INFO_SESSION_START_TIME"]
length = max(base.execute(f'select max(max(start), max(coalesce("end", start))) from "{table}"').fetchone()[0] or 0 for table in events)
ids = max(base.execute(f'select max(correlationId) from "{table}"').fetchone()[0] or 0 for table in events if "correlationId" in columns[table])
moved = {"start": length + 1, "end": length + 1, "correlationId": ids + 1}
for table in events:
    base.execute(f'create temp table "once_{table}" as select * from "{table}"')
n = 0
while base.execute("pragma main.page_count").fetchone()[0] * base.execute("pragma page_size").fetchone()[0] < megabytes * 1_000_000:
    n += 1
    for table in events:
        values = ", ".join(f'"{name}" + {moved[name] * n}' if name in moved else f'"{name}"' for name in columns[table])
        base.execute(f'insert into main."{table}" select {values} from temp."once_{table}"')
base.commit()
