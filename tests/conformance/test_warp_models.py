"""The warp model native64 changes no output, and saves instructions where it applies."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from conformance_compare import differences
from test_conformance import SHARED, run

from hipport.core import SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook

HERE = Path(__file__).parent
PROGRAMS = sorted(path for folder in (HERE / "programs", HERE / "warp", HERE / "unseen", SHARED)
                  for path in folder.glob("*.cu"))  # fmt: skip
# Programs with sites that native64 proves.
REWRITTEN = {
    "a01_shuffle", "a04_block_reduce", "block_reductions", "block_sum", "padded_blocks", "sync_protocols",
    "u02_lane_ids",
}  # fmt: skip


def instructions(text: str) -> int:
    found = re.search(r"([\d,]+) wave-instructions", text)
    assert found is not None, text
    return int(found[1].replace(",", ""))


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return load_rulebook()


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_which_programs_are_rewritten(book: Rulebook, source: Path) -> None:
    options = TranslateOptions(warp_model="native64")
    output = translate_source(SourceFile(source.name, source.read_bytes()), book, options).output
    rewritten = re.search(rb"hipport::(?:native|warp)_(?:reduce|count)", output) is not None
    assert rewritten == (source.stem in REWRITTEN)


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "gfx90a", "gfx1100"])
@pytest.mark.parametrize("source", [p for p in PROGRAMS if p.stem in REWRITTEN], ids=lambda path: path.stem)
def test_outputs_are_those_of_logical32(source: Path, target: str) -> None:
    done = run(source, target, "--warp-model", "native64")
    assert differences(source.stem, done.stdout, source.with_suffix(".out").read_text()) == []
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.sdk
def test_block_reductions_take_fewer_instructions() -> None:
    source = HERE / "warp" / "block_reductions.cu"
    before, after = (run(source, "gfx942", "--stats", "--warp-model", model) for model in ("logical32", "native64"))
    assert before.stdout == after.stdout == source.with_suffix(".out").read_text()
    assert instructions(after.stderr) < 0.9 * instructions(before.stderr)


KINDS = {"int": "INT_M", "unsigned": "UINT_M", "long long": "LLONG_M", "unsigned long long": "ULLONG_M", "float": ""}


def random_kernel(rng: random.Random, number: int) -> tuple[str, str]:
    """A block reduction in one of many spellings, and statements that launch and print it."""
    kind = rng.choice(list(KINDS))
    op = rng.choice(["+"] if kind == "float" else ["+", "&", "|", "^", "min", "max"])
    combine = f"{{v}} = {op}({{v}}, {{x}});" if op in ("min", "max") else f"{{v}} {op}= {{x}};"
    neutral = "-1" if op == "&" else "0"
    if op in ("min", "max") and not (op == "max" and "unsigned" in kind):
        neutral = KINDS[kind] + ("AX" if op == "min" else "IN")
    shuffle = rng.choice(["__shfl_down_sync", "__shfl_xor_sync"])
    mask = rng.choice(["0xffffffff", "~0u", "FULL"])
    head = rng.choice(["int o = 16; o > 0; o >>= 1", "int o = warpSize / 2; o; o /= 2", "int o = 16; o >= 1; o >>= 1"])
    step = combine.format(v="v", x=f"{shuffle}({mask}, v, o)")
    tree = f"for ({head}) {step}"
    if rng.random() < 0.3:
        tree = " ".join(combine.format(v="v", x=f"{shuffle}({mask}, v, {o})") for o in (16, 8, 4, 2, 1))
    first = rng.choice(["lane == 0", "!lane", "threadIdx.x % 32 == 0"])
    warps = rng.choice(["blockDim.x / 32", "(blockDim.x + 31) / 32", "(blockDim.x >> 5)"])
    lines = [
        f"__global__ void k{number}(const {kind}* in, {kind}* out) {{",
        f"  __shared__ {kind} part[32];",
        "  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;",
        f"  {kind} v = in[blockIdx.x * blockDim.x + threadIdx.x];",
        f"  {tree}",
    ]
    stage = rng.choice(["atomic", "tree", "guarded tree", "loop"])
    atomics = {"+": "Add", "&": "And", "|": "Or", "^": "Xor", "min": "Min", "max": "Max"}
    if stage == "atomic" and kind in ("long long", "float"):
        stage = "loop"
    if stage == "atomic":
        lines.append(f"  if ({first}) atomic{atomics[op]}(&out[blockIdx.x], v);")
    else:
        lines += [f"  if ({first}) part[warp] = v;", "  __syncthreads();"]
        read = f"v = {rng.choice(['lane', 'threadIdx.x'])} < {warps} ? part[lane] : {neutral};"
        if stage == "loop":
            lines += ["  if (threadIdx.x == 0) {", f"    {kind} all = part[0];",
                      f"    for (int i = 1; i < {warps}; ++i) {combine.format(v='all', x='part[i]')}",
                      "    out[blockIdx.x] = all;", "  }"]  # fmt: skip
        elif stage == "tree":
            lines += [f"  {read}", f"  if (warp == 0) {{ {tree} }}", "  if (threadIdx.x == 0) out[blockIdx.x] = v;"]
        else:
            lines += [f"  if (threadIdx.x < 32) {{ {read}", f"    {tree}", "    if (lane == 0) out[blockIdx.x] = v; }"]
    threads = 32 * rng.choice([1, 2, 3, 4, 5, 8, 16, 31, 32])
    start = "0" if op in ("+", "|", "^") else neutral
    call = (f"  reset<{kind}>(({kind}){start}); k{number}<<<3, {threads}>>>(data<{kind}>(), data<{kind}>() + 3072);"
            f' tell<{kind}>("k{number}");')  # fmt: skip
    return "\n".join([*lines, "}"]), call


RANDOM = """#include <climits>
#include <cstdio>
#include <cuda_runtime.h>
#define FULL 0xffffffffu
template <class T> T* data() {{
  static T* made = nullptr;
  if (!made) {{
    cudaMallocManaged(&made, sizeof(T) * 3075);
    for (unsigned i = 0; i < 3072; ++i) made[i] = (T)(int)((i * 2654435761u) ^ (i >> 3)) / 3;
  }}
  return made;
}}
template <class T> void reset(T value) {{
  for (int i = 0; i < 3; ++i) data<T>()[3072 + i] = value;
}}
template <class T> void tell(const char* name) {{
  cudaDeviceSynchronize();
  const unsigned char* bytes = (const unsigned char*)(data<T>() + 3072);
  printf("%s", name);
  for (unsigned i = 0; i < 3 * sizeof(T); ++i) printf("%s%02x", i % sizeof(T) ? "" : " ", bytes[i]);
  printf("\\n");
}}
{kernels}
int main() {{
{calls}
}}
"""


def random_program(seed: int, kernels: int = 24) -> str:
    rng = random.Random(seed)
    made = [random_kernel(rng, number) for number in range(kernels)]
    return RANDOM.format(kernels="\n".join(k for k, _ in made), calls="\n".join(c for _, c in made))


@pytest.mark.parametrize("seed", range(2))
def test_random_reductions_are_mostly_proved(book: Rulebook, seed: int) -> None:
    options = TranslateOptions(warp_model="native64")
    output = translate_source(SourceFile("p.cu", random_program(seed).encode()), book, options).output
    integers = re.findall(rb"__global__ void k\d+\(const (?!float)", output)
    assert output.count(b"hipport::native_lane<") > 0.9 * len(integers)
    assert b"hipport::native_reduce_add(v)" in output


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.fuzz
@pytest.mark.parametrize("target", ["gfx942", "gfx90a"])
@pytest.mark.parametrize("seed", range(4))
def test_random_reductions(tmp_path: Path, seed: int, target: str) -> None:
    source = tmp_path / "random.cu"
    source.write_text(random_program(seed))
    before, after = (run(source, target, "--warp-model", model) for model in ("logical32", "native64"))
    assert before.returncode == 0, before.stderr[-2000:]
    assert before.stdout.count("\n") == 24
    assert after.stdout == before.stdout
