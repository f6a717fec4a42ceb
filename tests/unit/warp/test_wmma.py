"""nvcuda::wmma on the emulator: products of small integers, exact, in every shape, type and layout that CUDA has.

Each case runs with all warps and with every second one, which on CDNA leaves its wavefront half empty.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hipport.core.files import include_root
from hipport.emulator import Device, Module
from hipport.rewrite.transforms.ptx_lower import lower_asm
from hipport.sdk import find_sdk
from hipport.syntax.ptx_asm import parse_asm

pytestmark = pytest.mark.sdk

WARPS = 4
HEAD = "#include <hipport/ptx.h>\n#include <hipport/wmma_ptx.h>\nusing namespace hipport::tensor::wmma;\n"
ELEMENT = {"f16": "__half", "bf16": "__hip_bfloat16", "tf32": "precision::tf32", "s8": "signed char",
           "u8": "unsigned char", "f64": "double", "s4": "experimental::precision::s4",
           "u4": "experimental::precision::u4", "b1": "experimental::precision::b1"}  # fmt: skip
MEMORY = {"tf32": "float", "s4": "int", "u4": "unsigned", "b1": "unsigned"}
SUM = {"f16": "__half", "f32": "float", "s32": "int", "f64": "double"}
DTYPE = {"f16": np.float16, "f32": np.float32, "s32": np.int32, "f64": np.float64}
RANGE = {"f16": (-6, 7), "bf16": (-6, 7), "tf32": (-40, 41), "s8": (-128, 128), "u8": (0, 256), "f64": (-40, 41),
         "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2)}  # fmt: skip


@dataclass(frozen=True)
class Case:
    m: int
    n: int
    k: int
    kind: str
    sums: str
    a_row: bool = True
    b_row: bool = False
    operation: str = "mma_sync(d, a, b, c)"

    @property
    def name(self) -> str:
        layout = f"{'r' if self.a_row else 'c'}{'r' if self.b_row else 'c'}"
        suffix = "".join(c for c in self.operation.partition("(")[2] if c.isalpha() and c not in "abcd")[-3:]
        return f"m{self.m}n{self.n}k{self.k}_{self.kind}_{self.sums}_{layout}{suffix}"

    def source(self) -> str:
        memory = MEMORY.get(self.kind, ELEMENT[self.kind])
        element, total = ELEMENT[self.kind], SUM[self.sums]
        shape = f"{self.m}, {self.n}, {self.k}"
        a_layout, b_layout = (("row_major" if row else "col_major") for row in (self.a_row, self.b_row))
        per = {"s4": 8, "u4": 8, "b1": 32}.get(self.kind, 1)
        return f"""
extern "C" __global__ void {self.name}(const {memory}* ap, const {memory}* bp, const {total}* cp, {total}* dp,
    int step) {{
  const int w = threadIdx.x / 32;
  if (w % step != 0) return;
  fragment<matrix_a, {shape}, {element}, {a_layout}> a;
  fragment<matrix_b, {shape}, {element}, {b_layout}> b;
  fragment<accumulator, {shape}, {total}> c, d;
  load_matrix_sync(a, ap + w * {self.m * self.k // per}, {self.k if self.a_row else self.m});
  load_matrix_sync(b, bp + w * {self.n * self.k // per}, {self.n if self.b_row else self.k});
  load_matrix_sync(c, cp + w * {self.m * self.n}, {self.m}, mem_col_major);
  {self.operation};
  for (int i = 0; i < d.num_elements; ++i) d.x[i] = d.x[i] + d.x[i];
  store_matrix_sync(dp + w * {self.m * self.n}, d, {self.n}, mem_row_major);
}}"""

    def ptx_source(self) -> str:
        """The same with PTX instructions, lowered."""
        n_a, n_b, n_sums = REGISTERS[f"m{self.m}n{self.n}k{self.k}", self.kind]
        n_sums = 4 if self.sums == "f16" else n_sums
        shape, per = f"m{self.m}n{self.n}k{self.k}", {"s4": 8, "u4": 8, "b1": 32}.get(self.kind, 1)
        a_layout, b_layout = (("row" if row else "col") for row in (self.a_row, self.b_row))
        memory, total = MEMORY.get(self.kind, ELEMENT[self.kind]), SUM[self.sums]
        letter = {"f64": "d"}.get(self.kind, "r")
        sums = {"f32": "f", "f64": "d"}.get(self.sums, "r")

        def registers(name: str, count: int, first: int) -> tuple[str, str]:
            numbers = ", ".join(f"%{first + i}" for i in range(count))
            constraint = letter if name in "ab" else sums
            equal = "=" if first == 0 else ""
            return f"{{{numbers}}}", ", ".join(f'"{equal}{constraint}"({name}[{i}])' for i in range(count))

        def load(name: str, count: int, layout: str, kind: str, stride: int, address: str) -> str:
            vector, outputs = registers(name, count, 0)
            text = f"wmma.load.{name}.sync.aligned.{layout}.{shape}.global.{kind} {vector}, [%{count}], {stride};"
            return f'asm volatile("{text}" : {outputs} : "l"({address}));'

        operands = [registers("d", n_sums, 0)]
        for name, count in (("a", n_a), ("b", n_b), ("c", n_sums)):
            operands.append(registers(name, count, n_sums + {"a": 0, "b": n_a, "c": n_a + n_b}[name]))
        types = f"{self.sums}.{self.sums}" if self.kind == "f16" else f"{self.sums}.{self.kind}.{self.kind}.{self.sums}"
        bits = {"AND": ".and.popc", "": ".xor.popc"}["AND" * ("AND" in self.operation)] if self.kind == "b1" else ""
        finite = ".satfinite" if "true" in self.operation else ""
        mma = f"wmma.mma{bits}.sync.aligned.{a_layout}.{b_layout}.{shape}.{types}{finite}"
        mma = f'asm volatile("{mma} {", ".join(o[0] for o in operands)};" : {operands[0][1]} : ' + (
            ", ".join(o[1] for o in operands[1:]) + ");"
        )
        vector, inputs = registers("d", n_sums, 1)
        store = f"wmma.store.d.sync.aligned.row.{shape}.global.{self.sums} [%0], {vector}, {self.n};"
        statements = [
            load("a", n_a, a_layout, self.kind, self.k if self.a_row else self.m, f"ap + w * {self.m * self.k // per}"),
            load("b", n_b, b_layout, self.kind, self.n if self.b_row else self.k, f"bp + w * {self.n * self.k // per}"),
            load("c", n_sums, "col", self.sums, self.m, f"cp + w * {self.m * self.n}"),
            mma,
            f'asm volatile("{store}" :: "l"(dp + w * {self.m * self.n}), {inputs});',
        ]
        body = "\n  ".join(f"{lower_asm(parse_asm(text.encode(), 0)).text};" for text in statements)
        operand = "double" if letter == "d" else "unsigned"
        result = {"f": "float", "d": "double", "r": "unsigned"}[sums]
        return f"""
extern "C" __global__ void ptx_{self.name}(const {memory}* ap, const {memory}* bp, const {total}* cp, {total}* dp,
    int step) {{
  const int w = threadIdx.x / 32;
  if (w % step != 0) return;
  {operand} a[{n_a}], b[{n_b}];
  {result} c[{n_sums}], d[{n_sums}];
  {body}
}}"""


#: Registers of A, B and f32, s32 or f64 sums: PTX ISA, "Matrix Fragments for WMMA".
REGISTERS = {
    **{(shape, "f16"): (8, 8, 8) for shape in ("m16n16k16", "m32n8k16", "m8n32k16")},
    ("m16n16k16", "bf16"): (4, 4, 8), ("m32n8k16", "bf16"): (8, 2, 8), ("m8n32k16", "bf16"): (2, 8, 8),
    **{("m16n16k16", kind): (2, 2, 8) for kind in ("s8", "u8")},
    **{("m32n8k16", kind): (4, 1, 8) for kind in ("s8", "u8")},
    **{("m8n32k16", kind): (1, 4, 8) for kind in ("s8", "u8")},
    ("m16n16k8", "tf32"): (4, 4, 8), ("m8n8k4", "f64"): (1, 1, 2), ("m8n8k32", "s4"): (1, 1, 2),
    ("m8n8k32", "u4"): (1, 1, 2), ("m8n8k128", "b1"): (1, 1, 2),
}  # fmt: skip

CASES = [
    *(Case(16, 16, 16, "f16", sums, a, b) for sums in ("f16", "f32") for a in (True, False) for b in (True, False)),
    *(Case(m, n, 16, kind, "f32") for m, n in ((32, 8), (8, 32)) for kind in ("f16", "bf16")),
    Case(16, 16, 16, "bf16", "f32", a_row=False, b_row=True),
    Case(16, 16, 8, "tf32", "f32"),
    Case(8, 8, 4, "f64", "f64", b_row=True),
    *(Case(m, n, 16, kind, "s32") for m, n in ((16, 16), (32, 8), (8, 32)) for kind in ("s8", "u8")),
    Case(16, 16, 16, "s8", "s32", operation="mma_sync(d, a, b, c, true)"),
    Case(8, 8, 32, "s4", "s32"),
    Case(8, 8, 32, "u4", "s32"),
    Case(8, 8, 128, "b1", "s32", operation="bmma_sync(d, a, b, c)"),
    Case(8, 8, 128, "b1", "s32", operation="bmma_sync(d, a, b, c, experimental::bmmaBitOpAND)"),
]


@pytest.fixture(scope="module", params=["gfx942", "gfx90a", "gfx1100", "gfx1201"])
def module(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Module:
    sdk = find_sdk()
    folder = tmp_path_factory.mktemp("wmma")
    source, compiled = folder / "wmma.hip", folder / "wmma.co"
    source.write_text(HEAD + "".join(case.source() + case.ptx_source() for case in CASES))
    command = [sdk.clang, *sdk.device_flags(request.param), f"-I{include_root()}", "-O3", "-c", source, "-o", compiled]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Device(request.param).load(compiled)


def stored(values: NDArray[np.int64], kind: str) -> NDArray[np.generic]:
    """A matrix as it lies in memory."""
    flat = values.reshape(-1)
    match kind:
        case "f16":
            return flat.astype(np.float16)
        case "bf16":
            return (flat.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        case "tf32":
            return flat.astype(np.float32)
        case "f64":
            return flat.astype(np.float64)
        case "s8" | "u8":
            return flat.astype(np.int64).astype(np.uint8)
    bits = int(kind[1:])
    words = (flat & ((1 << bits) - 1)).astype(np.uint64).reshape(-1, 32 // bits)
    return (words << (np.arange(32 // bits, dtype=np.uint64) * np.uint64(bits))).sum(axis=1).astype(np.uint32)


@pytest.mark.parametrize("step", [1, 2], ids=["full", "every-second-warp"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("ptx", [False, True], ids=["c++", "ptx"])
def test_product(module: Module, case: Case, step: int, ptx: bool) -> None:
    rng = np.random.default_rng(case.m + case.k)
    low, high = RANGE[case.kind]
    a = rng.integers(low, high, (WARPS, case.m, case.k))
    b = rng.integers(low, high, (WARPS, case.k, case.n))
    c = rng.integers(-50, 50, (WARPS, case.m, case.n))
    if "AND" in case.operation or case.kind != "b1":
        product = a @ b
    else:
        product = (a[:, :, :, None] ^ b[:, None, :, :]).sum(axis=2)
    if "true" in case.operation:
        c[0, 0, 0], c[0, 1, 1] = 2**31 - 2, -(2**31) + 1
        a[0, :2], b[0, :, :2] = 100, 100
        a[0, 1] = -100
        product = a @ b
    total = np.clip((c + product), -(2**31), 2**31 - 1) if case.sums == "s32" else c + product
    with np.errstate(over="ignore"):
        expected = (1 if ptx else 2) * total.astype(DTYPE[case.sums])
    memory = [stored(x if row else x.transpose(0, 2, 1), case.kind) for x, row in ((a, case.a_row), (b, case.b_row))]
    before = np.ascontiguousarray(c.transpose(0, 2, 1)).astype(DTYPE[case.sums])
    out = np.zeros((WARPS, case.m, case.n), DTYPE[case.sums])
    module.launch(
        f"ptx_{case.name}" if ptx else case.name, grid=1, block=32 * WARPS, args=[*memory, before, out, np.int32(step)]
    )
    for w in range(WARPS):
        assert np.array_equal(out[w], expected[w] if w % step == 0 else np.zeros_like(out[w])), w


def test_host_pass(tmp_path: Path) -> None:
    """The host side of a unit sees the same headers and kernels."""
    sdk = find_sdk()
    source = tmp_path / "wmma.hip"
    source.write_text(HEAD + "".join(case.source() + case.ptx_source() for case in CASES))
    command = [sdk.clang, *sdk.host_flags(), f"-I{include_root()}", "-O1", "-c", source, "-o", tmp_path / "wmma.o"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
