"""The command: formats, exit codes, baselines, suppression; SARIF has what the standard requires."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from hipport.cli.lint import command

GUARD = "int f(cudaDeviceProp& p) { return p.warpSize != 32; }\n"
LAST = "__device__ float g(float x) { return __shfl_sync(~0u, x, 31); }\n"
FINE = "__device__ float h(float x) { return __shfl_xor_sync(~0u, x, 1); }\n"

# The properties that SARIF 2.1.0 (sections 3.13 to 3.58) requires of what we write, and the values that it allows.
_TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
_PHYSICAL = {
    "type": "object",
    "required": ["artifactLocation"],
    "properties": {
        "artifactLocation": {
            "type": "object",
            "required": ["uri"],
            "properties": {"uri": {"type": "string", "pattern": r"^(?!/)[^\s\\:]+$"}},
        },
        "region": {
            "type": "object",
            "required": ["startLine"],
            "properties": {
                "startLine": {"type": "integer", "minimum": 1},
                "startColumn": {"type": "integer", "minimum": 1},
            },
        },
    },
}
_LOCATION = {"type": "object", "properties": {"physicalLocation": _PHYSICAL, "message": _TEXT}}
_RESULT = {
    "type": "object",
    "required": ["message", "ruleId", "ruleIndex", "level", "kind"],
    "properties": {
        "message": _TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
        "locations": {"type": "array", "items": _LOCATION, "minItems": 1},
        "codeFlows": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["threadFlows"],
                "properties": {
                    "threadFlows": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "required": ["locations"],
                            "properties": {"locations": {"type": "array", "minItems": 1}},
                        },
                    }
                },
            },
        },
    },
    # 3.27.10: where the kind is not "fail", the level is "none".
    "if": {"properties": {"kind": {"const": "fail"}}},
    "else": {"properties": {"level": {"const": "none"}}},
}
_RULE = {
    "type": "object",
    "required": ["id", "shortDescription", "help"],
    "properties": {
        "id": {"pattern": "^HP[0-9]{3}$"},
        "shortDescription": _TEXT,
        "fullDescription": _TEXT,
        "help": _TEXT,
    },
}
_DRIVER = {
    "type": "object",
    "required": ["name"],
    "properties": {"rules": {"type": "array", "items": _RULE, "uniqueItems": True}},
}
SARIF = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {"type": "object", "required": ["driver"], "properties": {"driver": _DRIVER}},
                    "results": {"type": "array", "items": _RESULT},
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                },
            },
        },
    },
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "guard.cu").write_text(GUARD)
    (tmp_path / "src" / "last.cu").write_text(LAST)
    (tmp_path / "src" / "fine.cu").write_text(FINE)
    (tmp_path / "notes.txt").write_text("warpSize")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments, standalone_mode=False, catch_exceptions=True)


def found(*arguments: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run(*arguments, "--json").stdout)
    return result


def test_text_names_place_verdict_reason_and_fix(tree: Path) -> None:
    text = run("src").stdout
    assert "src/guard.cu:1:35: wrong on wave64 HP226: p.warpSize != 32" in text
    assert "fix: pass the width 32" in text
    assert "fine.cu" not in text
    assert "src/fine.cu:1:38: safe on both HP220" in run("src", "--all").stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("src",), 1),
        (("src/last.cu",), 0),
        (("src/last.cu", "--fail-on", "safe-on-logical32-only"), 1),
        (("src/fine.cu", "--fail-on", "safe-on-logical32-only"), 0),
        (("src", "--fail-on", "never"), 0),
    ],
)
def test_exit_codes(tree: Path, arguments: tuple[str, ...], code: int) -> None:
    assert run(*arguments).return_value == code


@pytest.mark.parametrize("arguments", [("nothing",), ("notes.txt", "--write-baseline"), ("src", "--baseline", "none")])
def test_bad_input_says_so(tree: Path, arguments: tuple[str, ...]) -> None:
    from hipport.core import HipportError

    error = run(*arguments).exception
    assert isinstance(error, HipportError)
    assert error.exit_code == 2
    assert error.next_step


def test_quiet_shows_what_fails_only(tree: Path) -> None:
    text = run("src", "--quiet").stdout
    assert "guard.cu" in text
    assert "last.cu" not in text


def test_json(tree: Path) -> None:
    data = found("src")
    assert data["files"] == 3
    assert data["verdicts"] == {
        "wrong on wave64": 1, "cannot tell": 0, "safe on logical32 only": 1, "safe on both": 1,
    }  # fmt: skip
    assert [f["path"] for f in data["findings"]] == ["src/fine.cu", "src/guard.cu", "src/last.cu"]
    assert str(tree) not in json.dumps(data)


def test_sarif(tree: Path) -> None:
    run("src", "--format", "sarif", "--file", "a.sarif")
    log = json.loads((tree / "a.sarif").read_text())
    jsonschema.validate(log, SARIF)
    results, rules = log["runs"][0]["results"], log["runs"][0]["tool"]["driver"]["rules"]
    assert [r["level"] for r in results] == ["none", "error", "note"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in results)
    assert {r["id"]: r["shortDescription"]["text"] for r in rules}["HP220"] == "Shuffle between lanes"
    assert run("src", "--format", "sarif").stdout == (tree / "a.sarif").read_text()
    assert str(tree) not in (tree / "a.sarif").read_text()


def test_baseline_keeps_known_findings_quiet(tree: Path) -> None:
    assert run("src", "--baseline", "known.json", "--write-baseline").return_value == 0
    assert run("src", "--baseline", "known.json").return_value == 0
    (tree / "src" / "guard.cu").write_text("\n\n" + GUARD)
    assert run("src", "--baseline", "known.json").return_value == 0, "moved, still the same"
    (tree / "src" / "guard.cu").write_text(GUARD + GUARD)
    assert run("src", "--baseline", "known.json").return_value == 1, "one more of the same"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (GUARD.rstrip() + " // hipport: ignore[HP226] only built for RDNA\n", []),
        ("// hipport: ignore[HP220, HP226] only built for RDNA\n" + GUARD, []),
        ("/* hipport: ignore[HP226] only built for RDNA */\n" + GUARD, []),
        (GUARD.rstrip() + " // hipport: ignore[HP226]\n", ["HP226", "HP231"]),
        (GUARD.rstrip() + " // hipport: ignore[] because\n", ["HP226", "HP231"]),
        (GUARD.rstrip() + " // hipport: ignore[HP220] another id\n", ["HP226"]),
        ("// hipport: ignore[HP226] too far away\n\n" + GUARD, ["HP226"]),
    ],
)
def test_suppression(tree: Path, text: str, ids: list[str]) -> None:
    (tree / "src" / "guard.cu").write_text(text)
    data = found("src/guard.cu")
    assert [f["id"] for f in data["findings"]] == ids
    assert data["suppressed"] == (not ids)


def test_every_id_is_documented(tree: Path) -> None:
    from hipport.rulebook import load_rulebook

    ids = {*(f"HP{n}" for n in range(220, 233)), *(f"HP{n}" for n in range(210, 219))}
    assert [i for i in sorted(ids) if load_rulebook().explain(i) is None] == []


def test_same_bytes_twice_and_in_any_order(tree: Path) -> None:
    assert run("src", "--json").stdout == run("src/last.cu", "src/guard.cu", "src/fine.cu", "--json").stdout
