"""Uses everything that users see, for a type checker; not run."""

from __future__ import annotations

from pathlib import Path

import tracedrop as td
from tracedrop import fleet


def progress(doing: str, share: float | None) -> None:
    print(doing, share)


t: td.Trace = td.open("trace.json.gz", progress=progress, top=50, only="1s..2s")
together = td.open([Path("rank0.json"), "rank1.json"], together=True)

by_position: td.Report = t.reports[0]
by_id: td.Report = t.reports["gpu-kernels"]
some: list[td.Report] = t.reports[:2]
is_there: bool = "gpu-kernels" in t.reports
for report in t.reports:
    print(report.id, report.title, report.summary, report.warnings, report.notes, report.findings)
    for name, table in report.tables.items():
        column: td.Column = table.columns[0]
        print(name.upper(), column.unit, column.key, table.units["total"], table.rows_left_out + 1, table.num_rows)
        print(table.column_names, table.title, table.caption)
    fact: td.Fact = report.facts["gpu_time"]
    print(fact.value, fact.unit, fact.mark)
kernels: td.Table = t.report("gpu-kernels").tables["by_name"]
for row in kernels:
    print(row["name"])
print(kernels["total"], len(kernels), kernels.to_pandas(), kernels.to_polars(), kernels.to_arrow())
for finding in t.findings:
    text: str = finding.text
    time_ns: int | None = finding.time_ns
    share: float | None = finding.share
    print(finding.evidence[0].label, finding.rows)
account: td.Report = t.account
events: td.Events = t.events()
flows = t.events("flows", args=False)
print(flows.kind, flows["from"])
print(t.sql("select 1").df(), td.sql("select 1", t), td.sql("select 1", "trace.json", only="1s..2s"))
print(t.source[0]["format"].value, t.shortfall, t.messages, t.title, t.warnings)

c: td.Comparison = td.compare("before.json", t, phase="decode")
lists = td.compare(["a", "b"], ["c", "d"])
metrics: dict[str, str] = c.metrics
limits: list[td.Limit] = c.check("gpu.busy > 3%", "slices.slices.self < 1")
print(limits[0].exceeded, limits[0].why, limits[0].state, limits[0].text)
try:
    c.fail_on("gpu.busy > 3%")
except td.LimitExceeded as error:
    print(error)
except td.TracedropError as error:
    print(error)

content: bytes = t.export("html")
t.export("html", "report.html")
t.export("chrome-trace", Path("part.json"), window="0..1s", redact=["paths"])
markdown: str = t.to_markdown() + c.to_json() + t.to_html()
formats: dict[str, str] = td.export_formats()
kinds: dict[str, str] = td.event_kinds()
left_out: list[str] = t.left_out
t.view()
t.view("gpu-kernels", height=900)

added: fleet.Added = fleet.add(["rank0.json"], run="monday", dataset=Path("fleet"), build="v1", jobs=3, top=5)
fleet.add("rank0.json", run="monday", dataset="fleet", progress=lambda n, of: print(n / of))
print(added.added, fleet.connect("fleet"), td.__version__, fleet.TABLES["files"])
parts: dict[str, list[str]] = fleet.parts("fleet")
