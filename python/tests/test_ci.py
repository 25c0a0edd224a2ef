"""The CI examples: what they run, and that their files are sound."""

from __future__ import annotations

import os
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

from conftest import COMMAND, OTHER, ROOT, TRACE

FOLDER = ROOT / "examples" / "ci"


def compare(out: Path, fail_on: str) -> int:
    path = f"{Path(COMMAND).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"BEFORE": str(TRACE), "AFTER": str(OTHER), "FAIL_ON": fail_on, "OUT": str(out), "PATH": path}
    return subprocess.run(["bash", str(FOLDER / "compare.sh")], env=environment, capture_output=True).returncode


def test_the_script_writes_all_and_fails_on_limits(tmp_path: Path) -> None:
    assert compare(tmp_path / "a", "gpu.busy > 100000%\n\n") == 0
    assert compare(tmp_path / "b", "gpu.busy > -100000%\ngpu.work > 100000%\n") == 3
    assert compare(tmp_path / "c", "nothing > 1") == 2
    assert compare(tmp_path / "d", "") == 0
    for folder, n_tests, n_failed in [("a", 2, 0), ("b", 3, 1)]:
        assert (tmp_path / folder / "comparison.md").read_text().startswith("## ")
        assert (tmp_path / folder / "comparison.html").read_text().startswith("<!")
        suite = ET.parse(tmp_path / folder / "junit.xml").getroot()
        assert (suite.get("tests"), suite.get("failures")) == (str(n_tests), str(n_failed))


def test_the_files_name_what_exists() -> None:
    action = (FOLDER / "action.yml").read_text()
    used = set(re.findall(r"inputs\.([\w-]+)", action))
    declared = set(re.findall(r"^  ([\w-]+):\n    description:", action, re.M))
    assert used == declared
    # Inputs reach the shell as variables only, so that none of them can be run.
    for script in re.findall(r"run: (?:\|\n((?:        .*\n)+)|(.*)\n)", action):
        assert "${{" not in "".join(script)
    assert "compare.sh" in action and "compare.sh" in (FOLDER / "gitlab.yml").read_text()
