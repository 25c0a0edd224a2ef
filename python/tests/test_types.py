"""The types of the package are complete, as a type checker sees them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_types_of_what_users_write(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path}", str(Path(__file__).with_name("typed.py"))],
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout
