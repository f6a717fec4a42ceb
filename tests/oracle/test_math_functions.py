"""The device library's math functions, compiled for each target and emulated, against numpy in double precision.

Tolerances in units in the last place: OpenCL C 3.0, relative errors of the full profile, which AMD's library keeps.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_tables import MANUAL

from hipport.emulator import Device
from hipport.sdk import find_sdk

pytestmark = [pytest.mark.sdk, pytest.mark.slow]
SOURCE = Path(__file__).with_name("math.hip")
N = 2048
Values = NDArray[np.float64]
# function: reference, tolerance, range of the arguments (None: the whole line of numbers)
FUNCTIONS: dict[str, tuple[Callable[..., Values], float, float | None]] = {
    "sin": (np.sin, 4, 1e4),
    "cos": (np.cos, 4, 1e4),
    "tan": (np.tan, 5, 1e4),
    "asin": (np.arcsin, 4, 1.0),
    "acos": (np.arccos, 4, 1.0),
    "atan": (np.arctan, 5, None),
    "atan2": (np.arctan2, 6, 1e6),
    "sinh": (np.sinh, 4, 80.0),
    "cosh": (np.cosh, 4, 80.0),
    "tanh": (np.tanh, 5, 20.0),
    "exp": (np.exp, 3, 80.0),
    "exp2": (np.exp2, 3, 120.0),
    "expm1": (np.expm1, 3, 80.0),
    "log": (np.log, 3, None),
    "log2": (np.log2, 3, None),
    "log10": (np.log10, 3, None),
    "log1p": (np.log1p, 2, 1e6),
    "pow": (np.power, 16, 12.0),
    "sqrt": (np.sqrt, 0.5, None),
    "cbrt": (np.cbrt, 2, None),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2, None),
    "hypot": (np.hypot, 4, 1e6),
    "fmod": (np.fmod, 0, 1e3),
    "remainder": (lambda x, y: x - y * np.round(x / y), 0, 1e3),
    "ldexp": (lambda x, y: np.ldexp(x, np.trunc(y * 4).astype(int)), 0.5, 20.0),
    "nextafter": (np.nextafter, 0, 1e6),
    "round": (lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x), 0, 1e6),
    "division": (np.divide, 0.5, 1e6),
}
TWO = ("atan2", "pow", "hypot", "fmod", "remainder", "ldexp", "nextafter", "division")


@cache
def compiled(target: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.co"
        sdk = find_sdk()
        command = [
            str(sdk.clang),
            *sdk.device_flags(target),
            "-O3",
            "-ffp-contract=off",
            "-c",
            str(SOURCE),
            "-o",
            str(out),
        ]
        subprocess.run(command, check=True, capture_output=True)
        return out.read_bytes()


def arguments(name: str, dtype: type, limit: float | None) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "little"))
    if limit is None:
        top = 37.0 if dtype is np.float32 else 300.0
        x = 10.0 ** rng.uniform(-top, top, N)
        x *= rng.choice([-1, 1], N) if name in ("atan", "cbrt") else 1
    else:
        x = rng.uniform(-limit, limit, N) * 10.0 ** rng.uniform(-6, 0, N)
    y = rng.uniform(-1, 1, N) * (limit or 1.0)
    if name in ("pow", "log1p"):
        x = np.abs(x)
    return x.astype(dtype), np.where(y == 0, 1, y).astype(dtype)


@pytest.mark.parametrize("target", MANUAL)
def test_math_functions(target: str) -> None:
    module = Device(target).load(compiled(target))
    wrong = []
    for name, (function, tolerance, limit) in FUNCTIONS.items():
        for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
            x, y = arguments(name, dtype, limit)
            got = np.zeros(N, dtype)
            module.launch(f"{name}_{kind}", N // 256, 256, [x, y, got, np.int32(N)])
            # Singles against doubles; doubles against numpy's own, which may be a unit off itself.
            wide = [v.astype(np.float64) for v in ((x, y) if name in TWO else (x,))]
            if name == "nextafter":
                want = np.nextafter(x, y).astype(np.float64)
            elif name == "remainder" and kind == "f64":
                continue  # x / y would have to be exact
            else:
                with np.errstate(all="ignore"):
                    want = function(*wide)
            slack = 1.0 if kind == "f64" and tolerance > 0.5 else 0.0
            with np.errstate(all="ignore"):
                want = np.where(np.abs(want) > np.finfo(dtype).max, np.copysign(np.inf, want), want)
                unit = np.spacing(np.abs(want).astype(dtype)).astype(np.float64)
                error = np.where(got == want, 0, np.abs(got.astype(np.float64) - want) / unit)
            bad = ~((error <= tolerance + slack) | (np.isnan(got) & np.isnan(want)))
            if bad.any():
                k = int(np.flatnonzero(bad)[0])
                call = f"{name}_{kind}({x[k]!r}, {y[k]!r}) = {got[k]!r}"
                wrong.append(f"{call}, not {want[k]!r}: {error[k]} ulp, {bad.sum()} in all")
    assert wrong == []


def widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bfloat(x: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Nearest even; NaN stays a NaN."""
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.where(np.isnan(x), 0x7FC0, rounded).astype(np.uint16)


BFLOAT: dict[str, Callable[..., NDArray[np.float32]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "less": lambda a, b: np.where(a < b, a, b),
    "negate": lambda a, b: -a,
    "chain": lambda a, b: widened(to_bfloat(a * b)) - a,
    "integer": lambda a, b: np.trunc(np.where((a > -100) & (a < 100), a, 1)) + np.float32(0),
}


@pytest.mark.parametrize("target", MANUAL)
def test_bfloat_arithmetic(target: str) -> None:
    module = Device(target).load(compiled(target))
    rng = np.random.default_rng(1)
    bits = [rng.integers(0, 1 << 16, N).astype(np.uint16) for _ in range(2)]
    near = to_bfloat(rng.normal(0, 3, (2, N)).astype(np.float32))
    x, y = (np.where(rng.random(N) < 0.5, b, m) for b, m in zip(bits, near, strict=True))
    wrong = []
    for name, function in BFLOAT.items():
        got = np.zeros(N, np.uint16)
        module.launch(f"bf16_{name}", N // 256, 256, [x, y, got, np.int32(N)])
        with np.errstate(all="ignore"):
            want = to_bfloat(function(widened(x), widened(y)))
        bad = (got != want) & ~(np.isnan(widened(got)) & np.isnan(widened(want)))
        wrong += [f"{name}({x[k]:#x}, {y[k]:#x}) = {got[k]:#x}, not {want[k]:#x}" for k in np.flatnonzero(bad)[:1]]
    single = rng.integers(0, 1 << 32, N, dtype=np.uint32).view(np.float32)
    got = np.zeros(N, np.uint16)
    module.launch("bf16_from_f32", N // 256, 256, [single, single, got, np.int32(N)])
    want = to_bfloat(single)
    assert ((got == want) | (np.isnan(widened(got)) & np.isnan(single))).all()
    assert wrong == []


def test_every_function_is_there() -> None:
    text = SOURCE.read_text()
    assert all(f"BOTH({name}," in text for name in FUNCTIONS)
