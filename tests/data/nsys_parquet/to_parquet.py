"""Writes the tables of an SQLite export of Nsight Systems as `nsys export -t parquetdir` does: a Parquet file each, in a tar archive.

    python to_parquet.py made_odd.sqlite made_odd.tar

Needs pyarrow. Codecs and sizes of row groups vary by table, so that readers see all of them. Tables are in the order of their rows in the database.
The files here were made from databases after `VACUUM INTO`, which puts the pages of a table one after the other, so that both are
read in one order; where that makes a difference, the database is here too.
"""

import io
import sqlite3
import sys
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq

CODECS = ["zstd", "snappy", "none"]
TYPES = {"INTEGER": pa.int64(), "REAL": pa.float64(), "BLOB": pa.binary()}


def column_of(database, table, name, declared):
    kind = TYPES.get((declared or "").upper(), pa.string())
    values = [row[0] for row in database.execute(f'SELECT "{name}" FROM "{table}" ORDER BY rowid')]
    if kind != pa.binary() and kind != pa.string():
        # SQLite holds values of any type in any column.
        of_kind = (int, float) if kind == pa.float64() else int
        values = [value if isinstance(value, of_kind) else None for value in values]
    if kind == pa.string():
        values = [value if isinstance(value, str) or value is None else None for value in values]
    return pa.array(values, kind)


def main(source, target):
    database = sqlite3.connect(f"file:{source}?mode=ro", uri=True)
    database.text_factory = lambda data: data.decode(errors="replace")
    tables = [row[0] for row in database.execute("SELECT name FROM dbstat WHERE pagetype = 'leaf' GROUP BY name ORDER BY min(pageno)")]
    tables.remove("sqlite_schema")
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as archive:
        for i, table in enumerate(tables):
            columns = database.execute(f'PRAGMA table_info("{table}")').fetchall()
            content = {c[1]: column_of(database, table, c[1], c[2]) for c in columns}
            out = io.BytesIO()
            pq.write_table(
                pa.table(content), out, compression=CODECS[i % 3], row_group_size=[1_000_000, 7, 100][i % 3], store_schema=False
            )
            info = tarfile.TarInfo(f"{table}.parquet")
            info.size = out.tell()
            out.seek(0)
            archive.addfile(info, out)


main(*sys.argv[1:])
