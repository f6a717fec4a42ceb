"""What the documentation shows is true: commands exist, links lead somewhere, examples do what they say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from hipport.cli.main import COMMANDS, main
from hipport.core import SourceFile, TranslateOptions
from hipport.emit.patches import unified_diff
from hipport.rewrite import translate_source
from hipport.rulebook import load_rulebook

ROOT = Path(__file__).parents[3]
PAGES = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "generated_hip/README.md"]


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def mentioned() -> list[tuple[str, ...]]:
    """Command words after ``hipport`` in every page: one, or two where the first is a group."""
    groups = {"edits", "cache", "sdk", "upstream"}
    found = set()
    for page in PAGES:
        for match in re.finditer(r"(?<![\w./-])(?:\.venv/bin/)?hipport ([a-z]+)(?: ([a-z]+))?", text(page)):
            if match[1] in COMMANDS:
                found.add((match[1], match[2]) if match[1] in groups and match[2] else (match[1],))
    return sorted(found)


@pytest.mark.parametrize("words", mentioned(), ids=" ".join)
def test_commands_exist(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*words, "--help"])
    assert left.value.code == 0
    assert "Usage: hipport" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_options_exist(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command, options in re.findall(r"hipport (translate|diff|report) [^\n`]*?((?: --[a-z-]+[^\n`]*)+)", text(page)):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        shown = capsys.readouterr().out
        for option in re.findall(r" (--[a-z-]+)", options):
            assert option in shown, f"{page}: hipport {command} {option}"


@pytest.mark.parametrize("page", PAGES)
def test_links_and_paths_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", text(page)):
        assert ((ROOT / page).parent / target).exists(), target
    for path in re.findall(r"`((?:hipport|rules|tests|scripts|docs)/[\w./-]+)`", text(page)):
        if not re.search(r"NAME|HPnnn|AREA", path):
            assert (ROOT / path).exists(), f"{page}: {path}"


def test_the_before_and_after_is_real() -> None:
    """Every changed line of the README's diff is one of the golden tree's diff."""
    golden = ROOT / "tests/golden/row_norm"
    before = (golden / "input/src/row_norm.cu").read_bytes()
    after = (golden / "expected/src/row_norm.cu").read_bytes()
    real = unified_diff(before, after, "a", "b", context=100).decode().splitlines()
    (shown,) = re.findall(r"```diff\n(.*?)```", text("README.md"), re.DOTALL)
    lines = [line for line in shown.splitlines() if line and line != "@@"]
    assert len([line for line in lines if line[0] in "+-"]) >= 8
    for line in lines:
        assert line in real


def test_the_settings_shown_are_settings(tmp_path: Path) -> None:
    from hipport.pipeline.settings import load_settings

    (shown,) = re.findall(r"```toml\n(.*?)```", text("README.md"), re.DOTALL)
    (tmp_path / "hipport.toml").write_text(shown, encoding="utf-8")
    assert load_settings(tmp_path / "hipport.toml").targets == ("gfx942", "gfx1100")


def test_the_rule_of_the_guide_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    (shown,) = re.findall(r"```toml\n(.*?)```", text("CONTRIBUTING.md"), re.DOTALL)
    rule = re.sub(r"^   ", "", shown, flags=re.MULTILINE)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/HP150-old-timer-call.toml").write_text(rule, encoding="utf-8")
    book = load_rulebook((tmp_path / "rules",))
    examples = tomllib.loads(rule)["example"]
    assert len(examples) == 2
    for example in examples:
        before = example.get("before", example.get("keep"))
        result = translate_source(SourceFile("a.cu", before.encode()), book, TranslateOptions())
        assert result.output.decode() == example.get("after", before)
