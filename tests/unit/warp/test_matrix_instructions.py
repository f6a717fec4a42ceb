"""hipport/mma.h on the emulator against the fragment layouts of PTX ISA 9.7.14; small integers, so every sum is exact.

Each shape runs twice: with both warps of a wavefront together (matrix instructions) and with every second warp alone
(the fallback by lanes).
"""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from numpy.typing import NDArray

from hipport.core.files import include_root
from hipport.emulator import Device, Module, UnimplementedInstruction
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

WARPS = 4
# name -> (M, N, K, A, B, accumulator)
SHAPES = {
    "f16_k16": (16, 8, 16, "f16", "f16", "f32"),
    "f16_k8": (16, 8, 8, "f16", "f16", "f32"),
    "f16_acc": (16, 8, 16, "f16", "f16", "f16"),
    "bf16_k16": (16, 8, 16, "bf16", "bf16", "f32"),
    "bf16_k8": (16, 8, 8, "bf16", "bf16", "f32"),
    "tf32_k8": (16, 8, 8, "tf32", "tf32", "f32"),
    "tf32_k4": (16, 8, 4, "tf32", "tf32", "f32"),
    "s8_k32": (16, 8, 32, "s8", "s8", "s32"),
    "s8_k16": (16, 8, 16, "s8", "s8", "s32"),
    "u8s8_k32": (16, 8, 32, "u8", "s8", "s32"),
    "s8u8_k16": (16, 8, 16, "s8", "u8", "s32"),
    "u8_k32": (16, 8, 32, "u8", "u8", "s32"),
    "u8_m8": (8, 8, 16, "u8", "u8", "s32"),
    "s8u8_m8": (8, 8, 16, "s8", "u8", "s32"),
    "u4s4_k32": (16, 8, 32, "u4", "s4", "s32"),
    "s8_m8": (8, 8, 16, "s8", "s8", "s32"),
    "s4_k64": (16, 8, 64, "s4", "s4", "s32"),
    "u4s4_m8": (8, 8, 32, "u4", "s4", "s32"),
    "f64": (8, 8, 4, "f64", "f64", "f64"),
    "f64_k4": (16, 8, 4, "f64", "f64", "f64"),
    "f64_k16": (16, 8, 16, "f64", "f64", "f64"),
    "s4_k32": (16, 8, 32, "s4", "s4", "s32"),
    "fp8_k16": (16, 8, 16, "e5m2", "e4m3", "f32"),
    "fp8_k32": (16, 8, 32, "e4m3", "e5m2", "f32"),
    "fp8_k16_acc": (16, 8, 16, "e4m3", "e4m3", "f16"),
}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "f64": 64, "e4m3": 8, "e5m2": 8}

Words = NDArray[np.uint32]


def kernel(name: str) -> str:
    m, n, k, a, b, c = SHAPES[name]
    n_a, n_b = (m * k // 32, n * k // 32) if a == "f64" else (m * k * BITS[a] // 1024, n * k * BITS[b] // 1024)
    n_c = m // 8 if c == "f16" else m // 4
    source = "double" if a == "f64" else "unsigned"
    result = {"f16": "unsigned", "f32": "float", "s32": "int", "f64": "double"}[c]
    return f"""
extern "C" __global__ void {name}(const {source}* a, const {source}* b, const {result}* c, {result}* d, int step) {{
  const int t = threadIdx.x;
  vec<{source}, {n_a}> x; vec<{source}, {n_b}> y; vec<{result}, {n_c}> z;
  for (int i = 0; i < {n_a}; ++i) x[i] = a[t * {n_a} + i];
  for (int i = 0; i < {n_b}; ++i) y[i] = b[t * {n_b} + i];
  for (int i = 0; i < {n_c}; ++i) z[i] = c[t * {n_c} + i];
  if ((t / 32) % step == 0) z = mma_{c}<{m}, {n}, {k}, Element::{a}, Element::{b}>(x, y, z);
  for (int i = 0; i < {n_c}; ++i) d[t * {n_c} + i] = z[i];
}}"""


MOVES = r"""
template <int Count, bool Trans> __device__ void load(const unsigned short* in, const int* row, unsigned* out) {
  __shared__ __attribute__((aligned(16))) unsigned short lds[1024];
  const int t = threadIdx.x;
  for (int i = t; i < 1024; i += blockDim.x) lds[i] = in[i];
  __syncthreads();
  const auto r = ldmatrix<Count, Trans>(ptx::shared<const void>(ptx::generic_to_shared(lds + row[t] * 8)));
  for (int i = 0; i < Count; ++i) out[t * Count + i] = r[i];
}
template <int Count, bool Trans> __device__ void store(const unsigned* in, const int* row, unsigned short* out) {
  __shared__ __attribute__((aligned(16))) unsigned short lds[1024];
  const int t = threadIdx.x;
  for (int i = t; i < 1024; i += blockDim.x) lds[i] = 0xffff;
  __syncthreads();
  vec<unsigned, Count> v;
  for (int i = 0; i < Count; ++i) v[i] = in[t * Count + i];
  stmatrix<Count, Trans>(static_cast<void*>(lds + row[t] * 8), v);
  __syncthreads();
  for (int i = t; i < 1024; i += blockDim.x) out[i] = lds[i];
}
#define MOVES(count, trans, name)                                                                   \
  extern "C" __global__ void ld_##name(const unsigned short* in, const int* row, unsigned* out) {   \
    load<count, trans>(in, row, out);                                                               \
  }                                                                                                 \
  extern "C" __global__ void st_##name(const unsigned* in, const int* row, unsigned short* out) {   \
    store<count, trans>(in, row, out);                                                              \
  }
MOVES(1, false, x1) MOVES(2, false, x2) MOVES(4, false, x4) MOVES(1, true, x1t) MOVES(2, true, x2t) MOVES(4, true, x4t)
#define QUADS(a_row, b_row)                                                                              \
  extern "C" __global__ void quads_f32_##a_row##b_row(const uint2* a, const uint2* b, const float* c, float* d) { \
    const int t = threadIdx.x;                                                                           \
    vec<float, 8> z;                                                                                     \
    for (int i = 0; i < 8; ++i) z[i] = c[8 * t + i];                                                     \
    z = mma_quads_f32<a_row, b_row>({{a[t].x, a[t].y}}, {{b[t].x, b[t].y}}, z);                          \
    for (int i = 0; i < 8; ++i) d[8 * t + i] = z[i];                                                     \
  }                                                                                                      \
  extern "C" __global__ void quads_f16_##a_row##b_row(const uint2* a, const uint2* b, const uint4* c, uint4* d) { \
    const int t = threadIdx.x;                                                                           \
    const auto z = mma_quads_f16<a_row, b_row>({{a[t].x, a[t].y}}, {{b[t].x, b[t].y}},                   \
                                               {{c[t].x, c[t].y, c[t].z, c[t].w}});                      \
    d[t] = make_uint4(z[0], z[1], z[2], z[3]);                                                           \
  }
QUADS(0, 0) QUADS(0, 1) QUADS(1, 0) QUADS(1, 1)
#define SMALL(name, n, call)                                                                             \
  extern "C" __global__ void name(const unsigned* in, const int* row, unsigned* out) {                   \
    __shared__ __attribute__((aligned(16))) unsigned lds[512];                                           \
    const int t = threadIdx.x;                                                                           \
    for (int i = t; i < 512; i += blockDim.x) lds[i] = in[i];                                            \
    __syncthreads();                                                                                     \
    const auto r = call(static_cast<const void*>(lds + row[t] * 4));                                     \
    for (int i = 0; i < n; ++i) out[t * n + i] = r[i];                                                   \
  }
SMALL(m8n16_b4_x4, 4, (ldmatrix_m8n16<4, RowFormat::b4x16_p64>))
SMALL(m8n16_b6_x1, 1, (ldmatrix_m8n16<1, RowFormat::b6x16_p32>))
SMALL(m16n16_b8_x1, 2, (ldmatrix_m16n16_trans<1, RowFormat::b8>))
SMALL(m16n16_b8_x2, 4, (ldmatrix_m16n16_trans<2, RowFormat::b8>))
SMALL(m16n16_b4_x2, 4, (ldmatrix_m16n16_trans<2, RowFormat::b4x16_p64>))
SMALL(m16n16_b6_x1, 2, (ldmatrix_m16n16_trans<1, RowFormat::b6x16_p32>))
extern "C" __global__ void st_m16n8(const uint2* in, const int* row, unsigned* out) {
  __shared__ __attribute__((aligned(16))) unsigned lds[512];
  const int t = threadIdx.x;
  for (int i = t; i < 512; i += blockDim.x) lds[i] = 0xffffffffu;
  __syncthreads();
  stmatrix_m16n8_trans<2>(static_cast<void*>(lds + row[t] * 4), {{in[t].x, in[t].y}});
  __syncthreads();
  for (int i = t; i < 512; i += blockDim.x) out[i] = lds[i];
}
extern "C" __global__ void widen(const unsigned* in, uint2* out) {
  const auto first = detail::widened<Element::e4m3, 1, 1>({{in[threadIdx.x]}});
  const auto second = detail::widened<Element::e5m2, 1, 1>({{in[threadIdx.x]}});
  out[2 * threadIdx.x] = make_uint2(first[0], first[1]);
  out[2 * threadIdx.x + 1] = make_uint2(second[0], second[1]);
}
extern "C" __global__ void transpose(const unsigned* in, unsigned* out) {
  out[threadIdx.x] = movmatrix_trans(in[threadIdx.x]);
}
"""


@pytest.fixture(
    scope="module", params=["gfx942", "gfx90a", pytest.param("gfx950", marks=pytest.mark.slow), "gfx1100", "gfx1201"]
)
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Module:
    sdk = find_sdk()
    folder = tmp_path_factory.mktemp("mma")
    source, compiled = folder / "mma.hip", folder / "mma.co"
    source.write_text("#include <hipport/mma.h>\nusing namespace hipport;\n" + "".join(map(kernel, SHAPES)) + MOVES)
    command = [sdk.clang, *sdk.device_flags(request.param), f"-I{include_root()}", "-O3", "-c", source, "-o", compiled]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Device(request.param).load(compiled)


def encoded(values: NDArray[np.int64], kind: str) -> NDArray[np.uint64]:
    """Bits of small integers in a matrix type."""
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16).astype(np.uint64)
    if kind == "f64":
        return values.astype(np.float64).view(np.uint64)
    if kind in ("e4m3", "e5m2"):
        mantissa, bias = (3, 7) if kind == "e4m3" else (2, 15)
        table = {0: 0}
        for value in range(1, 9):
            exponent = value.bit_length() - 1
            if (value << mantissa) % (1 << exponent) == 0:
                table[value] = (exponent + bias) << mantissa | ((value << mantissa) >> exponent) & ((1 << mantissa) - 1)
        return np.vectorize(lambda v: table[abs(v)] | (0x80 if v < 0 else 0))(values).astype(np.uint64)
    if kind in ("bf16", "tf32"):
        bits = values.astype(np.float32).view(np.uint32)
        # The low bits of a tf32 register are ignored by the hardware: put rubbish there.
        return (bits >> 16).astype(np.uint64) if kind == "bf16" else (bits | 0x1ABC).astype(np.uint64)
    return (values & ((1 << BITS[kind]) - 1)).astype(np.uint64)


def registers(matrix: NDArray[np.int64], kind: str, *, columns_by_lane: bool) -> NDArray[np.uint64]:
    """Fragments of A (M x K), or of B given as its transpose (N x K): (32 lanes, registers)."""
    n_rows, k = matrix.shape
    per_register = max(1, 32 // BITS[kind])
    chunks = k // (4 * per_register)
    halves = 1 if columns_by_lane else n_rows // 8
    bits = encoded(matrix, kind)
    out = np.zeros((32, chunks * halves), np.uint64)
    for lane in range(32):
        g, q = divmod(lane, 4)
        for chunk in range(chunks):
            for half in range(halves):
                start = chunk * 4 * per_register + q * per_register
                word = 0
                for i in range(per_register):
                    word |= int(bits[g + 8 * half, start + i]) << (i * BITS[kind])
                out[lane, chunk * halves + half] = word
    return out


def accumulators(matrix: NDArray[np.int64]) -> NDArray[np.int64]:
    """Fragments of C: (32 lanes, M / 4 values)."""
    return np.array(
        [
            [matrix[lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2] for i in range(matrix.shape[0] // 4)]
            for lane in range(32)
        ]
    )


@pytest.mark.parametrize("step", [1, 2], ids=["full", "every-second-warp"])
@pytest.mark.parametrize("name", list(SHAPES))
def test_mma(module: Module, name: str, step: int) -> None:
    m, n, k, a_kind, b_kind, c_kind = SHAPES[name]
    rng = np.random.default_rng(sum(map(ord, name)))
    low = {"u8": 0, "u4": 0, "s4": -8, "s8": -128, "e5m2": -4}
    high = {"u8": 256, "u4": 16, "s4": 8, "s8": 128, "e5m2": 5}
    a = [rng.integers(low.get(a_kind, -6), high.get(a_kind, 7), (m, k)) for _ in range(WARPS)]
    b = [rng.integers(low.get(b_kind, -6), high.get(b_kind, 7), (k, n)) for _ in range(WARPS)]
    c = [rng.integers(-50, 50, (m, n)) for _ in range(WARPS)]

    def packed(parts: list[NDArray[np.int64]]) -> NDArray[np.generic]:
        flat = np.concatenate(parts)
        if c_kind == "f16":
            return flat.astype(np.float16).view(np.uint32)
        return flat.astype({"f32": np.float32, "s32": np.int32, "f64": np.float64}[c_kind])

    if a_kind == "f64":
        first = np.concatenate([registers(x, a_kind, columns_by_lane=False) for x in a]).view(np.float64)
        second = np.concatenate([registers(y.T, b_kind, columns_by_lane=True) for y in b]).view(np.float64)
    else:
        first = np.concatenate([registers(x, a_kind, columns_by_lane=False) for x in a]).astype(np.uint32)
        second = np.concatenate([registers(y.T, b_kind, columns_by_lane=True) for y in b]).astype(np.uint32)
    third = packed([accumulators(x) for x in c])
    out = np.zeros_like(third)
    try:
        module.launch(name, grid=1, block=32 * WARPS, args=[first, second, third, out, np.int32(step)])
    except UnimplementedInstruction as missing:
        pytest.skip(str(missing))
    expected = packed(
        [accumulators(z + (x @ y if i % step == 0 else 0)) for i, (x, y, z) in enumerate(zip(a, b, c, strict=True))]
    )
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix_and_stmatrix(module: Module, count: int, trans: bool) -> None:
    rng = np.random.default_rng(count)
    threads = 96
    data = rng.integers(0, 1 << 16, 1024).astype(np.uint16)
    row = rng.permutation(128)[:threads].astype(np.int32)
    rows = data.reshape(128, 8)
    expected = np.zeros((threads, count), np.uint32)
    for t in range(threads):
        g, q = divmod(t % 32, 4)
        for i in range(count):
            matrix = rows[row[t // 32 * 32 + 8 * i : t // 32 * 32 + 8 * i + 8]]
            pair = matrix[2 * q : 2 * q + 2, g] if trans else matrix[g, 2 * q : 2 * q + 2]
            expected[t, i] = int(pair[0]) | int(pair[1]) << 16
    out = np.zeros((threads, count), np.uint32)
    suffix = f"x{count}{'t' if trans else ''}"
    module.launch(f"ld_{suffix}", grid=1, block=threads, args=[data, row, out])
    assert np.array_equal(out, expected)

    stored = np.zeros(1024, np.uint16)
    module.launch(f"st_{suffix}", grid=1, block=threads, args=[expected, row, stored])
    written = np.zeros(128, bool)
    for warp in range(threads // 32):
        written[row[warp * 32 : warp * 32 + 8 * count]] = True
    assert np.array_equal(stored.reshape(128, 8)[written], rows[written])
    assert (stored.reshape(128, 8)[~written] == 0xFFFF).all()


def test_movmatrix(module: Module) -> None:
    matrices = np.arange(3 * 64, dtype=np.uint16).reshape(3, 8, 8)
    source = np.ascontiguousarray(matrices).view(np.uint32).reshape(-1)
    out = np.zeros(96, np.uint32)
    module.launch("transpose", grid=1, block=96, args=[source, out])
    assert np.array_equal(out, np.ascontiguousarray(matrices.transpose(0, 2, 1)).view(np.uint32).reshape(-1))


def quad_places(what: str, row: bool) -> list[list[tuple[int, int]]]:
    """(row, column) of each element of each of 32 lanes within its product (PTX ISA, fragments of mma.m8n8k4)."""
    places = []
    for lane in range(32):
        t, high = lane % 4, 4 * (lane >= 16)
        match what:
            case "A":
                places.append([(t + high, i) if row else (i + high, t) for i in range(4)])
            case "B":
                places.append([(t, i + high) if row else (i, t + high) for i in range(4)])
            case "f32":
                places.append([((lane & 1) + (i & 2) + high, (i & 4) + (lane & 2) + (i & 1)) for i in range(8)])
            case "f16":
                places.append([(t + high, i) for i in range(8)])
    return places


@pytest.mark.parametrize("sums", ["f32", "f16"])
@pytest.mark.parametrize(("a_row", "b_row"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_volta_mma(module: Module, sums: str, a_row: int, b_row: int) -> None:
    rng = np.random.default_rng(8 + 2 * a_row + b_row)
    threads = 96
    products = threads // 8
    a, b = rng.integers(-9, 9, (products, 8, 4)), rng.integers(-9, 9, (products, 4, 8))
    c = rng.integers(-50, 50, (products, 8, 8))

    def held(matrices: NDArray[np.int64], places: list[list[tuple[int, int]]]) -> NDArray[np.float32]:
        values = [[matrices[t // 32 * 4 + t % 32 % 16 // 4][at] for at in places[t % 32]] for t in range(threads)]
        return np.array(values, np.float32)

    halves = [
        np.ascontiguousarray(held(x, quad_places(name, bool(row)))).astype(np.float16).view(np.uint32)
        for x, name, row in ((a, "A", a_row), (b, "B", b_row))
    ]
    kind = np.float32 if sums == "f32" else np.float16
    before, expected = (held(x, quad_places(sums, row=True)).astype(kind) for x in (c, c + a @ b))
    out = np.zeros_like(before)
    module.launch(f"quads_{sums}_{a_row}{b_row}", grid=1, block=threads, args=[*halves, before, out])
    assert np.array_equal(out, expected)


def elements(row: NDArray[np.uint8], form: str) -> list[int]:
    """The 16 elements of a row of 16 bytes."""
    width = int(form[1])
    word = int.from_bytes(row.tobytes(), "little")
    return [word >> (width * i) & ((1 << width) - 1) for i in range(16)]


@pytest.mark.parametrize(
    "name", ["m8n16_b4_x4", "m8n16_b6_x1", "m16n16_b8_x1", "m16n16_b8_x2", "m16n16_b4_x2", "m16n16_b6_x1"]
)
def test_ldmatrix_of_small_elements(module: Module, name: str) -> None:
    shape, form, number = name.split("_")
    count, threads = int(number[1:]), 64
    rng = np.random.default_rng(count)
    data = rng.integers(0, 256, 2048).astype(np.uint8)
    row = rng.permutation(128)[:threads].astype(np.int32)
    rows = [elements(data.reshape(128, 16)[i], form) for i in range(128)]
    n = count if shape == "m8n16" else 2 * count
    expected = np.zeros((threads, n), np.uint32)
    for t in range(threads):
        g, q = divmod(t % 32, 4)
        first = row[t // 32 * 32 :]
        for i in range(n):
            for e in range(4):
                if shape == "m8n16":
                    value = rows[first[8 * i + g]][4 * q + e]
                else:
                    value = rows[first[16 * (i // 2) + 4 * q + e]][g + 8 * (i % 2)]
                expected[t, i] |= value << (8 * e)
    out = np.zeros_like(expected)
    module.launch(name, grid=1, block=threads, args=[data.view(np.uint32), row, out])
    assert np.array_equal(out, expected)


def test_stmatrix_of_bytes(module: Module) -> None:
    rng = np.random.default_rng(3)
    values = rng.integers(0, 256, (32, 2, 4)).astype(np.uint8)
    row = rng.permutation(128)[:32].astype(np.int32)
    expected = np.full((128, 16), 0xFF, np.uint8)
    for lane in range(32):
        g, q = divmod(lane, 4)
        for i in range(2):
            for e in range(4):  # the 8-bit layout of an accumulator, transposed
                expected[row[8 * i + 2 * q + e % 2], g + 8 * (e // 2)] = values[lane, i, e]
    out = np.zeros(512, np.uint32)
    module.launch("st_m16n8", grid=1, block=32, args=[values.view(np.uint32), row, out])
    assert np.array_equal(out.view(np.uint8).reshape(128, 16), expected)


def test_fp8_widens_exactly(module: Module) -> None:
    """Every byte, against the definition of the formats (OFP8, section 5)."""
    source = np.arange(256, dtype=np.uint8)
    out = np.zeros((64, 2, 4), np.float16)
    module.launch("widen", grid=1, block=64, args=[source.view(np.uint32), out])
    for which, (bits, mantissa, bias) in enumerate([(4, 3, 7), (5, 2, 15)]):
        for byte in range(256):
            exponent, fraction = byte >> mantissa & ((1 << bits) - 1), byte & ((1 << mantissa) - 1)
            value = (fraction + (1 << mantissa if exponent else 0)) * 2.0 ** (max(exponent, 1) - bias - mantissa)
            if bits == 5 and exponent == 31:
                value = np.nan if fraction else np.inf
            elif byte & 0x7F == 0x7F:
                value = np.nan
            got = float(out[byte // 4, which, byte % 4])
            expected = -value if byte >> 7 else value
            assert got == expected or (np.isnan(got) and np.isnan(expected)), (which, byte)
            assert np.isnan(got) or np.signbit(got) == bool(byte >> 7)
