"""The [build] table and presets."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipport.build.settings import BuildSettings, read_settings
from hipport.core import HipportError, target_named


def write(folder: Path, text: str) -> Path:
    (folder / "hipport.toml").write_text(text, encoding="utf-8")
    return folder


def test_shipped_presets_name_known_targets_and_units(tmp_path: Path) -> None:
    presets = read_settings(tmp_path).presets
    assert {"demo", "sample", "layer_norm"} <= set(presets)
    assert presets["demo"].targets == ("gfx942",)
    assert len(presets["demo"].units) == 2
    assert len(presets["sample"].units) == 4
    assert len(presets["sample"].targets) == 2
    for preset in presets.values():
        assert preset.units
        for target in preset.targets:
            target_named(target)


def test_the_project_file_is_read_and_presets_overlay_it(tmp_path: Path) -> None:
    settings = read_settings(
        write(
            tmp_path,
            """
targets = ["gfx90a"]
[build]
targets = ["gfx942"]
include_dirs = ["csrc"]
defines = ["A=1"]
std = "c++20"
[build.preset.mine]
units = ["x/*"]
defines = ["B"]
""",
        )
    )
    assert settings.build == BuildSettings(targets=("gfx942",), include_dirs=("csrc",), defines=("A=1",), std="c++20")
    assert settings.preset("mine") == BuildSettings(
        targets=("gfx942",), include_dirs=("csrc",), defines=("A=1", "B"), std="c++20", units=("x/*",)
    )
    assert settings.preset("demo").targets == ("gfx942",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[build]\nincludes = []\n", r"\[build\] has no key 'includes'"),
        ("[build]\ndefines = 'A'\n", "defines must be a list of texts"),
        ("[build]\nstd = 17\n", "std must be text"),
        ("[build]\ntargets = ['sm_80']\n", "unknown target 'sm_80'"),
        ("build = 3\n", r"\[build\] must be a table"),
        ("[build.preset]\nx = 3\n", "x must be a table"),
        ("[build\n", "cannot read hipport.toml"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(HipportError, match=message):
        read_settings(write(tmp_path, text))


def test_an_unknown_preset_lists_the_known(tmp_path: Path) -> None:
    with pytest.raises(HipportError, match=r"choose from demo, .*flash_attn"):
        read_settings(tmp_path).preset("nope")
