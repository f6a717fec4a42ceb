"""The CuTe GEMM of examples/, translated by its own pack, built and run on the emulator, against float64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hipport.core.files import include_root
from hipport.hiprt.build import build_runtime
from hipport.hiprt.launch import RunOptions, runtime_environment
from hipport.hiprt.program import ProgramPlan, build_program
from hipport.sdk import find_sdk

pytestmark = [pytest.mark.corpus, pytest.mark.sdk]
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/cute_gemm"
CUTLASS = ROOT / "upstream_cuda/csrc/cutlass/include"


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The translated example, with the CUTLASS headers that it includes."""
    if not CUTLASS.is_dir():
        pytest.skip("the upstream sources are not here: hipport upstream sync")
    out = tmp_path_factory.mktemp("gemm")
    for source, name, more in (
        (EXAMPLE / "gemm.cu", "gemm", ["--rules", str(EXAMPLE / "rules")]),
        (CUTLASS, "cutlass", []),
    ):
        command = [
            sys.executable,
            "-m",
            "hipport",
            "translate",
            str(source),
            "--out",
            str(out / name),
            "--quiet",
            *more,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
    return out


def bits(values: NDArray[np.float32], bf16: bool) -> NDArray[np.uint16]:
    """16-bit patterns of values that need no rounding."""
    if bf16:
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return values.astype(np.float16).view(np.uint16)


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_product(folder: Path, target: str) -> None:
    sdk = find_sdk()
    runtime = build_runtime(sdk)
    own = include_root()
    places = (own / "hipport/cute/overlay", own, folder / "cutlass")
    flags = ("-O3", "-w", *(f"-I{place}" for place in places))
    program = build_program(ProgramPlan(folder / "gemm", ("gemm.cu",), target, flags), sdk, runtime)
    environment = {**os.environ, **runtime_environment(runtime, RunOptions(target=target, checks="all"))}
    random = np.random.default_rng(7)
    for bf16 in (False, True):
        m, n, k = 128, 64, 320  # more tiles along k than the ring has places
        # Multiples of 1/64 below 2: exact in both types, so that only the order of fp32 sums is free.
        a, b = (random.integers(-127, 128, shape).astype(np.float32) / 64 for shape in ((m, k), (n, k)))
        request = np.array([bf16, m, n, k], np.int32).tobytes() + bits(a, bf16).tobytes() + bits(b, bf16).tobytes()
        done = subprocess.run([str(program)], input=request, capture_output=True, env=environment, check=False)
        assert done.returncode == 0, done.stderr.decode()
        c = np.frombuffer(done.stdout, np.float32).reshape(m, n)
        # Products are multiples of 2**-12 and sums stay below 2**11: every fp32 sum is exact.
        np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64).T)
