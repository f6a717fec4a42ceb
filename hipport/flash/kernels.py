"""Which instantiation of upstream's kernels a call needs, and the program that runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar

import jinja2

from hipport.core import HipportError, target_named
from hipport.core.files import cache_root, include_root, write_atomic
from hipport.hiprt.build import RuntimeFolder
from hipport.hiprt.program import ProgramPlan, build_program
from hipport.sdk import Sdk

# Fields of upstream's Flash_fwd_params that a call may set; the program looks their offsets up when it is compiled.
FIELDS = [
    "q_ptr",
    "k_ptr",
    "v_ptr",
    "q_batch_stride",
    "k_batch_stride",
    "v_batch_stride",
    "q_row_stride",
    "k_row_stride",
    "v_row_stride",
    "q_head_stride",
    "k_head_stride",
    "v_head_stride",
    "h",
    "h_k",
    "h_h_k_ratio",
    "o_ptr",
    "oaccum_ptr",
    "o_batch_stride",
    "o_row_stride",
    "o_head_stride",
    "p_ptr",
    "softmax_lse_ptr",
    "softmax_lseaccum_ptr",
    "b",
    "seqlen_q",
    "seqlen_k",
    "seqlen_knew",
    "d",
    "seqlen_q_rounded",
    "seqlen_k_rounded",
    "d_rounded",
    "rotary_dim",
    "total_q",
    "scale_softmax",
    "scale_softmax_log2",
    "cu_seqlens_q",
    "cu_seqlens_k",
    "leftpad_k",
    "seqused_k",
    "knew_ptr",
    "vnew_ptr",
    "knew_batch_stride",
    "vnew_batch_stride",
    "knew_row_stride",
    "vnew_row_stride",
    "knew_head_stride",
    "vnew_head_stride",
    "rotary_cos_ptr",
    "rotary_sin_ptr",
    "cache_batch_idx",
    "block_table",
    "block_table_batch_stride",
    "page_block_size",
    "p_dropout",
    "p_dropout_in_uint8_t",
    "rp_dropout",
    "scale_softmax_rp_dropout",
    "window_size_left",
    "window_size_right",
    "softcap",
    "philox_args.seed",
    "philox_args.offset",
    "rng_state",
    "is_bf16",
    "is_causal",
    "is_seqlens_k_cumulative",
    "is_rotary_interleaved",
    "num_splits",
    "alibi_slopes_ptr",
    "alibi_slopes_batch_stride",
    "unpadded_lse",
    "seqlenq_ngroups_swapped",
]
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


Instantiation = Forward | SplitForward


def _name(kernel: str, what: Instantiation) -> str:
    """``fwd-hd64-fp16-causal-even_mn-even_k``: the flags that are set."""
    flags = [field.name for field in fields(what) if getattr(what, field.name) is True and field.name != "bf16"]
    return "-".join((kernel, f"hd{what.head_dim}", "bf16" if what.bf16 else "fp16", *flags))


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


def entry_source(kernels: Sequence[Instantiation]) -> str:
    """C++ of the program for some instantiations: number ``2 n`` is the n-th, ``2 n + 1`` combines its splits."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hipport.flash"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        autoescape=False,
    )
    template = environment.get_template("forward.hip.j2")
    return template.render(kernels=kernels, fields=FIELDS, launch=LAUNCH_TEMPLATE)


def build_entry(kernels: Sequence[Instantiation], tree: Path, target: str, sdk: Sdk, runtime: RuntimeFolder) -> Path:
    """The program for some instantiations, from the cache or compiled now.

    Args:
        kernels: which instantiations.
        tree: a translated FlashAttention tree.
        target: LLVM processor name.
        sdk: the toolchain.
        runtime: what the program is linked against.

    Raises:
        CompileError: it does not compile.
        HipportError: ``tree`` is no translated FlashAttention.
    """
    if not (tree / LAUNCH_TEMPLATE).is_file():
        raise HipportError(
            f"{tree} holds no {LAUNCH_TEMPLATE}", "run: hipport upstream sync && hipport translate upstream_cuda"
        )
    text = entry_source(kernels)
    folder = cache_root() / "flash" / hashlib.sha256(text.encode()).hexdigest()[:24]
    source = folder / "forward.hip"
    if not source.is_file() or source.read_text() != text:
        write_atomic(source, text.encode())
    root = tree.resolve()
    own = include_root()
    folders = (own / "hipport/cute/overlay", root, own, own / "hipport/torchless", root / "csrc/cutlass/include")
    flags = ("-O3", "-w", f"-DHIPPORT_BUILD_TARGET={target_named(target).name}", *(f"-I{path}/" for path in folders))
    return build_program(ProgramPlan(folder, (source.name,), target, flags, movable=(root, own)), sdk, runtime)
