"""Temporal and kernel breakdown of a PyTorch profile: python breakdowns.py hta FILE, or python breakdowns.py tracedrop REPORT

The first asks HolisticTraceAnalysis, the second reads what `tracedrop report FILE --report gpu-breakdown --report gpu-kernels
--format json` printed. Both print the same JSON for the same answer: idle, compute and other time of the GPU in microseconds; how
many kernels; and a checksum of all their names with sum, mean, least and most.
"""

import hashlib
import json
import logging
import sys


def said(idle: float, compute: float, other: float, kernels: list[tuple[str, float, float, float, float]]) -> None:
    """Print the answer. Times are microseconds."""
    lines = [f"{name}\t{total:.0f}\t{mean:.3f}\t{least:.0f}\t{most:.0f}" for name, total, mean, least, most in sorted(kernels)]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    times = {"idle_us": round(idle), "compute_us": round(compute), "other_us": round(other)}
    print(json.dumps(times | {"kernels": len(kernels), "digest": digest}))


def with_hta(path: str) -> None:
    logging.disable(logging.CRITICAL)
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: path})
    temporal = analysis.get_temporal_breakdown(visualize=False).iloc[0]
    # All of them: by default it merges those after the tenth of each kind.
    _, names = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=1_000_000, duration_ratio=1.0)
    columns = ["name", "sum (us)", "mean (us)", "min (us)", "max (us)"]
    kernels = [tuple(row) for row in names[columns].itertuples(index=False)]
    said(temporal["idle_time(us)"], temporal["compute_time(us)"], temporal["non_compute_time(us)"], kernels)


def with_tracedrop(path: str) -> None:
    with open(path) as file:
        reports = {report["id"]: report for report in json.load(file)["reports"]}

    def rows(report: str, table: str) -> list[dict]:
        found = next(block for block in reports[report]["blocks"] if block["type"] == "table" and block.get("id") == table)
        return [dict(zip([column["id"] for column in found["columns"]], row)) for row in found["rows"]]

    parts = {row["part"]: row["time"] / 1000 for row in rows("gpu-breakdown", "breakdown")}
    us = [
        (row["name"], row["total"] / 1000, row["total"] / row["count"] / 1000, row["min"] / 1000, row["max"] / 1000)
        for row in rows("gpu-kernels", "kernels")
    ]
    other = parts.get("exposed communication", 0) + parts.get("exposed copies", 0)
    said(parts["idle"], parts["computation"], other, us)


if __name__ == "__main__":
    {"hta": with_hta, "tracedrop": with_tracedrop}[sys.argv[1]](sys.argv[2])
