"""The viewer in notebooks: ``tracedrop.html``, the page as a single file, in a sandboxed frame.

One output of a notebook holds the viewer, which is megabytes; the outputs of other cells refer to it by its checksum.
``_view.js`` is the part that runs in the notebook.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

from ._tracedrop import TracedropError

#: Limit on the data that one output gets, in bytes.
MAX_BYTES = 50_000_000
HEIGHT_PX = 640
#: Environment variable with the path of the viewer.
VARIABLE = "TRACEDROP_VIEWER"
#: Pictures larger than this stay out of the summary.
MAX_PICTURE_BYTES = 200_000
MAX_FINDINGS = 5

#: Parts of the viewer without report ids of their own.
SCREENS = ("flame", "timeline")

#: The run of a cell that sent a viewer, by the viewer's checksum.
_sent: dict[str, tuple[str | None, str | None]] = {}


def page(path: str | os.PathLike[str] | None) -> str:
    """The viewer: the file at ``path``, else that of the environment variable, else the one in the package.

    :raises TracedropError: There is none, or the file is something else.
    """
    given = path or os.environ.get(VARIABLE)
    try:
        text = Path(given).read_text("utf-8") if given else (files(__package__) / "tracedrop.html").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if given:
            raise TracedropError(f"{os.fspath(given)}: cannot be read as the viewer, tracedrop.html: {error}") from None
        raise TracedropError(
            "this build of the package has no viewer; run `make dist`, then pass viewer='dist/tracedrop.html' "
            f"or set {VARIABLE} to that path"
        ) from None
    if '<meta name="tracedrop-files"' not in text:
        raise TracedropError(f"{os.fspath(given or 'tracedrop.html')}: not the viewer; it is tracedrop.html in `dist` after `make dist`")
    return text


def checksum_of(viewer: str) -> str:
    return hashlib.sha256(viewer.encode()).hexdigest()[:16]


def cell(shell: Any) -> tuple[str | None, str | None]:
    """Id of the cell that runs, and of this run of it; ``None`` where the notebook doesn't say."""
    get = getattr(shell, "get_parent", None)
    message = get() if get else {}
    return message.get("metadata", {}).get("cellId"), message.get("header", {}).get("msg_id")


def is_due(checksum: str, now: tuple[str | None, str | None]) -> bool:
    """Whether the output of this run has to hold the viewer.

    A cell that held it and runs again loses its output, so it holds the viewer again.
    """
    before = _sent.get(checksum)
    return before is None or (before[0] is not None and before[0] == now[0] and before[1] != now[1])


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def data_of(document: Any) -> tuple[list[tuple[str, bytes]], str]:
    """Files for the viewer, each with its name, and what they lack, as a sentence.

    A Tracedrop file with an index has everything but arguments, also of compressed files that are gone. Several traces have no index:
    they go as they are, if no option changes how they are read.
    """
    name = f"{document.title}.tracedrop"
    try:
        return [(name, document.export("tracedrop", with_index=True))], ""
    except TracedropError:
        pass
    paths = getattr(document, "_unchanged", ())
    try:
        if paths and sum(os.path.getsize(path) for path in paths) <= MAX_BYTES:
            return [(os.path.basename(path), Path(path).read_bytes()) for path in paths], ""
    except OSError:
        # A folder, or files that are gone.
        pass
    note = "" if not hasattr(document, "events") else "Only the reports: this trace has no index, which the timeline and flame graphs need."
    return [(name, document.export("tracedrop"))], note


def summary(document: Any) -> str:
    """HTML for where scripts are stripped: title, findings, warnings and a picture."""
    lines = [finding.text for finding in document.findings[:MAX_FINDINGS]] + document.warnings[:MAX_FINDINGS]
    if not lines:
        lines = [report.summary for report in document.reports if report.summary][:MAX_FINDINGS]
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    try:
        picture = document.export("svg") or b""
    except TracedropError:
        picture = b""
    drawn = ""
    if 0 < len(picture) <= MAX_PICTURE_BYTES:
        drawn = f'<img alt="Charts of the report" src="data:image/svg+xml;base64,{encoded(picture)}">'
    return f"<p><strong>{html.escape(document.title)}</strong></p><ul>{items}</ul>{drawn}"


def output(document: Any, report: str | None, height: int, viewer: str, *, holds_viewer: bool) -> dict[str, str]:
    """Representations of the viewer with a document.

    :raises TracedropError: The data exceeds :data:`MAX_BYTES`.
    :raises KeyError: There is no such report.
    """
    if report is not None and report not in SCREENS:
        document.report(report)
    given, note = data_of(document)
    size = sum(len(content) for _, content in given)
    if size > MAX_BYTES:
        raise TracedropError(
            f"{document.title}: {size / 1e6:,.0f} MB are too large for a notebook, whose limit is {MAX_BYTES / 1e6:,.0f} MB; "
            'view a part, as in td.open(path, only="1.5s..2s").view(), or open the trace on the page'
        )
    checksum = checksum_of(viewer)
    attributes = {
        "viewer": checksum,
        "label": f"Tracedrop: {document.title}",
        "report": report or "",
        "height": str(int(height)),
    }
    named = " ".join(f'data-{name}="{html.escape(value, quote=True)}"' for name, value in attributes.items())
    parts = [
        f'<div class="tracedrop-view" {named}>',
        f'<div data-part="summary">{summary(document)}</div><p data-part="status" role="status"></p>',
        *(f'<script type="application/octet-stream" data-name="{html.escape(name, quote=True)}">{encoded(data)}</script>' for name, data in given),
        f"{f'<p>{html.escape(note)}</p>' if note else ''}</div>",
    ]
    if holds_viewer:
        # Nothing in a string of JSON without "<" can end the script.
        text = json.dumps(viewer).replace("<", "\\u003c")
        parts.append(
            f'<script>(globalThis.tracedropViewers ??= {{}})["{checksum}"] ??= '
            f'URL.createObjectURL(new Blob([{text}], {{ type: "text/html" }})); dispatchEvent(new Event("tracedrop-viewer"));</script>'
        )
    parts.append(f"<script>{(files(__package__) / '_view.js').read_text('utf-8')}</script>")
    bundle = {
        "text/plain": f"<Viewer of {document.title}: shown in notebooks>",
        "text/markdown": document.to_markdown(),
        "text/html": "\n".join(parts),
    }
    try:
        bundle["image/svg+xml"] = document.export("svg").decode()
    except TracedropError:
        pass
    return bundle


def show(document: Any, report: str | None, height: int, viewer: str | os.PathLike[str] | None, with_viewer: bool) -> None:
    """Display the viewer in the cell that runs.

    :raises TracedropError: No notebook, no viewer, or too much data.
    """
    try:
        from IPython import get_ipython
        from IPython.display import display

        shell = get_ipython()
    except ImportError:
        shell = None
    if shell is None:
        raise TracedropError("the viewer is shown in notebooks; elsewhere, use export('html', path) or `tracedrop report`")
    text = page(viewer)
    checksum = checksum_of(text)
    now = cell(shell)
    holds_viewer = with_viewer or is_due(checksum, now)
    display(output(document, report, height, text, holds_viewer=holds_viewer), raw=True)
    if holds_viewer:
        _sent[checksum] = now
