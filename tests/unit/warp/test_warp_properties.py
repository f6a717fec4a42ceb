"""Random questions to translated warp functions on the emulator, answered by a model of CUDA's own specification.

One kernel per file asks any of the operations of `cuda_warp_model`: each block of a launch is one random case with an
operation, masks, values, lane arguments, widths and a divergence pattern of its own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from cuda_warp_model import Lane, Operation, bits_of, group_operations, pattern, shuffle_operations, warp_operations

from hipport.core import Severity, SourceFile, TranslateOptions
from hipport.core.files import include_root
from hipport.emulator import Device, Module
from hipport.rewrite import translate_source
from hipport.rulebook import load_rulebook
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

WORDS = {"int": 32, "unsigned": 32, "float": 32, "long long": 64, "unsigned long long": 64, "double": 64, "__half2": 32}
SHUFFLES = shuffle_operations(WORDS)
OTHERS = shuffle_operations({"__nv_bfloat16": 16, "__nv_bfloat162": 32}) + warp_operations()
GROUPS = group_operations()
FILES = {"shuffles": SHUFFLES, "others": OTHERS, "groups": GROUPS}
SOURCE = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_fp16.h>
{include}
namespace cg = cooperative_groups;
template <class T> __device__ T get(unsigned long long v) {{
  T x;
  memcpy(&x, &v, sizeof x);
  return x;
}}
template <class T> __device__ unsigned long long put(T x) {{
  unsigned long long v = 0;
  memcpy(&v, &x, sizeof x);
  return v;
}}
__device__ __noinline__ unsigned long long ask(int operation, unsigned m, unsigned long long v, int a, int w) {{
  __shared__ unsigned long long slot[256];
  unsigned long long r = 0;
  switch (operation) {{
{cases}
  }}
  (void)slot;
  return r;
}}
extern "C" __global__ void questions(const int* operation, const unsigned* mask, const unsigned long long* value,
                                     const int* argument, const int* width, const int* branch,
                                     unsigned long long* out) {{
  const int t = blockIdx.x * blockDim.x + threadIdx.x, op = operation[blockIdx.x];
  if (branch[t] == 1) out[t] = ask(op, mask[t], value[t], argument[t], width[t]);
  else if (branch[t] == 2) out[t] = ask(op, mask[t], value[t], argument[t], width[t]) + 0;
}}
"""


def source(operations: list[Operation]) -> str:
    cases = "\n".join(f"    case {i}: {{ {op.code} break; }}" for i, op in enumerate(operations))
    include = "#include <cuda_bf16.h>" if "bfloat16" in cases else ""
    return SOURCE.format(cases=cases, include=include)


def compiled(folder: Path, name: str, target: str) -> Module:
    options = TranslateOptions(targets=(target,))
    text = source(FILES[name])
    result = translate_source(SourceFile(f"{name}.cu", text.encode()), load_rulebook(), options)
    assert [d.message for d in result.diagnostics if d.severity is Severity.ERROR] == []
    sdk = find_sdk()
    hip, binary = folder / f"{name}.hip", folder / f"{name}-{target}.co"
    hip.write_bytes(result.output)
    command = [sdk.clang, *sdk.device_flags(target), f"-I{include_root()}", "-O2", "-c", hip, "-o", binary]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return Device(target).load(binary)


Modules = Callable[[str, str], Module]


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Modules:
    made: dict[tuple[str, str], Module] = {}
    folder = tmp_path_factory.mktemp("questions")

    def of(name: str, target: str) -> Module:
        if (name, target) not in made:
            made[name, target] = compiled(folder, name, target)
        return made[name, target]

    return of


@dataclass
class Case:
    """One block: an operation and what each thread brings."""

    operation: int
    threads: int
    branch: list[int]
    mask: list[int]
    value: list[int]
    argument: list[int]
    width: list[int]

    def groups(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Warp and lanes that are in one branch together."""
        for base in range(0, self.threads, 32):
            for side in (1, 2):
                lanes = tuple(t - base for t in range(base, min(base + 32, self.threads)) if self.branch[t] == side)
                if lanes:
                    yield base // 32, lanes


def case(rng: np.random.Generator, number: int, operation: Operation, threads: int) -> Case:
    branch = rng.choice([0, 1, 1, 2, 2], threads)
    if operation.masks == "tile":
        chosen = rng.choice([0, 1, 1, 2], threads // operation.tile + 1)
        branch = chosen[np.arange(threads) // operation.tile]
    elif operation.masks == "full" or rng.random() < 0.3:
        branch = np.ones(threads, int)
    value = rng.integers(0, 2**63, threads, dtype=np.uint64) >> np.uint64(rng.choice([0, 20, 40, 58]))
    if operation.few:
        value = rng.choice(rng.integers(0, 2**62, int(rng.integers(1, 4)), dtype=np.uint64), threads)
    values = [int(x) & ((1 << operation.bits) - 1) for x in value]
    if operation.numbers:
        values = [pattern(operation.numbers, float(x)) for x in rng.integers(-500, 500, threads)]
    argument = rng.integers(0, 32, threads)
    if rng.random() < 0.3:
        argument = rng.integers(-70, 70, threads)
    made = Case(number, threads, branch.tolist(), [0] * threads, values, argument.tolist(),
                rng.choice([1, 2, 4, 8, 16, 32], threads).tolist())  # fmt: skip
    for warp, lanes in made.groups():
        pieces = rng.integers(0, 3, len(lanes)) if operation.masks == "split" else np.zeros(len(lanes), int)
        width = int(rng.choice([1, 2, 4, 8, 16, 32]))  # one width for lanes that meet
        for piece in range(3):
            members = [lane for lane, p in zip(lanes, pieces, strict=True) if p == piece]
            for lane in members:
                made.mask[warp * 32 + lane] = bits_of(members)
                made.width[warp * 32 + lane] = width
    return made


def answers(module: Module, cases: list[Case], threads: int) -> np.ndarray:
    def stacked(name: str, kind: type) -> np.ndarray:
        return np.array([getattr(c, name) for c in cases]).astype(kind).ravel()

    value = np.array([x for c in cases for x in c.value], np.uint64)
    out = np.zeros(len(value), np.uint64)
    arguments = [stacked("operation", np.int32), stacked("mask", np.uint32), value, stacked("argument", np.int32),
                 stacked("width", np.int32), stacked("branch", np.int32), out]  # fmt: skip
    module.launch("questions", grid=len(cases), block=threads, args=arguments)
    return out.reshape(len(cases), threads)


def differences(module: Module, operations: list[Operation], rounds: int, seed: int, threads: int) -> list[str]:
    """Ask every operation ``rounds`` times; the answers that CUDA does not give."""
    rng = np.random.default_rng(seed)
    cases = [
        case(rng, i, op, threads)
        for _ in range(rounds)
        for i, op in enumerate(operations)
        if op.masks not in ("tile", "full") or threads % 32 == 0
    ]
    wrong = []
    asked = 0
    for at, got in zip(cases, answers(module, cases, threads), strict=True):
        operation = operations[at.operation]
        for warp, lanes in at.groups():
            values = {lane: at.value[warp * 32 + lane] for lane in lanes}
            for lane in lanes:
                t = warp * 32 + lane
                question = Lane(
                    lane, lanes, at.mask[t], values, at.argument[t], at.width[t], warp, (threads + 31) // 32
                )
                expected = operation.model(question)
                asked += expected is not None
                if expected is not None and int(got[t]) != expected:
                    wrong.append(f"{operation.name}: thread {t} got {int(got[t]):#x}, CUDA gives {expected:#x}")
    assert asked > 10 * len(cases)
    return wrong


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("target", ["gfx942", "gfx1201"])
def test_sample(modules: Modules, name: str, target: str) -> None:
    assert differences(modules(name, target), FILES[name], 1, 1, 96)[:5] == []


@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.parametrize("threads", [224, 201])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("target", ["gfx942", "gfx90a", "gfx1100", "gfx1201"])
def test_many(modules: Modules, name: str, target: str, threads: int) -> None:
    assert differences(modules(name, target), FILES[name], 12, threads, threads)[:5] == []


def test_the_model_is_not_the_header() -> None:
    """Single answers that the CUDA C++ Programming Guide and the PTX ISA spell out."""
    by_name = {op.name: op for op in SHUFFLES + OTHERS + GROUPS}
    values = {lane: 100 + lane for lane in range(32)}

    def ask(name: str, lane: int, argument: int = 0, width: int = 32) -> int | None:
        return by_name[name].model(Lane(lane, tuple(range(32)), 0xFFFFFFFF, values, argument, width, 0, 1))

    assert ask("idx int", 3, 33) == 101  # srcLane modulo width
    assert ask("up int", 1, 2) == 101  # unchanged below
    assert ask("down int run-time width", 7, 1, 8) == 107  # does not cross segments
    assert ask("xor int run-time width", 9, 8, 8) == 101  # may reach earlier segments
    assert ask("xor int run-time width", 1, 8, 8) == 101  # not later ones
    assert ask("lanemask_ge", 31) == 0x80000000
    assert ask("coalesced rank", 5) == 5 | 32 << 8
