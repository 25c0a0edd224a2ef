"""Examples of the documentation work as typed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import COMMAND, DATA, PYTORCH, RANKS, ROOT

#: Files of the examples, and what stands for them.
FILES = {
    "trace.json.gz": PYTORCH / "small-bert-h100.json.gz",
    "trace.json": DATA / "chrome" / "ferrum_decode.json",
    "big.json": DATA / "chrome" / "hand_counters.json",
    "rank0.json.gz": RANKS[0],
    "rank1.json.gz": RANKS[1],
    "before.json.gz": PYTORCH / "small-bert-h100.json.gz",
    "after.json.gz": PYTORCH / "small-bert-h100.json.gz",
}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, source in FILES.items():
        shutil.copy(source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", ["docs/python.md", "docs/fleet.md", "python/README.md"])
def test_python_examples(page: str, folder: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(page, "python"):
        # The folder has one file of a kind for several purposes.
        block = block.replace('only="1.5s..2s", top', 'only="0..2s", top').replace('window="1.5s..2s"', 'window="0..2s"')
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("page", ["docs/python.md", "docs/fleet.md", "docs/agents.md"])
def test_commands(page: str, folder: Path) -> None:
    if not (ROOT / page).exists():
        pytest.skip(page)
    for line in "".join(blocks(page, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] != "tracedrop" or words[1] == "mcp":
            continue
        ran = subprocess.run([COMMAND, *words[1:]], capture_output=True, text=True)
        assert ran.returncode == 0, f"{line}: {ran.stderr}"
