"""PTX special registers (PTX ISA, chapter 10) as C++ expressions."""

from __future__ import annotations

from hipport.rewrite.transforms.ptx_context import Context, Refusal

_DIMENSIONS = {"tid": "threadIdx", "ntid": "blockDim", "ctaid": "blockIdx", "nctaid": "gridDim"}
_PLAIN = {
    "laneid": "hipport::lane_id()",
    "warpid": "hipport::warp_id()",
    "nwarpid": "hipport::n_warps()",
    "lanemask_eq": "hipport::lanemask_eq()",
    "lanemask_lt": "hipport::lanemask_lt()",
    "lanemask_le": "hipport::lanemask_le()",
    "lanemask_gt": "hipport::lanemask_gt()",
    "lanemask_ge": "hipport::lanemask_ge()",
    "clock": "static_cast<unsigned>(clock64())",
    "clock_hi": "static_cast<unsigned>(static_cast<unsigned long long>(clock64()) >> 32)",
    "clock64": "static_cast<unsigned long long>(clock64())",
    "smid": "hipport::ptx::smid()",
    "nsmid": "hipport::ptx::nsmid()",
    "globaltimer": "hipport::ptx::globaltimer()",
    "globaltimer_lo": "static_cast<unsigned>(hipport::ptx::globaltimer())",
    "globaltimer_hi": "static_cast<unsigned>(hipport::ptx::globaltimer() >> 32)",
    "dynamic_smem_size": "hipport::ptx::dynamic_smem_size()",
    "total_smem_size": "hipport::ptx::total_smem_size()",
    # A launch without clusters is a launch of clusters of one block.
    "is_explicit_cluster": "false",
    "cluster_ctarank": "0u",
    "cluster_nctarank": "1u",
}
_CLUSTER = {"clusterid": "ctaid", "nclusterid": "nctaid"}


def special_register(context: Context, name: str, kind: str) -> str:
    """C++ expression for ``%name``.

    Raises:
        Refusal: the register has no counterpart.
    """
    base, _, dimension = name.partition(".")
    if base in _DIMENSIONS and dimension in ("x", "y", "z"):
        return f"{_DIMENSIONS[base]}.{dimension}"
    if base in _CLUSTER and dimension in ("x", "y", "z"):
        return f"{_DIMENSIONS[_CLUSTER[base]]}.{dimension}"
    if base == "cluster_ctaid" and dimension:
        return "0u"
    if base == "cluster_nctaid" and dimension:
        return "1u"
    if base in _PLAIN and not dimension:
        if base in ("laneid", "warpid", "nwarpid") or base.startswith("lanemask"):
            context.includes.add("hipport/warp.h")
        if base in ("smid", "nsmid"):
            context.note(
                "HP507",
                "%smid is a sparse hardware number on AMD: it can reach beyond the number of compute units",
                "size arrays indexed by it by hipport::ptx::nsmid(), not by multiProcessorCount",
                f"%{base}",
            )
        if base.startswith("globaltimer"):
            context.note(
                "HP508",
                "%globaltimer becomes AMD's constant-rate counter in nanoseconds, with another origin",
                "use it for differences only",
                "%globaltimer",
            )
        return _PLAIN[base]
    raise Refusal(
        "HP503",
        f"PTX special register '%{name}' has no counterpart on AMD",
        "pass the value as a kernel argument",
        f"%{base}",
    )
