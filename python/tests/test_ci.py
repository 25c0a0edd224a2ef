"""The CI examples: what they run, and that their files are sound."""

from __future__ import annotations

import http.server
import json
import os
import re
import subprocess
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

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


WHEELS = sorted((ROOT / "target" / "wheels" / "dev").glob("tracedrop-*.whl"))
PATH = f"{Path(COMMAND).parent}{os.pathsep}{os.environ['PATH']}"
LIMITS = "gpu.busy > -100000%\ngpu.work > 100000%\n"

#: Stands for GitHub's program: writes down its arguments and the comment, and knows the comments of a folder.
GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$FAKE/calls"
for word in "$@"; do case $word in body=@*) cp "${word#body=@}" "$FAKE/body";; esac; done
case "$*" in *--jq*) cat "$FAKE/comments" 2>/dev/null || true;; *) [ ! -e "$FAKE/refuse" ];; esac
"""


class GitHub:
    """Runs the steps of the action in a shell, as a runner does."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.folder = folder
        self.action = yaml.safe_load((FOLDER / "action.yml").read_text())
        self.values = {f"inputs.{name}": str(given.get("default", "")) for name, given in self.action["inputs"].items()}
        self.values |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        self.values |= {"github.token": "secret", "github.event.pull_request.number": "7"}
        fake = folder / "fake"
        fake.mkdir(parents=True)
        (fake / "gh").write_text(GH)
        (fake / "gh").chmod(0o755)
        self.environment = os.environ | {"FAKE": str(fake), "PATH": f"{fake}{os.pathsep}{PATH}", "GITHUB_ACTION_PATH": str(FOLDER)}
        self.environment |= {"GITHUB_REPOSITORY": "a/b", "RUNNER_TEMP": str(folder / "temp")}
        for name in ("PATH", "OUTPUT", "STEP_SUMMARY"):
            (folder / name).touch()
            self.environment[f"GITHUB_{name}"] = str(folder / name)

    def run(self) -> tuple[int, str]:
        """The exit code of the job, and what it printed."""
        printed = ""
        for step in self.action["runs"]["steps"]:
            if "run" not in step or (step["name"].startswith("Install") and not WHEELS):
                continue
            environment = self.environment | {
                name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values[found[1]], value) for name, value in step.get("env", {}).items()
            }
            ran = subprocess.run(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.folder, env=environment, capture_output=True, text=True,
            )
            printed += ran.stdout + ran.stderr
            if ran.returncode:
                return ran.returncode, printed
            outputs = (line.partition("=") for line in (self.folder / "OUTPUT").read_text().splitlines())
            self.values |= {f"steps.{step.get('id')}.outputs.{name}": value for name, _, value in outputs}
            added = (self.folder / "PATH").read_text().split()
            self.environment["PATH"] = os.pathsep.join([str(self.folder / "fake"), *added, PATH])
        return 0, printed


@pytest.mark.parametrize(("before", "says"), [("", "repos/a/b/issues/7/comments --field"), ("41\n", "PATCH repos/a/b/issues/comments/41")])
def test_the_action_comments_once_and_fails_on_limits(before: str, says: str, tmp_path: Path) -> None:
    package = str(WHEELS[0]) if WHEELS else "tracedrop"
    job = GitHub(tmp_path, before=str(TRACE), after=str(OTHER), fail_on=LIMITS, package=package)
    (tmp_path / "fake" / "comments").write_text(before)
    code, printed = job.run()
    assert code == 3, printed
    assert says in (tmp_path / "fake" / "calls").read_text().splitlines()[-1]
    report = (tmp_path / "tracedrop-report" / "comparison.md").read_text()
    assert (tmp_path / "fake" / "body").read_text() == f"<!-- tracedrop -->\n{report}" and (tmp_path / "STEP_SUMMARY").read_text() == report
    if WHEELS:
        assert str(tmp_path / "temp") in (tmp_path / "PATH").read_text()


def test_a_fork_may_not_comment_and_a_long_comparison_is_cut(tmp_path: Path) -> None:
    job = GitHub(tmp_path, before=str(TRACE), after=str(OTHER), fail_on="", package=str(WHEELS[0]) if WHEELS else "")
    (tmp_path / "fake" / "refuse").touch()
    code, printed = job.run()
    assert code == 0 and "::warning::Tracedrop could not comment" in printed
    (tmp_path / "tracedrop-report" / "comparison.md").write_text("## Long\n" + "é" * 100_000)
    (tmp_path / "fake" / "refuse").unlink()
    environment = job.environment | {"NUMBER": "7"}
    assert subprocess.run(["bash", str(FOLDER / "comment.sh")], cwd=tmp_path, env=environment).returncode == 0
    body = (tmp_path / "fake" / "body").read_text()
    assert len(body.encode()) < 65_536 and body.endswith("The rest is in the artifact of this run.\n")


def test_a_file_that_cannot_be_read_fails_the_action(tmp_path: Path) -> None:
    job = GitHub(tmp_path, before=str(TRACE), after="missing.json", fail_on=LIMITS, package=str(WHEELS[0]) if WHEELS else "")
    code, printed = job.run()
    assert code == 1 and "missing.json: cannot be opened" in printed


def test_the_gitlab_job_posts_the_changes_and_fails_on_limits(tmp_path: Path) -> None:
    posted: list[tuple[str, str | None, str]] = []

    class Server(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]
            posted.append((self.path, self.headers["PRIVATE-TOKEN"], body))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    job = yaml.safe_load((FOLDER / "gitlab.yml").read_text())[".tracedrop"]
    server = http.server.HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    script = "\n".join(job["script"])
    # The command of the tests stands for the installed one.
    assert script.startswith('pip install --quiet "$PACKAGE"\n')
    environment = os.environ | job["variables"] | {
        "PATH": PATH, "BEFORE": str(TRACE), "AFTER": str(OTHER), "FAIL_ON": LIMITS, "COMPARE": str(FOLDER / "compare.sh"),
        "TRACEDROP_TOKEN": "secret", "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_ID": "1", "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}",
    }
    ran = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script.partition("\n")[2]], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    server.shutdown()
    assert ran.returncode == 3, ran.stderr
    report = (tmp_path / "tracedrop-report" / "comparison.md").read_text()
    assert posted == [("/projects/1/merge_requests/7/notes", "secret", report)]
    (junit,) = [tmp_path / job["artifacts"]["reports"]["junit"]]
    assert ET.parse(junit).getroot().get("failures") == "1"


def test_the_files_name_what_exists() -> None:
    action = (FOLDER / "action.yml").read_text()
    used = set(re.findall(r"inputs\.([\w-]+)", action))
    declared = set(re.findall(r"^  ([\w-]+):\n    description:", action, re.M))
    assert used == declared
    # Inputs reach the shell as variables only, so that none of them can be run.
    for script in re.findall(r"run: (?:\|\n((?:        .*\n)+)|(.*)\n)", action):
        assert "${{" not in "".join(script)
    assert "compare.sh" in action and "comment.sh" in action and "compare.sh" in (FOLDER / "gitlab.yml").read_text()
