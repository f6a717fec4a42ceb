"""hipport/native.h on the emulator: reductions of every integer type over wavefronts and warps, also ragged ones."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from hipport.core import target_named
from hipport.core.files import include_root
from hipport.emulator import Device, Module
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

TYPES: dict[str, type[np.signedinteger | np.unsignedinteger]] = {
    "int": np.int32,
    "unsigned": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
}
OPERATIONS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip
KERNEL = """
extern "C" __global__ void {name}_{op}(const {type}* in, {type}* native, {type}* warp) {{
  const {type} v = in[threadIdx.x];
  native[threadIdx.x] = hipport::native_reduce_{op}(v);
  warp[threadIdx.x] = hipport::warp_reduce_{op}(v);
}}
"""
OTHERS = """
extern "C" __global__ void places(int* lane, int* warp, int* votes) {
  lane[threadIdx.x] = hipport::native_lane<int>();
  warp[threadIdx.x] = hipport::native_warp<int>();
  votes[threadIdx.x] = hipport::native_count<int>(threadIdx.x % 3 == 0);
}
extern "C" __global__ void floats(const float* in, float* native, float* butterfly) {
  float v = in[threadIdx.x];
  native[threadIdx.x] = hipport::native_reduce_add(v);
  for (int o = 16; o > 0; o >>= 1) v += hipport::shfl_xor_sync(0xffffffffu, v, o);
  butterfly[threadIdx.x] = v;
}
"""


@pytest.fixture(scope="module", params=["gfx942", "gfx90a", "gfx1201"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Module, int]:
    """The kernels and the lanes of a wavefront."""
    sdk = find_sdk()
    folder = tmp_path_factory.mktemp("native")
    source, compiled = folder / "native.hip", folder / "native.co"
    kernels = [KERNEL.format(name=kind.replace(" ", "_"), type=kind, op=op) for kind in TYPES for op in OPERATIONS]
    source.write_text("#include <hipport/native.h>\n" + "".join(kernels) + OTHERS)
    command = [sdk.clang, *sdk.device_flags(request.param), f"-I{include_root()}", "-O3", "-c", source, "-o", compiled]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Device(request.param).load(compiled), target_named(request.param).wave_size


@pytest.mark.parametrize("threads", [32, 64, 96, 224, 256])
@pytest.mark.parametrize("kind", TYPES)
def test_integers(built: tuple[Module, int], kind: str, threads: int) -> None:
    module, lanes = built
    rng = np.random.default_rng(threads)
    limits = np.iinfo(TYPES[kind])
    value = rng.integers(limits.min, limits.max, threads, TYPES[kind], endpoint=True)
    for op, combine in OPERATIONS.items():
        native, warp = np.zeros(threads, TYPES[kind]), np.zeros(threads, TYPES[kind])
        module.launch(f"{kind.replace(' ', '_')}_{op}", grid=1, block=threads, args=[value, native, warp])
        for got, size in ((native, lanes), (warp, 32)):
            for first in range(0, threads, size):
                part = value[first : first + size]
                assert (got[first : first + size] == combine.reduce(part, dtype=TYPES[kind])).all(), (op, size, first)


@pytest.mark.parametrize("threads", [64, 96, 100])
def test_places_and_counts(built: tuple[Module, int], threads: int) -> None:
    module, lanes = built
    lane, warp, votes = (np.zeros(threads, np.int32) for _ in range(3))
    module.launch("places", grid=1, block=threads, args=[lane, warp, votes])
    thread = np.arange(threads)
    assert (lane == thread % lanes).all()
    assert (warp == thread // lanes).all()
    for first in range(0, threads, lanes):
        assert (votes[first : first + lanes] == (thread[first : first + lanes] % 3 == 0).sum()).all()


def test_floats_keep_the_order_of_the_butterfly(built: tuple[Module, int]) -> None:
    module, _ = built
    value = (np.random.default_rng(5).normal(size=128) * 1e4).astype(np.float32)
    native, butterfly = np.zeros(128, np.float32), np.zeros(128, np.float32)
    module.launch("floats", grid=1, block=128, args=[value, native, butterfly])
    assert native.tobytes() == butterfly.tobytes()
