"""AMD GPU targets: the facts that rules, builds and checks depend on.

Sources: AMD CDNA2/CDNA3/CDNA4 and RDNA3/RDNA4 instruction set architecture guides; LLVM AMDGPUUsage, section
"Processors"; ROCm HIP documentation, "Hardware features".
"""

from __future__ import annotations

from dataclasses import dataclass

from hipport.core.errors import HipportError


@dataclass(frozen=True, slots=True)
class Target:
    """One AMD GPU architecture.

    Attributes:
        name: LLVM processor name.
        family: ``cdna`` or ``rdna``.
        wave_size: lanes of a wavefront as HIP compiles for it.
        lds_bytes: LDS available to one workgroup.
        execution_units: SIMDs that share a workgroup's waves (per CU; CU mode on RDNA), for launch bounds.
        vgprs_per_simd_lane: 32-bit registers per lane of a SIMD, AGPRs included.
        matrix: matrix instruction family: ``mfma``, ``wmma`` or empty.
        fp8: hardware format of fp8: ``fnuz``, ``ocp`` or ``none``.
        images: has image (texture) instructions; HIP leaves texture functions undefined or unavailable where not.
        reported_major: what hipDeviceProp_t.major holds, which collides with CUDA compute capabilities.
    """

    name: str
    family: str
    wave_size: int
    lds_bytes: int
    execution_units: int
    vgprs_per_simd_lane: int
    matrix: str
    fp8: str
    images: bool
    reported_major: int

    @property
    def image_levels(self) -> bool:
        """Image instructions with levels, gradients and gathers (LLVM: extended-image-insts); gfx90a lacks them."""
        return self.images and self.family == "rdna"


TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        Target("gfx90a", "cdna", 64, 65536, 4, 512, "mfma", "none", True, 9),
        Target("gfx942", "cdna", 64, 65536, 4, 512, "mfma", "fnuz", False, 9),
        Target("gfx950", "cdna", 64, 163840, 4, 512, "mfma", "ocp", False, 9),
        Target("gfx1100", "rdna", 32, 65536, 2, 1536, "wmma", "none", True, 11),
        Target("gfx1201", "rdna", 32, 65536, 2, 1536, "wmma", "ocp", True, 12),
    )
}


def target_named(name: str) -> Target:
    """Look a target up by its LLVM name; feature suffixes (``gfx90a:xnack-``) are ignored.

    Raises:
        HipportError: the name is not one of `TARGETS`.
    """
    found = TARGETS.get(name.split(":")[0])
    if found is None:
        raise HipportError(f"unknown target {name!r}", f"choose from {', '.join(TARGETS)}")
    return found
