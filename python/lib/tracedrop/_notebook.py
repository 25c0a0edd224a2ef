"""How documents and tables show themselves in notebooks, and the magic ``%%tracedrop``."""

from __future__ import annotations

import html
import os
import tempfile
from typing import Any

#: A page larger than this stays out of the notebook; its Markdown is shown instead.
MAX_PAGE_BYTES = 4 << 20
#: Rows of a table.
MAX_ROWS = 20
HEIGHT_PX = 640


def frame(page: str) -> str:
    """A self-contained page in a frame that may run its own script and nothing else: no network, no access to the notebook."""
    source = html.escape(page, quote=True)
    return (
        f'<iframe sandbox="allow-scripts" srcdoc="{source}" title="Tracedrop report" '
        f'style="width: 100%; height: {HEIGHT_PX}px; border: 1px solid #8884; background: #fff"></iframe>'
    )


def of_document(document: Any) -> dict[str, str]:
    """Representations of a trace or a comparison."""
    bundle = {"text/plain": repr(document), "text/markdown": document.to_markdown()}
    page = document.to_html()
    if len(page) <= MAX_PAGE_BYTES:
        bundle["text/html"] = frame(page)
    try:
        # Where scripts are stripped, as on code hosting sites, a picture stays.
        bundle["image/svg+xml"] = document.export("svg").decode()
    except ValueError:
        pass
    return bundle


def shown(value: Any, unit: str) -> str:
    """A cell for people."""
    if value is None:
        return "–"
    if unit == "ratio" and isinstance(value, float):
        return f"{value:.1%}"
    if unit in ("ns", "ns_offset") and isinstance(value, int):
        for limit, divisor, name in ((1e3, 1, "ns"), (1e6, 1e3, "µs"), (1e9, 1e6, "ms")):
            if abs(value) < limit:
                return f"{value / divisor:.4g} {name}"
        return f"{value / 1e9:.4g} s"
    if unit == "count" and isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def of_table(title: str, columns: list[str], units: dict[str, str], rows: list[list[Any]], n_rows: int) -> dict[str, str]:
    """Representations of a table of which `rows` are the first ones."""
    cells = [[shown(value, units[column]) for column, value in zip(columns, row)] for row in rows]
    more = f"{n_rows - len(rows):,} more rows" if n_rows > len(rows) else ""

    def escaped(text: str) -> str:
        return html.escape(text).replace("|", "\\|").replace("\n", " ")

    lines = [f"**{escaped(title)}**", "", "| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(map(escaped, row)) + " |" for row in cells]
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in cells)
    table = f"<table><caption>{html.escape(title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return {
        "text/markdown": "\n".join([*lines, "", more]).rstrip(),
        "text/html": table + (f"<p>{more}</p>" if more else ""),
    }


def profiled(line: str, cell: str, shell: Any) -> Any:
    """``%%tracedrop``: profile a cell with ``torch.profiler``, and show the report. The trace is in the variable that the line names,
    or ``trace``."""
    try:
        from torch import profiler
    except ImportError:
        raise ImportError("%%tracedrop needs PyTorch, whose profiler records the cell: pip install torch") from None
    from . import open

    with profiler.profile(record_shapes=True, with_stack=True) as recorded:
        result = shell.run_cell(cell)
    if not result.success:
        return None
    path = os.path.join(tempfile.mkdtemp(prefix="tracedrop-"), "cell.json")
    recorded.export_chrome_trace(path)
    trace = open(path)
    shell.user_ns[line.strip() or "trace"] = trace
    return trace
