"""Lanes, LDS, atomics, calls, scratch, synchronisation between workgroups, output and float state, against numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Compile
from numpy.typing import NDArray

from hipport.core import target_named
from hipport.emulator import Checks, Device, Module, Options

pytestmark = pytest.mark.sdk

SOURCE = Path(__file__).with_name("features.hip")
SLOW = [pytest.param(t, marks=pytest.mark.slow) for t in ("gfx90a", "gfx950", "gfx1201")]


@pytest.fixture(scope="module", params=["gfx942", "gfx1100", *SLOW])
def module(request: pytest.FixtureRequest, compile_kernel: Compile) -> Module:
    # The wave size is what HIP compiles for; every check is on: correct kernels must raise no alarm.
    options = Options(checks=Checks.ALL, max_instructions=200_000_000)
    return Device(request.param, options).load(compile_kernel(SOURCE, request.param, "-O3"))


def run(module: Module, kernel: str, grid: Any, block: Any, args: list[Any], **more: Any) -> None:
    result = module.launch(kernel, grid, block, args, **more)
    assert not result.findings, [f.format() for f in result.findings]


def wave(module: Module) -> int:
    return module.device.target.wave_size


def test_lanes(module: Module) -> None:
    n = wave(module)
    rng = np.random.default_rng(1)
    v = rng.integers(0, 1000, n, dtype=np.int32)
    out = np.zeros((n, 16), np.int32)
    run(module, "lanes", 1, n, [v, out])
    t = np.arange(n)
    bits = sum(1 << int(k) for k in t[v & 1 == 1])
    same16 = (t & ~15) + (t * 3) % 16
    shr = np.where(t % 16 == 0, -1, v[np.maximum(t - 1, 0)])
    expected = [
        np.full(n, v[7]),
        v[t ^ 5],
        np.where(t >= 3, v[np.maximum(t - 3, 0)], v),
        np.where(t + 9 < n, v[np.minimum(t + 9, n - 1)], v),
        v[same16],
        np.full(n, np.uint32(bits & 0xFFFFFFFF).astype(np.int32)),
        np.full(n, np.uint32(bits >> 32).astype(np.int32)),
        np.full(n, 2),
        np.full(n, v[0]),
        t,
        v[t ^ 1],
        v[t ^ 17],
        v[t ^ 9],
        shr,
        v[t ^ 2],
        v[(t & ~7) + 7 - (t & 7)],
    ]
    for k, want in enumerate(expected):
        assert (out[:, k] == want).all(), (k, out[:, k], want)


def test_lanes_in_divergent_branches(module: Module) -> None:
    n = wave(module)
    v = np.arange(n, dtype=np.int32) * 11 + 5
    out = np.zeros(n, np.int32)
    run(module, "lanes_divergent", 1, n, [v, out])
    t = np.arange(n)
    inside = t % 3 == 0
    source = (t + 6) % n
    shuffled = np.where(inside[source], v[source], 0)  # a lane that is off gives 0 through ds_bpermute
    assert (out[inside & inside[source]] == (shuffled + inside.sum() * 1000)[inside & inside[source]]).all()
    assert (out[~inside] == -v[1]).all()


@pytest.mark.parametrize("block", [64, 256, 1024])
def test_block_reduction(module: Module, block: int) -> None:
    x = np.random.default_rng(2).standard_normal(20000).astype(np.float32)
    out = np.zeros(7, np.float32)
    run(module, "block_reduce", 7, block, [x, out, np.int32(x.size)], dynamic_lds_bytes=block * 4)
    index = np.arange(x.size) // block % 7
    for g in range(7):
        assert out[g] == pytest.approx(x[index == g].astype(np.float64).sum(), abs=1e-3)


def test_transpose_with_partial_tiles(module: Module) -> None:
    n = 37
    x = np.random.default_rng(3).integers(0, 1 << 60, (n, n), dtype=np.uint64)
    out = np.zeros((n, n), np.uint64)
    run(module, "transpose", (3, 3), (16, 16), [x, out, np.int32(n)])
    assert (out == x.T).all()


def test_narrow_and_wide_lds(module: Module) -> None:
    x = np.random.default_rng(4).integers(0, 256, 256, dtype=np.uint8)
    out = np.zeros(256, np.uint8)
    run(module, "lds_bytes", 1, 256, [x, out])
    t = np.arange(256)
    q = (t * 7) & 63
    wide = q + 2 * (q + 1) + 3 * (q + 2) + 5 * (q + 3)
    assert (out == (x[t ^ 1] + x[255 - t].astype(int) * 3 + wide).astype(np.uint8)).all()


def test_atomics(module: Module) -> None:
    u, i = np.zeros(11, np.uint32), np.zeros(2, np.int32)
    u[2], u[4], u[1] = 5000, 0xFFFFFFFF, 10000
    wide, f, d = np.zeros(4, np.uint64), np.zeros(2, np.float32), np.zeros(2)
    old = np.zeros(256, np.uint32)
    run(module, "atomics", 4, 64, [u, i, wide, f, d, old])
    t = np.arange(256)
    assert sorted(old) == list(t)
    assert list(u[:7]) == [256, 10000 - 512, 745, 255, 0, 0xFFFFFFFF, np.bitwise_xor.reduce(t)]
    assert u[7] == 256 % 10
    dec = 0
    for _ in t:
        dec = 9 if dec == 0 or dec > 9 else dec - 1
    assert (u[8], u[9], u[10]) == (dec, 77, 256 * 3)
    assert list(i) == [50 - 255, 205]
    assert list(wide[:3]) == [256 << 33, 255 << 40, 0xFFFFFFFFFFFFFFFF]
    assert wide[3] == (1 << 64) - 1  # x -> 2 x + 1, 256 times
    assert (f == [128.0, 256.0]).all()
    assert (d == [64.0, 256.0]).all()


def test_lds_atomics(module: Module) -> None:
    out = np.zeros(16 + 128, np.uint32)
    run(module, "lds_atomics", 1, 128, [out])
    assert list(out[:5]) == [128, 127, 3, 0xFFFFFFFF, 0]
    assert 1 <= out[5] <= 128
    assert (out[6], out[7], out[8]) == (5, 128 % 7, sum(range(128)))
    assert out[9:10].view(np.float32)[0] == 64.0
    assert sorted(out[16:]) == list(range(128))


def test_float_atomics_have_one_result_for_any_thread_count(compile_kernel: Compile) -> None:
    x = np.random.default_rng(5).standard_normal(4096).astype(np.float32)
    seen = set()
    for threads in (1, 2, 5):
        module = Device("gfx942", Options(threads=threads)).load(compile_kernel(SOURCE, "gfx942", "-O3"))
        out = np.zeros(1, np.float32)
        module.launch("float_sum", 64, 64, [x, out])
        seen.add(out.tobytes())
    assert len(seen) == 1


def test_recursion(module: Module) -> None:
    out = np.zeros(64, np.int32)
    run(module, "recursion", 1, 64, [out])
    fib = [0, 1]
    while len(fib) < 12:
        fib.append(fib[-1] + fib[-2])
    assert list(out) == [fib[k % 12] for k in range(64)]


def test_function_pointers(module: Module) -> None:
    which = np.random.default_rng(6).integers(0, 3, 64).astype(np.int32)
    out = np.zeros(64, np.int32)
    run(module, "pointers", 1, 64, [which, out])
    t = np.arange(64)
    assert (out == np.choose(which, [t + 7, t * 7, t - 7])).all()


def test_scratch_arrays(module: Module) -> None:
    x = np.random.default_rng(7).integers(0, 1000, 64).astype(np.int32)
    out = np.zeros(64, np.int32)
    run(module, "scratch", 1, 64, [x, out])
    k = np.arange(40)
    for t in range(64):
        a = x[(t + k) & 63]
        h, b = (a * 3).astype(np.int16), a.astype(np.uint8)
        want = (a[(k * 7 + x[k]) % 40] * 3 + h[(k * 3 + x[k]) % 40] + b[(x[t & 63] + k) % 40]).sum()
        assert out[t] == want


def test_device_variables(module: Module) -> None:
    out = np.zeros(64, np.int32)
    run(module, "variables", 1, 64, [out])
    assert list(out[:4]) == [6, 25, 305, 4005]
    run(module, "variables", 1, 64, [out])
    assert list(out[:4]) == [10, 29, 309, 4009]
    assert module.variables()["counter"][1] == 4


@pytest.mark.parametrize(("grid", "block"), [((2, 3, 2), (4, 2, 3)), ((5, 1, 1), (33, 1, 1)), ((1, 4, 1), (8, 8, 1))])
def test_geometry(module: Module, grid: tuple[int, int, int], block: tuple[int, int, int]) -> None:
    shape = tuple(g * b for g, b in zip(grid, block, strict=True))
    out = np.zeros(int(np.prod(shape)), np.uint32)
    run(module, "geometry", grid, block, [out])
    z, y, x = np.meshgrid(*(np.arange(n) for n in reversed(shape)), indexing="ij")
    bx, by, bz = block
    want = x % bx | y % by << 4 | z % bz << 8 | x // bx << 12 | y // by << 16 | z // bz << 20
    assert (out == want.reshape(-1)).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_workgroups_that_wait_for_each_other(compile_kernel: Compile, threads: int) -> None:
    module = Device("gfx942", Options(threads=threads)).load(compile_kernel(SOURCE, "gfx942", "-O3"))
    out = np.zeros(40 * 64, np.int32)
    module.launch("grid_barrier", 40, 64, [np.zeros(1, np.int32), out])
    assert (out == 40).all()


def test_cooperative_groups(module: Module) -> None:
    data, out = np.zeros(512, np.int32), np.zeros(512, np.int32)
    result = module.launch("cooperative", 4, 128, [data, out], cooperative=True)
    assert (out == np.arange(512)[::-1]).all()
    assert (data == np.arange(512)).all()
    assert not [f for f in result.findings if f.id != "HP854"]


def test_printf(module: Module) -> None:
    text: list[bytes] = []
    module.device.on_output(lambda stream, part: text.append(part) if stream == 1 else None)
    module.launch("prints", 1, 64, [np.int32(255)])
    module.device.on_output(None)
    want = [f"lane {t} of block: {t / 4:5.2f} ff {1 << 40}\n" for t in (1, 33)]
    assert b"".join(text).decode() == "".join(want)


def test_assert(module: Module) -> None:
    text: list[bytes] = []
    module.device.on_output(lambda stream, part: text.append(part))
    result = module.try_launch("asserts", 1, 64, [np.int32(3)])
    module.device.on_output(None)
    assert b"n == 4" in b"".join(text)
    assert result.error is not None
    assert "trap" in str(result.error)
    assert module.try_launch("asserts", 1, 64, [np.int32(4)]).error is None


def test_rounding_mode(module: Module) -> None:
    rng = np.random.default_rng(8)
    a, b = (rng.standard_normal(64).astype(np.float32) for _ in range(2))
    out = np.zeros((64, 4), np.float32)
    run(module, "rounding", 1, 64, [a, b, out])
    exact = a.astype(np.float64) + b.astype(np.float64)
    nearest = exact.astype(np.float32)
    up = np.where(nearest < exact, np.nextafter(nearest, np.float32(np.inf)), nearest)
    down = np.where(nearest > exact, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    assert (out[:, 0] == nearest).all()
    assert (out[:, 1] == up).all()
    assert (out[:, 2] == down).all()
    assert (out[:, 3] == np.where(exact > 0, down, up)).all()


def ulps(got: NDArray[Any], want: NDArray[Any]) -> NDArray[Any]:
    """Distance in units in the last place of float32; denormal results count as zero."""
    good = (np.abs(want) >= 2.0**-126) & (np.abs(want) < np.finfo(np.float32).max)
    step = np.spacing(np.abs(want[good]).astype(np.float32)).astype(np.float64)
    return np.abs(got[good].astype(np.float64) - want[good]) / step


def test_transcendentals_are_within_one_ulp(module: Module) -> None:
    rng = np.random.default_rng(9)
    x = np.concatenate([rng.uniform(-126, 127, 2048), rng.lognormal(0, 20, 2048)]).astype(np.float32)
    out = np.zeros((7, x.size), np.float32)
    run(module, "transcendental", x.size // 256, 256, [x, out, np.int32(x.size)])
    w = x.astype(np.float64)
    with np.errstate(all="ignore"):
        assert ulps(out[0], np.exp2(w)).max() <= 1
        assert ulps(out[1], np.log2(w)).max() <= 1
        assert ulps(out[2], 1 / w).max() <= 1
        assert ulps(out[3], 1 / np.sqrt(w)).max() <= 1
        assert ulps(out[6], np.sqrt(w)).max() <= 1
        small = np.abs(w) <= 256
        turns = w[small] % 1.0
        assert np.abs(out[4][small] - np.sin(2 * np.pi * turns)).max() < 2**-22
        assert np.abs(out[5][small] - np.cos(2 * np.pi * turns)).max() < 2**-22
    assert np.isnan(out[1][x < 0]).all()


def test_device_math_library(module: Module) -> None:
    from math import erf, gamma

    x = np.random.default_rng(10).uniform(-5, 5, 256).astype(np.float32)
    out = np.zeros((8, x.size), np.float32)
    run(module, "library", 1, 256, [x, out, np.int32(x.size)])
    w = x.astype(np.float64)
    want = [np.exp(w), np.log(np.abs(w)), np.sin(w), np.cos(w), np.tanh(w), np.vectorize(erf)(w), np.abs(w) ** 1.7]
    want.append(np.vectorize(gamma)((x * np.float32(0.1) + 2).astype(np.float64)))
    for got, expected in zip(out, want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-6, atol=1e-7)


def test_device_math_library_in_double(module: Module) -> None:
    from math import erf

    x = np.random.default_rng(11).uniform(-5, 5, 128)
    out = np.zeros((6, x.size))
    run(module, "library64", 1, 128, [x, out, np.int32(x.size)])
    want = [np.exp(x), np.log(np.abs(x)), np.sin(x * 1e6), np.cos(x), np.vectorize(erf)(x), np.abs(x) ** 1.7]
    for got, expected in zip(out, want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=4e-15, atol=1e-15)


def test_waves_in_reverse_order_give_the_same(compile_kernel: Compile) -> None:
    x = np.random.default_rng(12).standard_normal(4096).astype(np.float32)
    results = []
    for reverse in (False, True):
        module = Device("gfx942", Options(reverse_waves=reverse)).load(compile_kernel(SOURCE, "gfx942", "-O3"))
        out = np.zeros(4, np.float32)
        module.launch("block_reduce", 4, 256, [x, out, np.int32(x.size)], dynamic_lds_bytes=1024)
        results.append(out)
    assert (results[0] == results[1]).all()


def test_wave_size_follows_the_target(module: Module) -> None:
    assert module.kernel("lanes").wavefront_size == target_named(module.device.target.name).wave_size
