"""The viewer in notebooks; tests/browser/notebook.mjs runs it in JupyterLab."""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path

import pytest
import tracedrop as td
from tracedrop import _view

from conftest import DATA, OTHER, PYTORCH, TRACE

PAGE = '<!doctype html><meta name="tracedrop-files" data-version="0"><script>const page = "\\é</script>'


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_view, "_sent", {})
    monkeypatch.delenv(_view.VARIABLE, raising=False)


def test_the_viewer_is_held_once() -> None:
    def runs(cell: str | None, run: str) -> bool:
        due = _view.is_due("viewer", (cell, run))
        if due:
            _view._sent["viewer"] = (cell, run)
        return due

    assert runs("a", "1") and not runs("a", "1") and not runs("b", "2")
    assert runs("a", "3"), "its output was replaced"
    assert not runs("b", "4") and not runs(None, "5")
    assert _view.is_due("another viewer", ("b", "6"))
    _view._sent.clear()
    assert runs(None, "1") and not runs(None, "2"), "a notebook without ids of cells"


def shown(document: td.Trace | td.Comparison, tmp_path: Path, **options: bool) -> tuple[str, list[Path]]:
    """Markup for a notebook, and the files in it."""
    bundle = _view.output(document, None, 640, PAGE, **{"holds_viewer": False, **options})
    assert bundle["text/markdown"] == document.to_markdown()
    held = re.findall(r'data-name="([^"]*)">([^<]*)</script>', bundle["text/html"])
    paths = [tmp_path / f"held-{n}-{Path(html.unescape(name)).name}" for n, (name, _) in enumerate(held)]
    for path, (_, data) in zip(paths, held):
        path.write_bytes(base64.b64decode(data))
    return bundle["text/html"], paths


@pytest.mark.parametrize("name", ["pytorch/small-bert-h100.json.gz", "chrome/ferrum_decode.json"])
def test_the_output_holds_what_was_read(name: str, tmp_path: Path) -> None:
    trace = td.open(DATA / name)
    markup, [path] = shown(trace, tmp_path)
    again = td.open(path)
    assert [report.id for report in again.reports] == [report.id for report in trace.reports]
    assert again.findings == trace.findings
    assert len(again.events("slices")) == len(trace.events("slices"))
    assert "new Blob" not in markup


def test_ranks_are_held_as_they_are(tmp_path: Path) -> None:
    together = [TRACE, OTHER]
    _, paths = shown(td.open(together, together=True), tmp_path)
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in together]
    # The viewer would read them otherwise.
    markup, [path] = shown(td.open(together, together=True, top=3), tmp_path)
    assert path.suffix == ".tracedrop" and "<p>Only the reports: this trace has no index" in markup


def test_options_of_the_trace_apply(tmp_path: Path) -> None:
    trace = td.open(TRACE, top=3, only="0..5ms")
    _, [path] = shown(trace, tmp_path)
    assert len(td.open(path).events("slices")) == len(trace.events("slices"))


def test_comparisons_and_reports_without_a_trace(tmp_path: Path) -> None:
    comparison = td.compare(TRACE, OTHER)
    markup, [path] = shown(comparison, tmp_path)
    assert "Only the reports" not in markup
    again = td.open(path)
    assert [finding.text for finding in again.findings] == [finding.text for finding in comparison.findings]
    shown(again, tmp_path)
    # Only totals of its events were kept.
    shown(td.open(TRACE, hold=100), tmp_path)


def test_the_summary_stays_where_scripts_are_stripped(tmp_path: Path) -> None:
    trace = td.open(PYTORCH / "small-bert-h100.json.gz")
    markup, _ = shown(trace, tmp_path, holds_viewer=True)
    left = re.sub(r"<script.*?</script>", "", markup, flags=re.S)
    assert "<script" not in left and len(left) < 300_000
    assert trace.findings[0].text.split("<")[0][:20] in left and "data:image/svg+xml;base64," in left


def test_the_viewer_is_a_string_that_nothing_in_it_ends(tmp_path: Path) -> None:
    markup, _ = shown(td.open(TRACE), tmp_path, holds_viewer=True)
    text = re.search(r'new Blob\(\[(".*?")\], ', markup)[1]  # type: ignore[index]
    assert "<" not in text and json.loads(text) == PAGE


def test_names_of_files_are_no_markup(tmp_path: Path) -> None:
    path = tmp_path / '"><script>alert(1)<!--.json'
    path.write_text('[{"name":"<script>alert(2)</script>","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}]')
    markup, _ = shown(td.open(path), tmp_path)
    assert "<script>alert" not in markup and '"><script>alert' not in markup


def test_errors_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = td.open(TRACE)
    with pytest.raises(td.TracedropError, match="shown in notebooks; elsewhere, use export"):
        trace.view()
    with pytest.raises(td.TracedropError, match="missing.html: cannot be read as the viewer"):
        _view.page(tmp_path / "missing.html")
    (tmp_path / "other.html").write_text("<p>another page</p>")
    with pytest.raises(td.TracedropError, match="other.html: not the viewer; it is tracedrop.html"):
        _view.page(tmp_path / "other.html")
    monkeypatch.setenv(_view.VARIABLE, str(tmp_path / "other.html"))
    with pytest.raises(td.TracedropError, match="other.html: not the viewer"):
        _view.page(None)
    (tmp_path / "viewer.html").write_text(PAGE, "utf-8")
    assert _view.page(tmp_path / "viewer.html") == PAGE
    with pytest.raises(KeyError, match="no report 'nothing'; there are: "):
        _view.output(trace, "nothing", 640, PAGE, holds_viewer=False)
    _view.output(trace, "timeline", 640, PAGE, holds_viewer=False)
    monkeypatch.setattr(_view, "MAX_BYTES", 1000)
    with pytest.raises(td.TracedropError, match=r"too large for a notebook.*view a part"):
        _view.output(trace, None, 640, PAGE, holds_viewer=False)


def test_a_package_without_the_viewer_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_view, "files", lambda _: tmp_path)
    with pytest.raises(td.TracedropError, match="has no viewer; run `make dist`, then pass viewer="):
        _view.page(None)
