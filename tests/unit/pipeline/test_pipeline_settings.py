from __future__ import annotations

import json
from pathlib import Path

import pytest

from hipport.cli.translate import merged_settings
from hipport.core import HipportError
from hipport.emit.manifest import options_from_json, options_to_json
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


def test_warp_models_of_files_and_kernels(tmp_path: Path) -> None:
    text = '[file_warp_models]\n"a/**" = "padded"\n"a/b.cu" = "native64"\n[kernel_warp_models]\nk = "logical32"\n'
    options = load_settings(write(tmp_path, text)).translate_options()
    assert options.file_warp_models == (("a/**", "padded"), ("a/b.cu", "native64"))
    assert options.kernel_warp_models == (("k", "logical32"),)
    assert options_from_json(json.loads(json.dumps(options_to_json(options)))) == options


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[file_warp_models]\n"a.cu" = "wave64"\n', "unknown warp model of 'a.cu': 'wave64'"),
        ('[kernel_warp_models]\nk = "Padded"\n', "unknown warp model of 'k': 'Padded'"),
        ("\n[kernel_warp_models]\nk = 64\n", "hipport.toml:2: kernel_warp_models must be a table of strings"),
        ('file_warp_models = "padded"\n', "hipport.toml:1: file_warp_models must be a table of strings"),
    ],
)
def test_mistakes_in_warp_models(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HipportError, match=message):
        load_settings(write(tmp_path, text)).translate_options()


def test_command_line_wins_over_the_tables(tmp_path: Path) -> None:
    path = write(tmp_path, '[file_warp_models]\n"**" = "padded"\n')
    assert merged_settings(path, {"rocm": None}).file_warp_models == (("**", "padded"),)
    assert merged_settings(path, {"warp_model": "logical32"}).file_warp_models == ()
