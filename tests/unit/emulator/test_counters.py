"""Bank conflicts and coalescing are counted exactly: against closed forms and a model written down here once more."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from conftest import Compile
from numpy.typing import NDArray

from hipport.core import target_named
from hipport.emulator import Checks, Device, Module, Options, Statistics

pytestmark = pytest.mark.sdk

SOURCE = Path(__file__).with_name("counters.hip")
BANKS = {"gfx942": 32, "gfx950": 64, "gfx1100": 32}
LDS_BYTES = 32768
DWORDS = {"lds32": 1, "lds64": 2, "lds128": 4}


@pytest.fixture(scope="module", params=tuple(BANKS))
def module(compile_kernel: Compile, request: pytest.FixtureRequest) -> Module:
    device = Device(request.param, Options(checks=Checks.BANKS))
    return device.load(compile_kernel(SOURCE, request.param, "-O2"))


def lds(module: Module, kernel: str, offsets: NDArray[np.int32]) -> Statistics:
    lanes = module.device.target.wave_size
    result = module.launch(kernel, 1, lanes, [offsets[:lanes].copy()], dynamic_lds_bytes=LDS_BYTES)
    assert result.statistics.lds_accesses == 1
    return result.statistics


def expected_conflicts(target: str, offsets: NDArray[np.int32], n_dwords: int, lanes_on: set[int]) -> int:
    """Cycles beyond one per group of lanes: the most different dwords that one bank must give, less one."""
    banks, wave, extra = BANKS[target], target_named(target).wave_size, 0
    group = banks // n_dwords
    for first in range(0, wave, group):
        wanted: dict[int, set[int]] = {}
        for lane in range(first, first + group):
            if lane in lanes_on:
                for k in range(n_dwords):
                    dword = int(offsets[lane]) // 4 + k
                    wanted.setdefault(dword % banks, set()).add(dword)
        extra += max((len(dwords) for dwords in wanted.values()), default=1) - 1
    return extra


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 8, 16, 17, 32, 33, 64])
def test_strides_of_dwords(module: Module, stride: int) -> None:
    target = module.device.target
    banks = BANKS[target.name]
    offsets = (np.arange(64) * stride * 4).astype(np.int32)
    groups = target.wave_size // min(banks, target.wave_size)
    in_a_group = min(banks, target.wave_size)
    # Lanes l and l' meet in a bank when stride * (l - l') is a multiple of the number of banks.
    worst = math.ceil(in_a_group / (banks // math.gcd(stride, banks)))
    assert lds(module, "lds32", offsets).lds_conflict_cycles == groups * (worst - 1)


def test_one_dword_for_all_is_a_broadcast(module: Module) -> None:
    assert lds(module, "lds32", np.full(64, 400, np.int32)).lds_conflict_cycles == 0


@pytest.mark.parametrize("kernel", ["lds32", "lds64", "lds128"])
@pytest.mark.parametrize("pattern", ["rows", "padded rows", "same", "pairs", "random"])
def test_patterns_against_the_model(module: Module, kernel: str, pattern: str) -> None:
    n = DWORDS[kernel]
    lane = np.arange(64)
    offsets = {
        "rows": lane * 128,
        "padded rows": lane * (128 + 4 * n),
        "same": lane * 0 + 64,
        "pairs": lane // 2 * 4 * n,
        "random": np.random.default_rng(n).integers(0, 1000, 64) * 4 * n,
    }[pattern].astype(np.int32)
    expected = expected_conflicts(module.device.target.name, offsets, n, set(range(64)))
    assert lds(module, kernel, offsets).lds_conflict_cycles == expected


def test_lanes_that_are_off_take_no_part(module: Module) -> None:
    offsets = (np.arange(64) * 64 * 4).astype(np.int32)
    on = {lane for lane in range(64) if lane & 3}
    expected = expected_conflicts(module.device.target.name, offsets, 1, on)
    assert lds(module, "lds32_some", offsets).lds_conflict_cycles == expected
    assert expected < lds(module, "lds32", offsets).lds_conflict_cycles


@pytest.mark.parametrize(
    ("offset_of", "segments", "least"),
    [
        (lambda lane, n: lane * 4, lambda n: n // 16, lambda n: n // 16),
        (lambda lane, n: lane * 4 + 4, lambda n: n // 16 + 1, lambda n: n // 16),
        (lambda lane, n: (n - 1 - lane) * 4, lambda n: n // 16, lambda n: n // 16),
        (lambda lane, n: lane * 8, lambda n: n // 8, lambda n: n // 16),
        (lambda lane, n: lane * 64, lambda n: n, lambda n: n // 16),
        (lambda lane, n: lane * 64 + 62, lambda n: n + 1, lambda n: n // 16),  # each lies across a border
        (lambda lane, n: lane * 0 + 128, lambda n: 1, lambda n: 1),
        (lambda lane, n: lane % 2 * 4096 + lane // 2 * 4, lambda n: 2 * (n // 32), lambda n: n // 16),
    ],
    ids=["unit", "shifted", "reversed", "every other", "one each", "across", "same", "two runs"],
)
def test_segments_of_64_bytes(module: Module, offset_of: object, segments: object, least: object) -> None:
    n = module.device.target.wave_size
    offsets = np.asarray(offset_of(np.arange(n), n), np.int32)  # type: ignore[operator]
    data = np.zeros(8192, np.uint8)
    s = module.launch("global32", 1, n, [offsets, data]).statistics
    own = n // 16  # the load of the offsets
    assert s.global_accesses == 2
    assert s.global_segments - own == segments(n)  # type: ignore[operator]
    assert s.global_minimum - own == least(n)  # type: ignore[operator]
