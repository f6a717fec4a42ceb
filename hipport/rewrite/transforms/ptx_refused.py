"""PTX that AMD has nothing like: recognised, and reported with what takes its place."""

from __future__ import annotations

import re

from hipport.rewrite.transforms.ptx_context import Context, Modifiers, Refusal, lowers
from hipport.syntax.ptx import Instruction

#: Pattern over the full instruction name -> what a port does instead. The first that matches counts.
HOPPER: tuple[tuple[str, str], ...] = (
    (r"wgmma\..*|wgmma", "write the product with MFMA (CDNA) or WMMA (RDNA), operands in registers"),
    (r"tcgen05\..*", "write the product with MFMA: there is no tensor memory, accumulators live in registers"),
    (r"cp\.async\.bulk\..*|cp\.reduce\.async\.bulk.*", "load tiles with vector loads into LDS, then a barrier"),
    (r"tensormap\..*|prefetch\.tensormap|fence\.proxy\.tensormap.*", "compute tile addresses in the kernel"),
    (r"mbarrier\.(?:arrive|arrive_drop)\.expect_tx.*|mbarrier\.(?:expect_tx|complete_tx).*",
     "use plain loads and a workgroup barrier: AMD does not count bytes of copies in flight"),
    (r"mbarrier\..*cluster.*", "AMD has no clusters: use one workgroup, or global memory between workgroups"),
    (r"st\.bulk.*", "write zeros in a loop over the threads of the block"),
    (r"st\.async.*|red\.async.*|mapa.*|getctarank.*|barrier\.cluster.*|.*shared::cluster.*",
     "AMD has no clusters: exchange through global memory with release/acquire atomics"),
    (r"clusterlaunchcontrol.*", "use a persistent kernel with an atomic work counter"),
    (r"multimem\..*", "reduce through peer memory with atomics, or with RCCL"),
    (r"setmaxnreg.*", "set the register budget per kernel with __launch_bounds__: AMD waves cannot trade registers"),
    (r"mma\.sp.*", "use v_smfmac (gfx942 and later) or expand the operand to dense"),
    (r"mma\..*(?:kind::|block_scale).*", "use v_mfma_scale_f32_* (gfx950)"),
    (r"cvt\.rs.*", "round with random bits in C++, or use v_cvt_sr_* (gfx942 fp8, gfx950)"),
    (r"fma.*\.oob.*", "use fma and test the bounds: the NaN that it looks for comes from tensor maps only"),
    (r"(?:tex|tld4|suld|sust|sured|txq|suq|istypep).*", "use HIP texture functions where the target has images (RDNA)"),
    (r"(?:call|ret|brx|alloca|stacksave|stackrestore).*", "write the control flow in C++"),
)  # fmt: skip


def hopper(instruction: Instruction) -> Refusal:
    """The refusal for an instruction of NVIDIA's later architectures."""
    name = instruction.name
    instead = next((advice for pattern, advice in HOPPER if re.fullmatch(pattern, name)), "redesign this part for AMD")
    return Refusal(
        "HP505", f"PTX '{name}' drives hardware that AMD GPUs do not have", instead, ".".join(name.split(".")[:2])
    )


def is_refused(instruction: Instruction) -> bool:
    """True when the whole instruction is known to have no counterpart."""
    return any(re.fullmatch(pattern, instruction.name) for pattern, _ in HOPPER)


def refusal_of(text: str) -> Refusal | None:
    """The refusal for PTX text whose first instruction has no counterpart."""
    first = re.match(r"[\s{]*(?:@!?\w+\s+)?([a-z]\w*)((?:\.[\w:]+)*)", text)
    if first is None:
        return None
    instruction = Instruction(first[1], tuple(first[2].split(".")[1:]), ())
    return hopper(instruction) if is_refused(instruction) else None


@lowers(
    "wgmma", "tcgen05", "tensormap", "mapa", "getctarank", "clusterlaunchcontrol", "multimem", "setmaxnreg",
    "tex", "tld4", "suld", "sust", "sured", "txq", "suq", "istypep", "call", "ret", "brx", "alloca",
    "stacksave", "stackrestore",
    family="Without counterpart",
)  # fmt: skip
def _refuse(context: Context, modifiers: Modifiers) -> None:
    raise hopper(context.instruction)
