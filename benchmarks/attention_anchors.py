"""Static speed model of attention forward kernels on gfx942: ours, Composable Kernel's and Triton's, in one table.

    pip install -e '.[anchors]'
    nice python benchmarks/attention_anchors.py [--only ours|ck|triton] [--write docs/perf.md] [--check]

- ours: instantiations of the translated tree (``hipport upstream sync && hipport translate upstream_cuda``).
- ck: forward instances that Composable Kernel's own generator writes, from the sdist that ``upstream.toml`` pins, with
  the flags of upstream's ``setup.py`` for ROCm but one (see `CK_FLAGS`).
- triton: ``attn_fwd`` of upstream's ``flash_attn_triton_amd``, in a tile of upstream's own list for CDNA.

What is fetched, generated and compiled lies in hipport's cache. A first run takes some ten CPU minutes, one compiler at
a time; the next one only reads. The model is that of ``hipport perf``; no GPU is involved. ``--write`` puts the table
between two marks of a page; ``--check`` exits with 1 when one of our kernels is behind Composable Kernel's.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipport.core import HipportError
from hipport.core.files import cache_root, write_atomic
from hipport.flash.kernels import Forward, build_entry, programs_for
from hipport.flash.tiles import forward_tile
from hipport.hiprt.program import CompileError
from hipport.perf.analysis import analyse, analysis_json
from hipport.perf.model import Tile
from hipport.sdk import Sdk, find_sdk
from hipport.upstream.pins import Pin, read_pins

ROOT = Path(__file__).resolve().parent.parent
TARGET = "gfx942"
FAMILIES = ("ours", "ck", "triton")
HEAD_DIMS = (64, 128)
MARKS = ("<!-- table of benchmarks/attention_anchors.py -->", "<!-- end of the table -->")

CK_EXAMPLE = "example/ck_tile/01_fmha"
# Upstream's setup.py for HIP 6.2 and later, without `-amdgpu-early-inline-all=true`: with it one compile of clang 22
# did not end in eleven minutes. Contraction is clang's default for HIP, which the SDK's own flags change for CUDA code.
CK_FLAGS = (
    *("-O3", "-std=c++17", "-w", "-DCK_TILE_FMHA_FWD_FAST_EXP2=1", "-fgpu-flush-denormals-to-zero"),
    *(f"-DCK_ENABLE_{name}" for name in ("BF16", "BF8", "FP16", "FP32", "FP64", "FP8", "INT8")),
    *("-DCK_USE_XDL", "-DUSE_PROF_API=1", "-D__HIP_PLATFORM_HCC__=1", "-DCK_TILE_FLOAT_TO_BFLOAT16_DEFAULT=3"),
    *("-mllvm", "--lsr-drop-solution=1", "-fno-offload-uniform-block", "-mllvm", "-enable-post-misched=0"),
    *("-mllvm", "-amdgpu-function-calls=false", "-ffp-contract=fast-honor-pragmas"),
)
CK_MINREG = ("-mllvm", "-amdgpu-sched-strategy=iterative-minreg")
_CK_INSTANCE = re.compile(
    r"fmha_fwd_d(?P<head>\d+)_(?P<type>fp16|bf16)_batch_b(?P<m>\d+)x(?P<n>\d+)x[\dx]+_r(?P<waves>\d+)x1x1_[\w]*"
    r"_qr_async_vr_psddv_nlogits_nbias_(?P<mask>n?mask)_lse_ndropout_nskip_nsquant\.cpp"
)
COMPILE_LIMIT_S = 900

TRITON_TILE = (128, 64)  # with 4 warps, waves_per_eu 2, num_stages 1: one of upstream's configurations for CDNA
TRITON_HEADS, TRITON_LENGTH = 16, 1024  # compile-time constants of the kernel; they fold the uneven tile away


@dataclass(frozen=True)
class Kernel:
    """One kernel of the table.

    Attributes:
        family: of `FAMILIES`.
        head_dim: D.
        type: ``fp16`` or ``bf16``.
        causal: has the mask; the loop that is looked at is the one without it, where the kernel has two.
        tile: what an iteration of the loop computes.
        how: compiler options that matter, for the reader.
    """

    family: str
    head_dim: int
    type: str
    causal: bool
    tile: Tile
    how: str = ""


@dataclass(frozen=True)
class Built:
    """A compiled kernel: the file, LDS bytes of a workgroup where they are dynamic, and part of the kernel's name."""

    path: Path
    lds_bytes: int | None = None
    name: str | None = None


@dataclass(frozen=True)
class Row:
    """What the model says of one kernel, see ``docs/perf.md``; ``clk_per_mflop_all`` has every block of the loop."""

    kernel: Kernel
    vgprs: int
    lds_bytes: int
    spills_in_loop: int
    valu_per_score: float
    clk_per_mflop: float
    clk_per_mflop_all: float
    waves: float
    utilisation: float
    redundancy: float


Recipe = tuple[Kernel, Callable[[], Built]]


# --- ours ---


def our_recipes(tree: Path, sdk: Sdk) -> Iterator[Recipe]:
    """Lengths that are multiples of the tile, as in the other two."""
    from hipport.hiprt.build import build_runtime

    wanted = [
        Forward(head, bf16, causal=causal, even_mn=True)
        for head in HEAD_DIMS
        for bf16 in (False, True)
        for causal in (False, True)
    ]
    for group in programs_for(wanted):
        for what in group:
            assert isinstance(what, Forward)
            shape = forward_tile(what.head_dim, TARGET)
            tile = Tile(shape.block_m, shape.block_n, what.head_dim, shape.warps)

            def build(what: Forward = what, group: Sequence[Any] = group) -> Built:
                program = build_entry(group, tree, TARGET, sdk, build_runtime(sdk))
                return Built(program, our_lds_bytes(what.head_dim), our_kernel_name(what))

            kind = "bf16" if what.bf16 else "fp16"
            yield Kernel("ours", what.head_dim, kind, what.causal, tile, "-O3"), build


def our_lds_bytes(head_dim: int) -> int:
    """``kSmemSize`` of upstream's ``Flash_fwd_kernel_traits``: 16-bit Q, K and V; Q may share."""
    tile = forward_tile(head_dim, TARGET)
    queries, keys_values = tile.block_m, 2 * tile.block_n
    return 2 * head_dim * (max(queries, keys_values) if tile.share_q_k else queries + keys_values)


def our_kernel_name(what: Forward) -> str:
    """The end of the demangled instantiation: its flags, in the order of upstream's template parameters."""
    flags = (
        *(what.dropout, what.causal, what.local, what.alibi),
        *(what.even_mn, what.even_k, what.softcap, what.return_softmax),
    )
    return f", {', '.join(str(flag).lower() for flag in flags)}>("


# --- Composable Kernel ---


def upstream_sources(pin: Pin) -> Path:
    """Composable Kernel and upstream's Triton kernels, unpacked into the cache.

    Not into ``upstream_cuda``: `hipport translate` would take what lies there for sources.
    """
    from hipport.upstream.archive import unpack
    from hipport.upstream.fetch import fetch

    paths = (*pin.paths(("anchors",)), "flash_attn/flash_attn_triton_amd")
    folder = cache_root() / "anchors" / f"{pin.name}-{pin.version}-{pin.sha256[:12]}"
    if not folder.is_dir():
        say(f"{pin.name} {pin.version}: fetch and unpack {', '.join(paths)}")
        archive, _ = fetch(pin.name, pin.version, pin.sha256)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".unpack-", dir=folder.parent) as temporary:
            new = Path(temporary) / "new"
            new.mkdir()
            unpack(archive, new, paths)
            new.rename(folder)
    return folder


def ck_instance(name: str) -> Kernel | None:
    """The kernel of a generated file's name, None for one that the table does not show."""
    found = _CK_INSTANCE.fullmatch(name)
    if found is None or int(found["head"]) not in HEAD_DIMS:
        return None
    head = int(found["head"])
    tile = Tile(int(found["m"]), int(found["n"]), head, int(found["waves"]))
    return Kernel("ck", head, found["type"], found["mask"] == "mask", tile)


def ck_recipes(sources: Path, sdk: Sdk) -> Iterator[Recipe]:
    """Each instance with the default schedule; head dimension 128, which it spills, with minimal registers too."""
    root = sources / "csrc/composable_kernel"
    with tempfile.TemporaryDirectory(prefix="hipport-anchors-") as temporary:
        heads = ",".join(map(str, HEAD_DIMS))
        command = [sys.executable, str(root / CK_EXAMPLE / "generate.py"), "-d", "fwd", "--receipt", "2"]
        run([*command, "--optdim", heads, "--output_dir", temporary], "generate.py of Composable Kernel", 120)
        generated = sorted(Path(temporary).glob("*.cpp"))
        texts = {kernel: path.read_bytes() for path in generated if (kernel := ck_instance(path.name))}
    if len(texts) != len(HEAD_DIMS) * 4:
        raise HipportError(
            f"Composable Kernel's generator made {len(texts)} of the {len(HEAD_DIMS) * 4} instances",
            "its names have changed: adapt _CK_INSTANCE",
        )
    includes = [f"-I{root / name}" for name in ("include", "library/include", CK_EXAMPLE)]
    for kernel, text in texts.items():
        for extra in ((), CK_MINREG) if kernel.head_dim == 128 else ((),):
            how = "upstream's flags - early-inline-all" + (" + iterative-minreg" if extra else "")

            def build(text: bytes = text, extra: Sequence[str] = extra) -> Built:
                return Built(ck_object(text, (*CK_FLAGS, *extra), includes, sources, sdk))

            yield Kernel("ck", kernel.head_dim, kernel.type, kernel.causal, kernel.tile, how), build


def ck_object(text: bytes, flags: Sequence[str], includes: Sequence[str], sources: Path, sdk: Sdk) -> Path:
    """The device code object of a generated instance; the headers are named by the hash of their archive."""
    digest = hashlib.sha256("\0".join((sdk.identity, TARGET, sources.name, *flags)).encode() + text)
    result = cache_root() / "anchors" / "ck" / f"{digest.hexdigest()[:24]}.o"
    if not result.is_file():
        with tempfile.TemporaryDirectory(prefix="hipport-anchors-") as temporary:
            unit, made = Path(temporary) / "unit.cpp", Path(temporary) / "unit.o"
            unit.write_bytes(text)
            command = [str(sdk.clang), *sdk.device_flags(TARGET), *flags, *includes, "-c", str(unit), "-o", str(made)]
            run(command, "clang with an instance of Composable Kernel", COMPILE_LIMIT_S)
            write_atomic(result, made.read_bytes())
    return result


# --- Triton ---


def require_triton() -> None:
    """Raises HipportError when the packages of the extra are missing."""
    missing = [name for name in ("triton", "torch") if importlib.util.find_spec(name) is None]
    if missing:
        raise HipportError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed",
            "run: pip install -e '.[anchors]', or choose another family with --only",
        )


def triton_recipes(sources: Path) -> Iterator[Recipe]:
    """``USE_EXP2`` is the faster form; upstream's Python interface leaves it off."""
    require_triton()
    for name in [name for name in os.environ if name.startswith(("FLASH_ATTENTION_TRITON_AMD_", "TRITON_"))]:
        del os.environ[name]  # a switch that is left on asks for a GPU or changes the kernel
    os.environ["TRITON_CACHE_DIR"] = str(cache_root() / "anchors" / "triton")
    sys.path.insert(0, str(sources / "flash_attn"))
    forward = importlib.import_module("flash_attn_triton_amd.fwd_prefill").attn_fwd.fn
    for head in HEAD_DIMS:
        for kind in ("fp16", "bf16"):
            for causal, exp2 in ((False, True), (True, True), (False, False)):
                tile = Tile(*TRITON_TILE, head, 4)
                how = "waves_per_eu 2" + ("" if exp2 else ", USE_EXP2 off (upstream's default)")

                def build(head: int = head, kind: str = kind, causal: bool = causal, exp2: bool = exp2) -> Built:
                    return triton_object(forward, head, kind, causal, exp2)

                yield Kernel("triton", head, kind, causal, tile, how), build


def triton_arguments(names: Sequence[str], head: int, kind: str, causal: bool, exp2: bool) -> tuple[Any, Any, Any]:
    """Signature, constants and attributes that a call with contiguous tensors (batch, length, heads, D) gives.

    Triton's specialisation: a stride of 1 is a constant, pointers and other strides are multiples of 16, an absent
    tensor is the constant None.
    """
    constants: dict[str, Any] = {
        "SM_SCALE": head**-0.5,
        "IS_CAUSAL": causal,
        "USE_EXP2": exp2,
        "FP8_MAX": None,
        **dict(zip(("BLOCK_M", "BLOCK_N"), TRITON_TILE, strict=True)),
        **dict.fromkeys(("BLOCK_DMODEL", "ACTUAL_BLOCK_DMODEL"), head),
        **dict.fromkeys(("HQ", "HK"), TRITON_HEADS),
        **dict.fromkeys(("MAX_SEQLENS_Q", "MAX_SEQLENS_K"), TRITON_LENGTH),
        **dict.fromkeys(("IS_VARLEN", "IS_INFERENCE", "PRE_LOAD_V", "USE_BIAS", "ENABLE_DROPOUT"), False),
        **dict.fromkeys(("RETURN_SCORES", "USE_ALIBI", "IS_FP8", "FP8_OUTPUT"), False),
        **dict.fromkeys(("stride_qk", "stride_kk", "stride_vn", "stride_on", "stride_lse_m"), 1),
    }
    signature, attributes = {}, {}
    for place, name in enumerate(names):
        if name in ("Q", "K", "V", "Out", "LSE"):
            signature[name] = "*fp32" if name == "LSE" else f"*{kind}"
        elif name.startswith("stride_") and name not in constants and "descale" not in name:
            signature[name] = "i32"
        elif name == "dropout_p":
            signature[name] = "fp32"
            continue
        else:
            constants.setdefault(name, None)
            signature[name] = "constexpr"
            continue
        attributes[(place,)] = [["tt.divisibility", 16]]
    return signature, constants, attributes


def triton_object(forward: Any, head: int, kind: str, causal: bool, exp2: bool) -> Built:
    """Compiled offline; Triton's own cache is used."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(forward, *triton_arguments(forward.arg_names, head, kind, causal, exp2))
    options = {"num_warps": 4, "num_stages": 1, "waves_per_eu": 2, "enable_fp_fusion": True}
    made = triton.compile(source, target=GPUTarget("hip", TARGET, 64), options=options)
    name = f"attn_fwd-{head}-{kind}-{'causal' if causal else 'full'}-{'exp2' if exp2 else 'exp'}.hsaco"
    path = cache_root() / "anchors" / name
    write_atomic(path, made.asm["hsaco"])
    return Built(path, made.metadata.shared)


# --- the table ---


def model(kernel: Kernel, built: Built, sdk: Sdk) -> Row:
    """The figures of ``hipport perf``: the loop's blocks that every iteration executes."""
    found = analysis_json(analyse(built.path, sdk, built.name, kernel.tile, built.lds_bytes, target_name=TARGET))
    if "loop" not in found:
        raise HipportError(f"{built.path.name} has no loop", "this is no attention kernel; see: hipport perf")
    usage = next(k for k in found["kernels"] if k["name"] == found["kernel"])
    cost, every = found["loop"]["always_executed"], found["loop"]["all_blocks"]
    if cost["matrix_redundancy"] is None:
        raise HipportError(f"{built.path.name} has no matrix instruction in its loop", "see: hipport perf")
    return Row(
        kernel,
        vgprs=usage["resources"]["vgprs"],
        lds_bytes=built.lds_bytes or usage["resources"]["lds_bytes"],
        spills_in_loop=found["loop"]["scratch_in_loop"],
        valu_per_score=cost["valu_per_score"],
        clk_per_mflop=cost["issue_clk_per_mflop"],
        clk_per_mflop_all=every["issue_clk_per_mflop"],
        waves=usage["occupancy"]["waves_per_simd"],
        utilisation=cost["utilisation_estimate"],
        redundancy=cost["matrix_redundancy"],
    )


HEADINGS = (
    *("kernel", "type", "mask", "tile", "VGPR", "LDS", "spills in loop"),
    *("V/elt", "clk/MFLOP", "all blocks", "waves", "util", "redundancy", "options"),
)
NAMES = {"ours": "ours", "ck": "Composable Kernel", "triton": "Triton"}


def table(rows: Sequence[Row]) -> str:
    """Markdown, sorted by head dimension, type, mask and family."""
    lines = [f"| {' | '.join(HEADINGS)} |", "|---|---|---|---|" + "---:|" * 9 + "---|"]

    def order(row: Row) -> tuple[Any, ...]:
        k = row.kernel
        return k.head_dim, k.type == "bf16", k.causal, FAMILIES.index(k.family), k.how

    for row in sorted(rows, key=order):
        k = row.kernel
        cells = (
            *(f"{NAMES[k.family]}, head dim {k.head_dim}", k.type, "causal" if k.causal else "none"),
            *(f"{k.tile.queries}x{k.tile.keys}", row.vgprs, f"{row.lds_bytes / 1024:.1f} K", row.spills_in_loop),
            *(f"{row.valu_per_score:.2f}", f"{row.clk_per_mflop:.0f}", f"{row.clk_per_mflop_all:.0f}"),
            *(f"{row.waves:g}", f"{row.utilisation:.2f}", f"{row.redundancy:g}", k.how),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def compilers(families: Sequence[str], sdk: Sdk, pin: Pin) -> str:
    """Compilers and versions of the run, one line a family."""
    clang = re.sub(r"^.*?(clang version \S+).*$", r"\1", sdk.clang_version)
    hip = f"{clang}, HIP {'.'.join(map(str, sdk.hip_version[:2]))}"
    lines = {"ours": f"ours: {hip}", "ck": f"Composable Kernel of {pin.name} {pin.version}: {hip}"}
    if "triton" in families:
        lines["triton"] = f"Triton {importlib.import_module('triton').__version__}, its own LLVM"
    return "".join(f"- {lines[family]}\n" for family in families)


def behind(rows: Sequence[Row]) -> list[str]:
    """Where ours is worse than Composable Kernel's fastest without spills, of the same head, type and mask."""
    found = []
    for ours in (row for row in rows if row.kernel.family == "ours"):
        k = ours.kernel
        same = [
            row
            for row in rows
            if row.kernel.family == "ck"
            and (row.kernel.head_dim, row.kernel.type, row.kernel.causal) == (k.head_dim, k.type, k.causal)
            and row.spills_in_loop == 0
        ]
        name = f"head dim {k.head_dim}, {k.type}{', causal' if k.causal else ''}"
        if ours.spills_in_loop:
            found.append(f"{name}: {ours.spills_in_loop} spills in the loop")
        if round(ours.redundancy, 3) != 1:
            found.append(f"{name}: redundancy {ours.redundancy:g}")
        for best in sorted(same, key=lambda row: row.clk_per_mflop)[:1]:
            pairs = (
                ("V/elt", ours.valu_per_score, best.valu_per_score, 1),
                ("clk/MFLOP", ours.clk_per_mflop, best.clk_per_mflop, 1),
                ("util", ours.utilisation, best.utilisation, -1),
                ("waves", ours.waves, best.waves, -1),
            )
            worse = [(what, a, b) for what, a, b, sign in pairs if sign * a > sign * b]
            found += [f"{name}: {what} {a:g}, Composable Kernel {b:g}" for what, a, b in worse]
    return found


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}", "name the page that holds the marks") from error


def replaced(page: str, text: str) -> str:
    """The page with ``text`` between the marks."""
    begin, end = (page.find(mark) for mark in MARKS)
    if not 0 <= begin < end:
        raise HipportError("the page has no marks for the table", f"add a line {MARKS[0]} and a line {MARKS[1]}")
    return f"{page[:begin]}{MARKS[0]}\n\n{text}\n{page[end:]}"


# --- running ---


def run(command: Sequence[str], what: str, limit_s: float) -> None:
    """Run a program that must succeed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False)
    except subprocess.TimeoutExpired as error:
        raise HipportError(f"{what} did not end in {limit_s:g} s", "a free machine, or another compiler") from error
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise HipportError(f"{what} failed: {said[-1] if said else done.returncode}", "see: hipport doctor")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measured(families: Sequence[str], tree: Path, pin: Pin, sdk: Sdk) -> list[Row]:
    """Compile and model, one kernel at a time."""
    recipes: list[Recipe] = []
    if "triton" in families:
        require_triton()  # before minutes of compiling
    sources = upstream_sources(pin) if {"ck", "triton"} & set(families) else Path()
    if "ours" in families:
        recipes += our_recipes(tree, sdk)
    if "ck" in families:
        recipes += ck_recipes(sources, sdk)
    if "triton" in families:
        recipes += triton_recipes(sources)
    rows = []
    for number, (kernel, build) in enumerate(recipes, 1):
        mask = "causal" if kernel.causal else "no mask"
        start = time.monotonic()
        rows.append(model(kernel, build(), sdk))
        name = f"{NAMES[kernel.family]}, head dim {kernel.head_dim}, {kernel.type}, {mask}, {kernel.how}"
        say(f"{number}/{len(recipes)} {name}: {time.monotonic() - start:.1f} s")
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; returns 1 when --check finds ours behind, 2 when something is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=FAMILIES, help="one family only")
    parser.add_argument("--tree", type=Path, default=ROOT / "generated_hip", help="the translated tree")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="also put the table between the marks of this page")
    parser.add_argument("--check", action="store_true", help="exit with 1 when ours is behind Composable Kernel's")
    given = parser.parse_args(arguments)
    if given.only and (given.write or given.check):
        parser.error("--write and --check need all families")
    families = (given.only,) if given.only else FAMILIES
    try:
        pin = next(pin for pin in read_pins(ROOT / "upstream_cuda") if pin.name == "flash-attn")
        if given.write:
            replaced(read(given.write), "")  # before minutes of compiling
        sdk = find_sdk()
        rows = measured(families, given.tree, pin, sdk)
        text = f"{table(rows)}\n{compilers(families, sdk, pin)}"
        if given.write:
            write_atomic(given.write, replaced(read(given.write), text).encode())
    except CompileError as error:
        say(f"{error.output}\nattention_anchors: {error.message}")
        return error.exit_code
    except HipportError as error:
        say(f"attention_anchors: {error.message}\n  next: {error.next_step}")
        return error.exit_code
    print(text)
    missed = behind(rows) if given.check else []
    for line in missed:
        print(f"behind: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
