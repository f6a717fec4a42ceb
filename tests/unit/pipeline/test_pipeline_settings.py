from __future__ import annotations

from pathlib import Path

import pytest

from hipport.core import HipportError
from hipport.pipeline.settings import Settings, load_settings, parse_rocm


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "hipport.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_defaults_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings() == Settings()


def test_nearest_file_upwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, 'targets = ["gfx1100", "gfx942"]\nout = "hip"\n')
    (tmp_path / "a/b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a/b")
    settings = load_settings()
    assert settings.targets == ("gfx1100", "gfx942")
    assert settings.folder / settings.out == tmp_path / "hip"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('\n# c\ntargest = ["gfx942"]\n', r"hipport.toml:3: unknown setting 'targest'"),
        ('a = 1\n[translate]\nout = "x"\n', r"hipport.toml:1: unknown setting 'a'"),
        ('out = "x"\n[translate]\nout = "x"\n', r"hipport.toml:2: unknown setting 'translate'"),
        ("targets = 'gfx942'\n", r"hipport.toml:1: targets must be a list of strings"),
        ("\nrename = 1\n", r"hipport.toml:2: rename must be a true or false"),
        ("jobs = true\n", r"hipport.toml:1: jobs must be a whole number"),
        ("out = \n", r"hipport.toml: Invalid value \(at line 1"),
    ],
)
def test_mistakes_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HipportError, match=message):
        load_settings(write(tmp_path, text))


def test_tables_of_other_stages_are_left_to_them(tmp_path: Path) -> None:
    assert load_settings(write(tmp_path, '[build]\nstd = "c++17"\n')).targets == Settings().targets


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "hipport.toml").write_bytes(b'out = "\xff"\n')
    with pytest.raises(HipportError, match="not UTF-8"):
        load_settings(tmp_path / "hipport.toml")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(targets=("sm_80",)), "unknown target 'sm_80'"),
        (Settings(targets=()), "no target"),
        (Settings(warp_model="wave64"), "unknown warp model 'wave64'"),
        (Settings(launch="ggl"), "unknown launch style 'ggl'"),
        (Settings(rocm="six"), "not a ROCm version"),
    ],
)
def test_values_are_checked(settings: Settings, message: str) -> None:
    with pytest.raises(HipportError, match=message):
        settings.translate_options()


def test_rocm_version() -> None:
    assert parse_rocm("6.4") == parse_rocm("6.4.3") == (6, 4)


def test_rule_folder_must_exist(tmp_path: Path) -> None:
    with pytest.raises(HipportError, match="does not exist"):
        Settings(rules=("absent",), folder=tmp_path).rule_folders()
