"""Where the files of the tests are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
CORPUS = ROOT.parent / "shared" / "corpus"
#: The command that the wheel installed.
COMMAND = str(Path(sys.executable).parent / "tracedrop")

PYTORCH = DATA / "pytorch"
TRACE = PYTORCH / "compare-base.json.gz"
OTHER = PYTORCH / "compare-test.json.gz"
RANKS = sorted((PYTORCH / "dlrm8").glob("*.json.gz"))


def command(*args: object, input: bytes | None = None, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run the installed command."""
    return subprocess.run([COMMAND, *map(str, args)], input=input, capture_output=True, **options)  # type: ignore[call-overload]


def trace_files() -> list[Path]:
    """All files of the tests that may be traces, and those of the collection if it is there."""
    endings = (".json", ".gz", ".jsonl", ".bin", ".parquet", ".txt", ".zst", ".lz4", ".folded", ".pprof", ".cpuprofile")
    roots = [DATA / name for name in ("pytorch", "chrome", "sway", "pysampling", "stacks", "mrm", "situations", "speedscope")]
    if CORPUS.is_dir():
        roots.append(CORPUS)
    elif os.environ.get("TRACEDROP_REQUIRE_CORPUS"):
        raise RuntimeError(f"{CORPUS} is missing, and TRACEDROP_REQUIRE_CORPUS is set")
    found = [path for root in roots for path in sorted(root.rglob("*")) if path.is_file()]
    # Files of the repository are in the collection too.
    once = {(path.name, path.stat().st_size): path for path in found if path.name.endswith(endings)}
    return list(once.values())


@pytest.fixture(scope="session", autouse=True)
def installed() -> None:
    assert shutil.which(COMMAND), f"{COMMAND} is missing: the wheel is not installed"
