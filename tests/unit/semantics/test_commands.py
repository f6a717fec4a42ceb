"""Flags of a unit: what decides how the text is read stays, the rest goes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hipport.core import HipportError
from hipport.semantics import compile_flags, front_end_flags


def test_nvcc_command(tmp_path: Path) -> None:
    command = (
        "-forward-unknown-to-host-compiler -gencode arch=compute_80,code=sm_80 -O3 --expt-relaxed-constexpr"
        " -Iinc -I /abs -isystem third -DN=4 -D M --define-macro=K=1 -std=c++17 -Xcompiler -fPIC,-DX"
        " -x cu -c a.cu -o a.o"
    )
    assert front_end_flags(command.split(), tmp_path) == [
        "-I", f"{tmp_path}/inc", "-I", "/abs", "-isystem", f"{tmp_path}/third", "-DN=4", "-DM", "-DK=1",
        "-std=c++17", "-DX",
    ]  # fmt: skip


def test_two_word_standard_and_forced_include(tmp_path: Path) -> None:
    (tmp_path / "pre.h").write_text("")
    found = front_end_flags(["--std", "c++20", "-include", "pre.h", "-include", "system.h"], tmp_path)
    assert found == ["-std=c++20", "-include", f"{tmp_path}/pre.h", "-include", "system.h"]


def test_database(tmp_path: Path) -> None:
    database = tmp_path / "compile_commands.json"
    entries = [
        {"directory": str(tmp_path), "file": "a.cu", "command": 'nvcc -I"my inc" -c a.cu'},
        {"directory": str(tmp_path), "file": "b.cu", "arguments": ["nvcc", "-DB", "-c", "b.cu"]},
    ]
    database.write_text(json.dumps(entries))
    assert compile_flags(database, tmp_path / "a.cu") == ["-I", f"{tmp_path}/my inc"]
    assert compile_flags(database, tmp_path / "b.cu") == ["-DB"]
    assert compile_flags(database, tmp_path / "c.cu") is None


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"file": "a"}]'])
def test_bad_database(tmp_path: Path, text: str) -> None:
    database = tmp_path / "compile_commands.json"
    database.write_text(text)
    if text == "{}":
        assert compile_flags(database, tmp_path / "a.cu") is None
        return
    with pytest.raises(HipportError):
        compile_flags(database, tmp_path / "a.cu")
