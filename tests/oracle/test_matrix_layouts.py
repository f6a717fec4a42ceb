"""Every matrix opcode against numpy, with an independent model of where each element lives.

The operands are random numbers that every product and sum of which is exact, so any order of accumulation gives the
same bits, and an element read from a wrong place shows. Sources of the layouts: AMD's matrix instruction calculator
(element to register equations of MFMA, CBSZ, ABID and BLGP), the CDNA3 and CDNA4 instruction set manuals (sparse
indices, scaled formats) and the RDNA3 and RDNA4 manuals (WMMA and SWMMAC).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_forms import accepted, wave_size
from oracle_numbers import real, small_float
from oracle_tables import MANUAL

from hipport.emulator.testing import Snippets, WaveState, opcodes

A, B, D, INDEX = 64, 96, 128, 200  # first registers
BITS = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "iu4": 4, "fp6": 6, "bf6": 6, "fp4": 4}
F8F6F4 = ("fp8", "bf8", "fp6", "bf6", "fp4")  # in the order of cbsz and blgp
# How many the assembler of each target takes; gfx942 and later take the older names too.
COUNTS = {"gfx90a": 27, "gfx942": 66, "gfx950": 88, "gfx1100": 6, "gfx1201": 22}
NAME = re.compile(r"v_(mfma|mfma_scale|smfmac|wmma|swmmac)_([a-z]*\d+)_(\d+)x(\d+)x(\d+)(_?)(?:(\d+)b_)?(.*)")
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Product:
    """One matrix opcode on one target.

    Attributes:
        family: mfma, mfma_scale, smfmac, wmma or swmmac.
        m, k, blocks: shape; n is m.
        a, b, result: element types.
    """

    target: str
    name: str
    family: str
    m: int
    k: int
    blocks: int
    a: str
    b: str
    result: str

    @property
    def wave(self) -> int:
        return wave_size(self.target)

    @property
    def sparse(self) -> bool:
        return self.family in ("smfmac", "swmmac")

    @property
    def per(self) -> int:
        """Consecutive k of B in a lane."""
        return 16 if self.target == "gfx1100" else max(self.m * self.k * self.blocks // self.wave, 1)

    @property
    def result_registers(self) -> int:
        if self.target == "gfx1100":
            return 8
        words = self.m * self.m * self.blocks // self.wave
        return max(1, {"f64": words * 2, "f16": words // 2, "bf16": words // 2}.get(self.result, words))

    def registers(self, kind: str, count: int) -> int:
        return max(1, count * BITS.get(kind, 8) // 32)

    def text(self, a: str = "", b: str = "", accumulator: str = "", tail: str = "") -> str:
        def span(first: int, count: int) -> str:
            return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"

        a, b = a or self.a, b or self.b
        stored = self.per // 2 if self.sparse else self.per
        d = span(D, self.result_registers)
        last = f"v{INDEX}" if self.sparse else accumulator or d
        sources = f"{span(A, self.registers(a, stored))}, {span(B, self.registers(b, self.per))}"
        scales = f", v{INDEX}, v{INDEX + 1}" if self.family == "mfma_scale" else ""
        return f"{self.name} {d}, {sources}, {last}{scales}{tail}"


def product(target: str, name: str) -> Product:
    match = NAME.fullmatch(name)
    assert match, name
    family, result, m, _, k, modern, blocks, kinds = match.groups()
    kinds = kinds.removesuffix("_1k")
    if kinds == "f8f6f4":
        a = b = "fp8"
    else:
        a, _, b = kinds.partition("_")
        b = b or a
    if not modern:  # the old names do not tell the number of blocks
        per = {"f16": 4, "i8": 4, "bf16": 4 if name.endswith("_1k") else 2}.get(a, 1)
        blocks = str(max(1, 64 * per // (int(m) * int(k))))
    return Product(target, name, family, int(m), int(k), int(blocks or 1), a, b, result)


@cache
def _products(target: str) -> list[Product]:
    names = [op.mnemonic for op in opcodes().values() if op.unit == "matrix"]
    candidates = [product(target, name) for name in sorted(names)]
    good = accepted(target, [p.text() for p in candidates])
    return [p for p, yes in zip(candidates, good, strict=True) if yes]


def products(target: str, *families: str) -> list[Product]:
    """The opcodes of the table that the target's assembler knows."""
    return [p for p in _products(target) if not families or p.family in families]


@cache
def codes(kind: str, fnuz: bool) -> tuple[list[int], list[float]]:
    """Encodings of a small float format and their values, those between 1/2 and 8."""
    shape = {"fp8": (4, 3), "bf8": (5, 2), "fp6": (2, 3), "bf6": (3, 2), "fp4": (2, 1)}[kind]
    pairs = []
    for code in range(1 << BITS.get(kind, 8)):
        if kind in ("fp8", "bf8"):
            bits = small_float(code, *shape, fnuz)
            if bits.bits & 0x7F800000 == 0x7F800000:
                continue
            value = float(real(bits))
        else:
            exponent_bits, mantissa_bits = shape
            sign, exponent = code >> (exponent_bits + mantissa_bits), code >> mantissa_bits & ((1 << exponent_bits) - 1)
            mantissa, bias = code & ((1 << mantissa_bits) - 1), (1 << (exponent_bits - 1)) - 1
            scale = 2.0 ** (max(exponent, 1) - bias - mantissa_bits)
            value = (mantissa + (bool(exponent) << mantissa_bits)) * scale * (-1 if sign else 1)
        if 0.5 <= abs(value) <= 8 or code == 0:
            pairs.append((code, value))
    return [c for c, _ in pairs], [v for _, v in pairs]


def numbers(kind: str, shape: tuple[int, ...], rng: np.random.Generator, limit: int, fnuz: bool) -> tuple[Matrix, Any]:
    """(values, patterns as uint64) of random elements up to ``limit`` that multiply exactly."""
    if kind in ("fp8", "bf8", "fp6", "bf6", "fp4"):
        patterns, values = codes(kind, fnuz)
        chosen = rng.integers(0, len(patterns), shape)
        return np.array(values)[chosen], np.array(patterns, np.uint64)[chosen]
    limit = {"i8": 127, "iu8": 127, "iu4": 7}.get(kind, limit)
    x = rng.integers(-limit - (kind[0] == "i"), limit + 1, shape)
    if kind[0] == "i":
        return x.astype(np.float64), (x & ((1 << BITS.get(kind, 8)) - 1)).astype(np.uint64)
    if kind == "f64":
        return x.astype(np.float64), x.astype(np.float64).view(np.uint64)
    if kind == "f16":
        return x.astype(np.float64), x.astype(np.float16).view(np.uint16).astype(np.uint64)
    bits = x.astype(np.float32).view(np.uint32).astype(np.uint64)
    return x.astype(np.float64), bits >> np.uint64(16) if kind == "bf16" else bits


def put(state: WaveState, first: int, lane: int, bit: int, width: int, pattern: int) -> None:
    for at in range(0, width, 32):
        part = pattern >> at & 0xFFFFFFFF
        register, shift = first + (bit + at) // 32, (bit + at) % 32
        state.vgpr[register, lane] |= np.uint32(part << shift & 0xFFFFFFFF)
        if shift + min(width, 32) > 32:
            state.vgpr[register + 1, lane] |= np.uint32(part >> (32 - shift))


def source_places(p: Product, kind: str, row: int, k: int, block: int, depth: int) -> list[tuple[int, int]]:
    """(lane, element of that lane) of element k of a row of A or a column of B; ``depth``: k in all."""
    if p.target == "gfx1100":  # lanes 16 to 31 hold a copy
        return [(row, k), (row + 16, k)]
    if p.name.endswith("f8f6f4"):
        groups = 64 // p.m
        if BITS.get(kind, 8) == 8:  # halves of K, 16 elements of each in a lane
            half, within = divmod(k, 16 * groups)
            return [(row + p.m * (within // 16), 16 * half + within % 16)]
        return [(row + p.m * (k // 32), k % 32)]
    per = max(p.m * depth * p.blocks // p.wave, 1)
    return [(row + p.m * (block + p.blocks * (k // per)), k % per)]


def result_place(p: Product, m: int, n: int, block: int) -> tuple[int, int, int]:
    """(register, lane, bit) of an element of C and D."""
    if p.target == "gfx1100":
        return m // 2, n + 16 * (m % 2), 0
    if p.target == "gfx1201":
        narrow = p.result in ("f16", "bf16")
        return (m % 8 // 2, n + 16 * (m // 8), 16 * (m % 2)) if narrow else (m % 8, n + 16 * (m // 8), 0)
    if p.result == "f64":
        return (2 * (m // 4), 16 * (m % 4) + n, 0) if p.m == 16 else (0, 16 * m + 4 * block + n, 0)
    if p.m == 4:
        return m, 4 * block + n, 0
    if p.m == 16:
        return 4 * block + m % 4, 16 * (m // 4) + n, 0
    return 16 * block + 4 * (m // 8) + m % 4, 32 * (m // 4 % 2) + n, 0


@dataclass
class Problem:
    """Operands in their registers, and the numbers they stand for.

    Attributes:
        a, c: ``(blocks, m, k)`` and ``(blocks, m, m)``; b: ``(blocks, k, m)``.
    """

    p: Product
    a: Matrix
    b: Matrix
    c: Matrix
    state: WaveState


def problem(p: Product, seed: int, a_kind: str = "", b_kind: str = "", index_set: int = 0) -> Problem:
    rng = np.random.default_rng(seed)
    state = WaveState.of(p.target)
    a_kind, b_kind = a_kind or p.a, b_kind or p.b
    narrow = {"f16": 8, "bf16": 2}.get(p.result, 100)
    limit = min(narrow, {"bf16": 60, "f64": 5000, "f32": 1000, "xf32": 1000}.get(p.a, 100))
    fnuz = p.target == "gfx942"
    stored_k = p.k // 2 if p.sparse else p.k
    stored, a_bits = numbers(a_kind, (p.blocks, p.m, stored_k), rng, limit, fnuz)
    b, b_bits = numbers(b_kind, (p.blocks, p.k, p.m), rng, limit, fnuz)
    for block in range(p.blocks):
        for row in range(p.m):
            for k in range(stored_k):
                width = BITS.get(a_kind, 8)
                for lane, element in source_places(p, a_kind, row, k, block, stored_k):
                    put(state, A, lane, element * width, width, int(a_bits[block, row, k]))
            for k in range(p.k):
                width = BITS.get(b_kind, 8)
                for lane, element in source_places(p, b_kind, row, k, block, p.k):
                    put(state, B, lane, element * width, width, int(b_bits[block, k, row]))
    a = stored
    if p.sparse:
        a = np.zeros((1, p.m, p.k))
        per = p.per // 2
        for row in range(p.m):
            for pair in range(stored_k // 2):
                chosen = np.sort(rng.choice(4, 2, replace=False))
                for j in range(2):
                    k = 2 * pair + j
                    a[0, row, 4 * pair + chosen[j]] = stored[0, row, k]
                    lane, element = source_places(p, a_kind, row, k, 0, stored_k)[0]
                    put(state, INDEX, lane, 2 * per * index_set + 2 * element, 2, int(chosen[j]))
    if p.family == "mfma_scale":
        state.vgpr[INDEX : INDEX + 2] = 0x7F7F7F7F
    c = rng.integers(-narrow, narrow + 1, (p.blocks, p.m, p.m)).astype(np.float64)
    for block in range(p.blocks):
        for m in range(p.m):
            for n in range(p.m):
                register, lane, bit = result_place(p, m, n, block)
                value = c[block, m, n : n + 1]
                put(state, D + register, lane, bit, BITS.get(p.result, 32), pattern(p.result, value))
    return Problem(p, a, b, c, state)


def pattern(kind: str, value: Matrix) -> int:
    if kind == "i32":
        return int(value[0]) & 0xFFFFFFFF
    if kind == "bf16":
        return int(value.astype(np.float32).view(np.uint32)[0]) >> 16
    dtype = {"f64": np.float64, "f32": np.float32, "f16": np.float16}[kind]
    return int(value.astype(dtype).view(f"u{np.dtype(dtype).itemsize}")[0])


def results(p: Product, after: WaveState, high: bool = False) -> Matrix:
    got = np.zeros((p.blocks, p.m, p.m))
    for block in range(p.blocks):
        for m in range(p.m):
            for n in range(p.m):
                register, lane, bit = result_place(p, m, n, block)
                word = after.vgpr[D + register, lane : lane + 1]
                if p.result == "f64":
                    upper = after.vgpr[D + register + 1, lane : lane + 1].astype(np.uint64)
                    value = (word | upper << np.uint64(32)).view(np.float64)
                elif p.result == "f16":
                    value = (word >> np.uint32(bit + 16 * high)).astype(np.uint16).view(np.float16)
                elif p.result == "bf16":
                    value = (word >> np.uint32(bit + 16 * high) << np.uint32(16)).view(np.float32)
                else:
                    value = word.view(np.int32 if p.result == "i32" else np.float32)
                got[block, m, n] = value[0]
    return got


def signed(p: Product) -> str:
    return " neg_lo:[1,1,0]" if p.a.startswith("iu") else ""


class Cases:
    """Instructions of one target with what they should leave in D, assembled together."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.rows: list[tuple[Problem, str, Matrix]] = []

    def add(self, x: Problem, want: Matrix, tail: str = "", a: str = "", b: str = "", accumulator: str = "") -> None:
        self.rows.append((x, x.p.text(a, b, accumulator, f" {tail}" if tail else ""), want))

    def wrong(self) -> list[str]:
        """One line for each that differs."""
        snippets = Snippets(self.target, [text for _, text, _ in self.rows])
        lines = []
        for index, (x, text, want) in enumerate(self.rows):
            got = results(x.p, snippets.run(index, x.state))
            if not np.array_equal(got, want):
                at = tuple(int(k) for k in np.argwhere(got != want)[0])
                count = int((got != want).sum())
                lines.append(f"{text}: {got[at]} instead of {want[at]} at {at}, {count} in all")
        return lines


pytestmark = pytest.mark.sdk
every_target = pytest.mark.parametrize("target", MANUAL)
matrix_cores = pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
wmma_targets = pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])


def test_every_matrix_opcode_is_there() -> None:
    found = {target: products(target) for target in MANUAL}
    assert {target: len(p) for target, p in found.items()} == COUNTS
    assert {op.mnemonic for op in opcodes().values() if op.unit == "matrix"} == {
        p.name for several in found.values() for p in several
    }


@every_target
def test_products(target: str) -> None:
    cases = Cases(target)
    for p in products(target):
        x = problem(p, len(p.name) + p.k)
        cases.add(x, x.a @ x.b + x.c, signed(p))
    assert cases.wrong() == []


@pytest.mark.slow
@every_target
def test_constant_accumulators(target: str) -> None:
    cases = Cases(target)
    for p in products(target, "mfma", "wmma"):
        x = problem(p, 5)
        cases.add(x, x.a @ x.b + 1, signed(p), accumulator="1" if p.result == "i32" else "1.0")
    assert cases.wrong() == []


@pytest.mark.slow
@matrix_cores
def test_broadcast_of_a_block_of_a(target: str) -> None:
    """CBSZ: groups of 2^cbsz blocks take the block of the group that ABID names."""
    cases = Cases(target)
    for p in products(target, "mfma"):
        if p.blocks == 1 or p.result == "f64":
            continue
        x = problem(p, 6)
        for size in range(1, p.blocks.bit_length()):
            for member in (0, (1 << size) - 1):
                chosen = [(block >> size << size) + member for block in range(p.blocks)]
                cases.add(x, x.a[chosen] @ x.b + x.c, f"cbsz:{size} abid:{member}")
    assert cases.wrong() == []


LANES = np.arange(64)
BLGP = {1: LANES % 32, 2: LANES % 32 + 32, 3: (LANES + 16) % 64, **{4 + k: LANES % 16 + 16 * k for k in range(4)}}


@pytest.mark.slow
@matrix_cores
def test_lane_group_patterns_of_b(target: str) -> None:
    """BLGP: which lane each lane's B comes from; the same as moving the lanes before."""
    cases = Cases(target)
    chosen = [p for p in products(target, "mfma") if p.result != "f64" and p.a not in ("fp8", "bf8")]
    plain = Snippets(target, [p.text() for p in chosen])
    for index, p in enumerate(chosen):
        x = problem(p, 7)
        for value, lanes in BLGP.items():
            moved = x.state.copy()
            moved.vgpr[B:D] = x.state.vgpr[B:D][:, lanes]
            cases.add(x, results(p, plain.run(index, moved)), f"blgp:{value}")
    assert cases.wrong() == []


@matrix_cores
def test_negation_of_f64(target: str) -> None:
    cases = Cases(target)
    for p in products(target, "mfma"):
        if p.result == "f64":
            x = problem(p, 8)
            signs = ("blgp:5", "blgp:2") if target == "gfx90a" else ("neg:[1,0,1]", "neg:[0,1,0]")
            cases.add(x, -(x.a @ x.b) - x.c, signs[0])
            cases.add(x, -(x.a @ x.b) + x.c, signs[1])
    assert cases.wrong() == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "gfx950", "gfx1201"])
def test_sets_of_sparse_indices(target: str) -> None:
    """Two bits for each of the per / 2 stored elements of a lane; a register holds one, two or four sets."""
    cases = Cases(target)
    for p in products(target, "smfmac", "swmmac"):
        word = "abid" if p.family == "smfmac" else "index_key"
        for index_set in range(1, 32 // p.per):
            x = problem(p, 9 + index_set, index_set=index_set)
            cases.add(x, x.a @ x.b + x.c, f"{word}:{index_set}{signed(p)}")
    assert cases.wrong() == []


@pytest.mark.slow
def test_mixed_formats() -> None:
    """Formats by CBSZ and BLGP; with scales, one e8m0 exponent for 32 k of a row, in the byte that op_sel names."""
    cases = Cases("gfx950")
    for p in products("gfx950", "mfma", "mfma_scale"):
        if not p.name.endswith("f8f6f4"):
            continue
        for a in F8F6F4:
            for b in F8F6F4:
                x = problem(p, 10, a, b)
                tail = f"cbsz:{F8F6F4.index(a)} blgp:{F8F6F4.index(b)}"
                scale = np.ones((2, p.m, p.k))
                if p.family == "mfma_scale":
                    scale = put_scales(x)
                    tail = f"op_sel:[1,0,0] op_sel_hi:[0,1,0] {tail}"
                cases.add(x, (x.a * scale[0]) @ (x.b * scale[1].T) + x.c, tail, a, b)
    assert cases.wrong() == []


def put_scales(x: Problem) -> Matrix:
    """Random scales near 1, those of A in byte 1, those of B in byte 2; ``(2, m, k)`` factors."""
    rng = np.random.default_rng(11)
    scales = rng.integers(126, 129, (2, x.p.m, x.p.k // 32))
    for which, byte in ((0, 1), (1, 2)):
        for row in range(x.p.m):
            for group in range(x.p.k // 32):
                noise = int(rng.integers(0, 1 << 32)) & ~(255 << 8 * byte)
                x.state.vgpr[INDEX + which, row + x.p.m * group] = noise | int(scales[which, row, group]) << 8 * byte
    return np.repeat(2.0 ** (scales - 127), 32, axis=2)


@pytest.mark.slow
@wmma_targets
def test_signs_of_wmma(target: str) -> None:
    """neg_lo of A and B: even elements of halves, neg_hi odd ones; of C: neg_lo negates, neg_hi takes the magnitude."""
    cases = Cases(target)
    for p in products(target, "wmma", "swmmac"):
        if p.result == "i32":
            continue
        x = problem(p, 12)
        if p.a in ("f16", "bf16"):
            cases.add(x, x.a @ x.b + x.c, "neg_lo:[1,1,0] neg_hi:[1,1,0]")
            cases.add(x, -(x.a @ x.b) + x.c, "neg_lo:[1,0,0] neg_hi:[1,0,0]")
            if not p.sparse:
                even = np.arange(p.k) % 2 == 0
                a, b = np.where(even, -x.a, x.a), np.where(even[:, None], x.b, -x.b)
                cases.add(x, a @ b - np.abs(x.c), "neg_lo:[1,0,1] neg_hi:[0,1,1]")
        elif not p.sparse:
            cases.add(x, x.a @ x.b - x.c, "neg_lo:[0,0,1]")
    assert cases.wrong() == []


def test_upper_halves_of_results() -> None:
    """op_sel of C and D: the halves above bit 16, the others are kept."""
    for p in products("gfx1100", "wmma"):
        if p.result in ("f16", "bf16"):
            x = problem(p, 13)
            x.state.vgpr[D : D + 8] = x.state.vgpr[D : D + 8] << 16 | 0x1234
            after = Snippets(p.target, [p.text(tail=" op_sel:[0,0,1]")]).run(0, x.state)
            np.testing.assert_array_equal(results(p, after, high=True), x.a @ x.b + x.c)
            assert (after.vgpr[D : D + 8, :32] & 0xFFFF == 0x1234).all()


@wmma_targets
def test_unsigned_and_clamped_integers(target: str) -> None:
    cases = Cases(target)
    for p in products(target, "wmma", "swmmac"):
        if p.result != "i32":
            continue
        x = problem(p, 14)
        unsigned = np.where(x.a < 0, x.a + (1 << BITS.get(p.a, 8)), x.a)
        cases.add(x, unsigned @ x.b + x.c, "neg_lo:[0,1,0]")
        x = problem(p, 15)
        x.state.vgpr[D : D + 8] = np.int32(0x7FFFFFF0).view(np.uint32)
        exact = x.a @ x.b + 0x7FFFFFF0
        cases.add(x, np.minimum(exact, 0x7FFFFFFF), f"{signed(p)} clamp")
        cases.add(x, exact.astype(np.int64).astype(np.int32), signed(p))
    assert cases.wrong() == []
