"""How things show themselves in notebooks."""

from __future__ import annotations

import html
import re
import shutil
import sys
import types
from pathlib import Path

import pytest
import tracedrop as td

from conftest import OTHER, PYTORCH, TRACE


@pytest.fixture(scope="module")
def trace() -> td.Trace:
    return td.open(PYTORCH / "small-bert-h100.json.gz")


def test_documents_are_frames_without_network(trace: td.Trace) -> None:
    for document in [trace, td.compare(TRACE, OTHER)]:
        bundle = document._repr_mimebundle_()
        frame = bundle["text/html"]
        assert frame.startswith('<iframe sandbox="allow-scripts" srcdoc="') and "allow-same-origin" not in frame
        page = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])  # type: ignore[index]
        assert page == document.to_html()
        assert "default-src 'none'" in page and not re.search(r'(src|href)="https?:', page)
        assert bundle["text/markdown"] == document.to_markdown()
    assert trace._repr_mimebundle_()["image/svg+xml"].startswith("<svg")


def test_tables_show_their_first_rows(trace: td.Trace) -> None:
    table = trace.report("gpu-cpu").tables["cpu"]
    bundle = table._repr_mimebundle_()
    assert f"{len(table) - 20:,} more rows" in bundle["text/markdown"] and f"{len(table) - 20:,} more rows" in bundle["text/html"]
    assert bundle["text/html"].count("<tr>") == 21


def test_names_of_traces_are_no_markup(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text('[{"name":"<script>alert(1)</script>|x","ph":"X","ts":0,"dur":1,"pid":1,"tid":1}]')
    trace = td.open(tmp_path / "trace.json")
    bundle = trace.report("slices").tables["slices"]._repr_mimebundle_()
    assert "<script>" not in bundle["text/html"] and "<script>" not in bundle["text/markdown"]
    assert "<script>alert" not in html.unescape(trace._repr_mimebundle_()["text/html"])


def test_the_magic_profiles_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    class Profile:
        def __init__(self, **options: object) -> None:
            assert options["record_shapes"]

        def __enter__(self) -> "Profile":
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def export_chrome_trace(self, path: str) -> None:
            shutil.copy(TRACE, path)

    class Shell:
        def __init__(self) -> None:
            self.magics: dict[str, object] = {}
            self.user_ns: dict[str, object] = {}

        def register_magic_function(self, function, kind: str) -> None:
            assert kind == "cell"
            self.magics[function.__name__] = function

        def run_cell(self, cell: str) -> types.SimpleNamespace:
            exec(cell, self.user_ns)
            return types.SimpleNamespace(success=True)

    torch = types.ModuleType("torch")
    torch.profiler = types.SimpleNamespace(profile=Profile)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", torch)
    shell = Shell()
    td.load_ipython_extension(shell)
    shown = shell.magics["tracedrop"]("mine", "x = 1 + 1")  # type: ignore[operator]
    assert shell.user_ns["x"] == 2 and shell.user_ns["mine"] is shown and shown.reports
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        shell.magics["tracedrop"]("", "x = 1")  # type: ignore[operator]
