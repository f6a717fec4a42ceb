"""Matrix products cost fewer instructions on the matrix unit than lane by lane, and what docs/ptx.md says of it is so.

`matrix_cost.tsv` has what the emulator executes for one more round of a loop with one product in it, for two warps: one
wavefront on CDNA, two on RDNA. Write it anew with `python tests/unit/warp/test_matrix_cost.py`.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from hipport.core.files import include_root
from hipport.emulator import Device
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

RECORD = Path(__file__).with_name("matrix_cost.tsv")
TARGETS = ("gfx90a", "gfx942", "gfx1100", "gfx1201")
# PTX name -> M, N, K, A, B, accumulator
PRODUCTS = {
    "mma.m16n8k16 f16, f32 sums": (16, 8, 16, "f16", "f16", "f32"),
    "mma.m16n8k8 f16, f32 sums": (16, 8, 8, "f16", "f16", "f32"),
    "mma.m16n8k16 f16, f16 sums": (16, 8, 16, "f16", "f16", "f16"),
    "mma.m16n8k16 bf16": (16, 8, 16, "bf16", "bf16", "f32"),
    "mma.m16n8k8 tf32": (16, 8, 8, "tf32", "tf32", "f32"),
    "mma.m16n8k4 tf32": (16, 8, 4, "tf32", "tf32", "f32"),
    "mma.m16n8k32 s8": (16, 8, 32, "s8", "s8", "s32"),
    "mma.m16n8k32 u8 x s8": (16, 8, 32, "u8", "s8", "s32"),
    "mma.m16n8k16 s8": (16, 8, 16, "s8", "s8", "s32"),
    "mma.m8n8k16 s8": (8, 8, 16, "s8", "s8", "s32"),
    "mma.m16n8k64 s4": (16, 8, 64, "s4", "s4", "s32"),
    "mma.m8n8k32 s4": (8, 8, 32, "s4", "s4", "s32"),
    "mma.m16n8k32 e4m3": (16, 8, 32, "e4m3", "e4m3", "f32"),
    "mma.m8n8k4 f64": (8, 8, 4, "f64", "f64", "f64"),
    "mma.m16n8k16 f64": (16, 8, 16, "f64", "f64", "f64"),
}
TILES = {
    "wmma 16x16x16 f16, f32 sums": ("__half", "float"),
    "wmma 16x16x16 bf16": ("__hip_bfloat16", "float"),
    "wmma 16x16x16 s8": ("signed char", "int"),
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "e4m3": 8}
ROUNDS = (2, 10)


def kernel(number: int, name: str) -> str:
    """A loop with the product in it, operands changing from round to round."""
    if name in TILES:
        element, total = TILES[name]
        return f"""
extern "C" __global__ void k{number}(const {element}* a, const {element}* b, const {total}* c, {total}* d, int n) {{
  using namespace hipport::tensor::wmma;
  fragment<matrix_a, 16, 16, 16, {element}, row_major> x;
  fragment<matrix_b, 16, 16, 16, {element}, col_major> y;
  fragment<accumulator, 16, 16, 16, {total}> z;
  load_matrix_sync(x, a, 16); load_matrix_sync(y, b, 16); load_matrix_sync(z, c, 16, mem_row_major);
  for (int i = 0; i < n; ++i) {{
    asm volatile("" : "+v"(*reinterpret_cast<unsigned*>(x.x)), "+v"(*reinterpret_cast<unsigned*>(y.x)));
    mma_sync(z, x, y, z);
  }}
  store_matrix_sync(d, z, 16, mem_row_major);
}}"""
    m, n, k, a, b, c = PRODUCTS[name]
    n_a, n_b = (m * k // 32, n * k // 32) if a == "f64" else (m * k * BITS[a] // 1024, n * k * BITS[b] // 1024)
    n_c = m // 8 if c == "f16" else m // 4
    source = "double" if a == "f64" else "unsigned"
    total = {"f16": "unsigned", "f32": "float", "s32": "int", "f64": "double"}[c]
    return f"""
extern "C" __global__ void k{number}(const {source}* a, const {source}* b, const {total}* c, {total}* d, int n) {{
  vec<{source}, {n_a}> x; vec<{source}, {n_b}> y; vec<{total}, {n_c}> z;
  for (int i = 0; i < {n_a}; ++i) x[i] = a[threadIdx.x * {n_a} + i];
  for (int i = 0; i < {n_b}; ++i) y[i] = b[threadIdx.x * {n_b} + i];
  for (int i = 0; i < {n_c}; ++i) z[i] = c[threadIdx.x * {n_c} + i];
  for (int i = 0; i < n; ++i) {{
    for (int e = 0; e < {n_a}; ++e) asm volatile("" : "+v"(x[e]));
    for (int e = 0; e < {n_b}; ++e) asm volatile("" : "+v"(y[e]));
    z = mma_{c}<{m}, {n}, {k}, Element::{a}, Element::{b}>(x, y, z);
  }}
  for (int i = 0; i < {n_c}; ++i) d[threadIdx.x * {n_c} + i] = z[i];
}}"""


def measured(target: str, folder: Path, *, by_lanes: bool) -> dict[str, int]:
    """Instructions per round."""
    sdk = find_sdk()
    names = [*PRODUCTS, *TILES]
    source, compiled = folder / "cost.hip", folder / f"{target}{by_lanes}.co"
    kernels = "".join(kernel(number, name) for number, name in enumerate(names))
    source.write_text("#include <hipport/wmma.h>\nusing namespace hipport;\n" + kernels)
    define = ["-DHIPPORT_MMA_BY_LANES"] if by_lanes else []
    flags = [*sdk.device_flags(target), f"-I{include_root()}", *define, "-O3", "-c"]
    done = subprocess.run(
        [str(word) for word in (sdk.clang, *flags, source, "-o", compiled)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    module = Device(target).load(compiled)
    found = {}
    for number, name in enumerate(names):
        zeros = np.zeros(4096, np.float64)
        counts = [
            module.launch(f"k{number}", grid=1, block=64, args=[zeros, zeros, zeros, zeros.copy(), np.int32(n)])
            .statistics.instructions
            for n in ROUNDS
        ]  # fmt: skip
        found[name] = round((counts[1] - counts[0]) / (ROUNDS[1] - ROUNDS[0]))
    return found


def recorded() -> dict[tuple[str, str], tuple[int, int]]:
    """(product, target) -> instructions on the matrix unit, lane by lane."""
    header, *rows = [line.split("\t") for line in RECORD.read_text(encoding="utf-8").splitlines() if line[0] != "#"]
    return {
        (row[0], target): (int(cell.split(" / ")[0]), int(cell.split(" / ")[1]))
        for row in rows
        for target, cell in zip(header[1:], row[1:], strict=True)
    }


SLOW = [pytest.param(t, marks=pytest.mark.slow) if t not in ("gfx942", "gfx1201") else t for t in TARGETS]


@pytest.mark.parametrize("target", SLOW)
def test_matrix_unit_is_cheaper(target: str, tmp_path: Path) -> None:
    matrix, lanes = (measured(target, tmp_path, by_lanes=flag) for flag in (False, True))
    record = recorded()
    for name in matrix:
        assert matrix[name] <= lanes[name], name
        for now, before in zip((matrix[name], lanes[name]), record[name, target], strict=True):
            assert abs(now - before) <= max(3, before // 8), (name, now, before)
    for name in ("mma.m16n8k16 f16, f32 sums", "mma.m16n8k16 bf16", "wmma 16x16x16 f16, f32 sums"):
        assert 3 * matrix[name] < 2 * lanes[name], name


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        columns = {
            target: [measured(target, Path(folder), by_lanes=flag) for flag in (False, True)] for target in TARGETS
        }
    head = "# Instructions for one product of two warps in a loop: on the matrix unit / lane by lane."
    rows = [
        (name, *(f"{matrix[name]} / {lanes[name]}" for matrix, lanes in columns.values()))
        for name in (*PRODUCTS, *TILES)
    ]
    lines = [head, *("\t".join(row) for row in [("product", *TARGETS), *rows])]
    RECORD.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
