"""The JSON of the command fits its published schema, which allows nothing else."""

from __future__ import annotations

import json

import jsonschema

from conftest import DATA, OTHER, PYTORCH, RANKS, ROOT, TRACE, command

SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text())
#: A file of each kind of report.
FILES = [
    TRACE,
    PYTORCH / "alexnet-a100-sync.json.gz",
    PYTORCH / "triton-a100.json.gz",
    *sorted((DATA / "chrome").glob("hand_*.json")),
    *sorted((DATA / "pysampling").glob("*.jsonl"))[:3],
    *sorted((DATA / "sway").glob("*.jsonl"))[:3],
    *sorted((DATA / "stacks").glob("*.folded"))[:3],
    *sorted((DATA / "mrm" / "inputs").glob("*.txt"))[:3],
]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_reports_and_comparisons_fit() -> None:
    validator = jsonschema.Draft202012Validator(SCHEMA)
    printed = [
        command("report", "--quiet", "--where", "", "--format", "json", "--", *FILES),
        command("report", "--quiet", "--together", "--format", "json", "--", *RANKS),
        command("compare", "--quiet", "--format", "json", TRACE, OTHER),
    ]
    documents = [json.loads(one.stdout) for one in printed]
    n_reports = 0
    for document in [*documents[0], *documents[1:]]:
        errors = [f"{document['title']}: {error.json_path}: {error.message[:300]}" for error in validator.iter_errors(document)]
        assert not errors, errors[:3]
        n_reports += len(document["reports"])
    assert n_reports > 60


def test_the_schema_is_strict() -> None:
    document = json.loads(command("report", "--quiet", "--format", "json", TRACE).stdout)
    validator = jsonschema.Draft202012Validator(SCHEMA)
    assert validator.is_valid(document)
    document["reports"][0]["more"] = 1
    assert not validator.is_valid(document)
