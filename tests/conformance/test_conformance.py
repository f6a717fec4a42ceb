"""CUDA programs through `hipport run` print what the reference printed, on every target."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conformance_compare import differences

from hipport.core.target import TARGETS

HERE = Path(__file__).parent
OWN = HERE / "programs"
# Outputs that an NVIDIA H200 printed (CUDA 13.0, nvcc -arch=sm_90 -std=c++17 -O2). ``unseen`` was written by one who
# knew nothing of the translator.
RECORDED = {path.stem: path.parent for folder in ("warp", "unseen") for path in (HERE / folder).glob("*.cu")}
SHARED = Path(os.environ.get("HIPPORT_CONFORMANCE") or HERE.parents[2] / "shared" / "conformance")
FIRST_TARGETS = ("gfx90a", "gfx942")


def exceptions() -> dict[tuple[str, str], str]:
    rows = (HERE / "exceptions.tsv").read_text().splitlines()
    cells = [row.split("\t") for row in rows if row and not row.startswith(("#", "program\t"))]
    return {(program, target): reason for program, target, reason in cells}


def names(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.cu") if path.with_suffix(".out").is_file())


def run(source: Path, target: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hipport", "run", str(source), "--target", target, *arguments]
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=600, check=False)


def check(folder: Path, name: str, target: str) -> None:
    done = run(folder / f"{name}.cu", target)
    found = differences(name, done.stdout, (folder / f"{name}.out").read_text())
    passed = not found and done.returncode == 0
    reason = exceptions().get((name, target))
    if reason is not None:
        assert not passed, f"{name} passes on {target}: remove its row from exceptions.tsv"
        pytest.xfail(reason)
    assert passed, "\n".join([*found[:5], f"exit code {done.returncode}", done.stderr[-2000:]])


@pytest.mark.sdk
@pytest.mark.parametrize("target", FIRST_TARGETS)
@pytest.mark.parametrize("name", names(OWN))
def test_own_programs(name: str, target: str) -> None:
    check(OWN, name, target)


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", sorted(set(TARGETS) - set(FIRST_TARGETS)))
@pytest.mark.parametrize("name", names(OWN))
def test_own_programs_on_the_other_targets(name: str, target: str) -> None:
    check(OWN, name, target)


@pytest.mark.sdk
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_programs(name: str) -> None:
    check(RECORDED[name], name, "gfx942")


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", sorted(set(TARGETS) - {"gfx942"}))
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_recorded_programs_on_the_other_targets(name: str, target: str) -> None:
    check(RECORDED[name], name, target)


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.skipif(not names(SHARED), reason="no programs in HIPPORT_CONFORMANCE or ../shared/conformance")
@pytest.mark.parametrize("target", FIRST_TARGETS)
@pytest.mark.parametrize("name", names(SHARED) or ["none"])
def test_reference_programs(name: str, target: str) -> None:
    check(SHARED, name, target)


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.skipif(
    "a15_texture" not in names(SHARED), reason="no a15_texture in HIPPORT_CONFORMANCE or ../shared/conformance"
)
@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_reference_textures_on_rdna(target: str) -> None:
    check(SHARED, "a15_texture", target)


@pytest.mark.sdk
def test_arguments_reach_the_program_and_its_exit_code_comes_back() -> None:
    done = run(OWN / "histogram.cu", "gfx942", "--", "16")
    assert done.returncode == 0
    assert sum(map(int, done.stdout.splitlines()[0].split())) > 0
    assert run(OWN / "histogram.cu", "gfx942", "--", "-1").returncode == 3
    assert run(OWN / "histogram.cu", "gfx942", "--", "-2").returncode == 128 + 6  # ended by SIGABRT


def test_comparison_rules() -> None:
    assert differences("p", "a: 1\nx_ok: 1 2.0001e+00\n", "a: 1\nx_ok: 1 2.0000e+00\n") == []
    assert differences("p", "x_ok: 1 2.01\n", "x_ok: 1 2.00\n") == ["line 1: got 'x_ok: 1 2.01', want 'x_ok: 1 2.00'"]
    assert differences("p", "x_ok: 0 2.00\n", "x_ok: 1 2.00\n") != []
    assert differences("p", "v: 2.0001\n", "v: 2.0000\n") != []  # only beside a flag
    assert differences("p", "a\n", "a\nb\n") == ["1 lines, want 2"]
    assert differences("a16_flash_simt", "first_row: 9\n", "first_row: 1\n") == []
    assert differences("a01_shuffle", "first_row: 9\n", "first_row: 1\n") != []


def test_every_exception_names_a_program_and_a_target() -> None:
    known = {*names(OWN), *names(SHARED)}
    for (program, target), reason in exceptions().items():
        assert target in TARGETS
        assert " " in reason
        assert program in known or not names(SHARED), program
