"""Which instantiation of upstream's kernels a call needs, and the library of C entry points that holds it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import jinja2

from hipport.core import HipportError, target_named
from hipport.core.files import cache_root, include_root, write_atomic
from hipport.flash.library import HEADER, layout, parameter_fields
from hipport.hiprt.build import RuntimeFolder, build_runtime
from hipport.hiprt.program import ProgramPlan, build_program
from hipport.sdk import Sdk, find_sdk

# Fields of hipport_flash_params whose names in upstream's Flash_fwd_params are others.
_UPSTREAM_NAMES = {"philox_seed": "philox_args.seed", "philox_offset": "philox_args.offset"}
LIBRARY = "libhipport_flash.so"
ENTRIES_HEADER = "hipport_flash_entries.h"
HEAD_DIMS = (32, 64, 96, 128, 192, 256)
LAUNCH_TEMPLATE = "csrc/flash_attn/src/flash_fwd_launch_template.h"


@dataclass(frozen=True, slots=True)
class Forward:
    """One instantiation of ``flash_fwd_kernel``; names are upstream's template parameters."""

    split: ClassVar[bool] = False
    head_dim: int
    bf16: bool
    dropout: bool = False
    causal: bool = False
    local: bool = False
    alibi: bool = False
    even_mn: bool = False
    even_k: bool = True
    softcap: bool = False
    return_softmax: bool = False

    def __str__(self) -> str:
        return _name("fwd", self)

    @property
    def entry(self) -> str:
        """Name of its C function."""
        return _c_name(str(self))

    @property
    def combine_entry(self) -> str:
        """None of these needs its results combined."""
        return ""


@dataclass(frozen=True, slots=True)
class SplitForward:
    """One instantiation of ``flash_fwd_splitkv_kernel``, with the combine kernel when ``log_splits`` is not 0."""

    split: ClassVar[bool] = True
    head_dim: int
    bf16: bool
    causal: bool = False
    local: bool = False
    alibi: bool = False
    even_mn: bool = False
    even_k: bool = True
    softcap: bool = False
    append_kv: bool = False
    log_splits: int = 0

    def __str__(self) -> str:
        return _name("split", self) + (f"-splits{2**self.log_splits}" if self.log_splits else "")

    @property
    def entry(self) -> str:
        """Name of its C function."""
        return _c_name(str(self))

    @property
    def combine_entry(self) -> str:
        """Name of the C function that combines its splits; empty when there are none."""
        return _c_name(str(self).replace("split", "combine", 1)) if self.log_splits else ""


Instantiation = Forward | SplitForward


def _name(kernel: str, what: Instantiation) -> str:
    """``fwd-hd64-fp16-causal-even_mn-even_k``: the flags that are set."""
    flags = [field.name for field in fields(what) if getattr(what, field.name) is True and field.name != "bf16"]
    return "-".join((kernel, f"hd{what.head_dim}", "bf16" if what.bf16 else "fp16", *flags))


def _c_name(text: str) -> str:
    return "hipport_" + text.replace("-", "_")


def padded_head_dim(head_dim: int) -> int:
    """The instantiated head dimension that serves ``head_dim``.

    Raises:
        HipportError: larger than upstream supports.
    """
    for padded in HEAD_DIMS:
        if head_dim <= padded:
            return padded
    raise HipportError(f"head dimension {head_dim} is over 256", "FlashAttention supports up to 256")


KERNELS_PER_PROGRAM = 4  # most of a compilation is what instantiations of one head dimension share; memory limits it


def programs_for(kernels: Sequence[Instantiation]) -> list[tuple[Instantiation, ...]]:
    """The instantiations in groups that are compiled together: of one kind, head dimension and type."""
    families: dict[tuple[bool, int, bool], list[Instantiation]] = {}
    for what in sorted(set(kernels), key=str):  # the same group whatever asked first: it is found in the cache
        families.setdefault((what.split, what.head_dim, what.bf16), []).append(what)
    n = KERNELS_PER_PROGRAM
    return [tuple(family[at : at + n]) for family in families.values() for at in range(0, len(family), n)]


def entries_source(kernels: Sequence[Instantiation]) -> str:
    """HIP source of a library's entry points."""
    fields = [(name, _UPSTREAM_NAMES.get(name, name)) for name in parameter_fields()]
    return _render("entries.hip.j2", kernels=kernels, fields=fields, launch=LAUNCH_TEMPLATE, layout=layout())


def entries_header(kernels: Sequence[Instantiation]) -> str:
    """C header that declares a library's entry points."""
    return _render("entries.h.j2", kernels=kernels)


def _render(template: str, **values: object) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hipport.flash"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(template).render(**values)


def build_entry(kernels: Sequence[Instantiation], tree: Path, target: str, sdk: Sdk, runtime: RuntimeFolder) -> Path:
    """The library of some instantiations, from the cache or compiled now.

    Args:
        kernels: which instantiations.
        tree: a translated FlashAttention tree.
        target: LLVM processor name.
        sdk: the toolchain.
        runtime: what the library is linked against.

    Raises:
        CompileError: it does not compile.
        HipportError: ``tree`` is no translated FlashAttention.
    """
    translate = "run: hipport upstream sync && hipport translate upstream_cuda"
    if not (tree / LAUNCH_TEMPLATE).is_file():
        raise HipportError(f"{tree} holds no {LAUNCH_TEMPLATE}", translate)
    if b"cudaStream_t" in (tree / LAUNCH_TEMPLATE).read_bytes():
        raise HipportError(f"{tree} is not translated: its {LAUNCH_TEMPLATE} is CUDA", translate)
    text = entries_source(kernels)
    folder = cache_root() / "flash" / hashlib.sha256(text.encode()).hexdigest()[:24]
    source = folder / "entries.hip"
    if not source.is_file() or source.read_text() != text:
        write_atomic(source, text.encode())
    root = tree.resolve()
    own = include_root()
    folders = (own / "hipport/cute/overlay", root, own, own / "hipport/torchless", root / "csrc/cutlass/include")
    flags = ("-O3", "-w", f"-DHIPPORT_BUILD_TARGET={target_named(target).name}", *(f"-I{path}/" for path in folders))
    plan = ProgramPlan(folder, (source.name,), target, flags, movable=(root, own), library=LIBRARY)
    return build_program(plan, sdk, runtime)


def export(
    kernels: Sequence[Instantiation],
    folder: Path | str,
    tree: Path | str = "generated_hip",
    target: str = "gfx942",
) -> None:
    """Write a library of entry points and its headers for C and C++ programs; needs no PyTorch.

    Args:
        kernels: which instantiations, at best of one head dimension and type; each takes about 20 s of CPU.
        folder: receives ``libhipport_flash.so``, ``hipport_flash_entries.h`` and ``hipport/flash.h``.
        tree: a translated FlashAttention tree.
        target: LLVM processor name.

    Raises:
        CompileError: one does not compile.
        HipportError: ``tree`` is no translated FlashAttention, there is no toolchain, or ``kernels`` is empty or
            names a head dimension that upstream does not instantiate.
    """
    if not kernels:
        raise HipportError("no instantiation to export", "name at least one: Forward(64, bf16=False)")
    for what in kernels:
        if what.head_dim not in HEAD_DIMS:
            raise HipportError(
                f"{what}: upstream instantiates no head dimension {what.head_dim}",
                f"take one of {', '.join(map(str, HEAD_DIMS))}",
            )
    target = target_named(target).name
    sdk = find_sdk()
    path = build_entry(sorted(set(kernels), key=str), Path(tree), target, sdk, build_runtime(sdk))
    out = Path(folder)
    write_atomic(out / LIBRARY, path.read_bytes(), mode=0o755)
    write_atomic(out / ENTRIES_HEADER, entries_header(kernels).encode())
    write_atomic(out / HEADER, (include_root() / HEADER).read_bytes())
