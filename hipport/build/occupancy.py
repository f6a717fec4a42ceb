"""How many waves of a kernel fit on one SIMD at a time.

Sources: LLVM AMDGPUUsage, "Code Object V3 Metadata" and the kernel descriptor's granulated fields (allocation
granules); AMD CDNA3 ISA guide, section "VGPR allocation and alignment" (512 registers per lane of a SIMD, arch and
accumulation registers from one pool, granule 8); RDNA3 and RDNA4 ISA guides (1536 registers of a wave32 lane, granule
24; a workgroup runs on a WGP: 4 SIMDs, 128 KiB LDS); LLVM ``AMDGPUBaseInfo.cpp`` (waves per SIMD, barriers per CU).
Clang's ``-Rpass-analysis=kernel-resource-usage`` prints the same figure rounded up to a whole wave.
"""

from __future__ import annotations

from dataclasses import dataclass

from hipport.core import Target


@dataclass(frozen=True, slots=True)
class _Pool:
    """What the SIMDs that share one LDS offer: CU on CDNA, work group processor on RDNA."""

    simds: int
    lds_bytes: int
    lds_granule: int
    vgpr_granule: int
    waves_per_simd: int
    barriers: int


def _pool(target: Target) -> _Pool:
    if target.family == "cdna":
        granule = 1280 if target.lds_bytes > 65536 else 512
        return _Pool(4, target.lds_bytes, granule, 8, 8, 16)
    return _Pool(4, 2 * target.lds_bytes, 512, 24, 16, 32)


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Waves of one kernel that a SIMD can hold.

    Attributes:
        waves_per_simd: average over the SIMDs of a CU (RDNA: of a WGP); 0 when a workgroup does not fit at all.
        workgroups: resident workgroups per CU (RDNA: per WGP).
        waves_by_vgprs: limit of the register file alone, waves per SIMD.
        waves_by_lds: limit of LDS alone, waves per SIMD; the hardware's maximum when no LDS is used.
        limit: what binds: ``vgprs``, ``sgprs``, ``lds``, ``barriers`` or ``waves``.
    """

    waves_per_simd: float
    workgroups: int
    waves_by_vgprs: int
    waves_by_lds: float
    limit: str


def occupancy(
    target: Target, vgprs: int, sgprs: int, lds_bytes: int, workgroup_size: int, wave_size: int | None = None
) -> Occupancy:
    """Occupancy from a kernel's resources.

    Args:
        target: the GPU.
        vgprs: registers per lane, accumulation registers included (``.vgpr_count`` of the metadata).
        sgprs: ``.sgpr_count`` of the metadata.
        lds_bytes: static and dynamic LDS of one workgroup.
        workgroup_size: work items of a workgroup.
        wave_size: lanes of a wave; the target's default when None.
    """
    pool = _pool(target)
    wave_size = wave_size or target.wave_size
    most = pool.waves_per_simd
    granule = pool.vgpr_granule // (2 if target.family == "rdna" and wave_size == 64 else 1)
    file = target.vgprs_per_simd_lane // (2 if target.family == "rdna" and wave_size == 64 else 1)
    by_vgprs = min(most, file // max(granule, _round_up(vgprs, granule)))
    by_sgprs = most if target.family == "rdna" else min(most, _waves_by_sgprs_gfx9(sgprs))
    waves = max(1, -(-workgroup_size // wave_size))

    by_registers = min(by_vgprs, by_sgprs)
    slots = by_registers * pool.simds // waves
    lds_slots = pool.lds_bytes // _round_up(lds_bytes, pool.lds_granule) if lds_bytes else None
    barrier_slots = pool.barriers if waves > 1 else slots  # a lone wave needs no barrier
    workgroups = min(slots, barrier_slots, slots if lds_slots is None else lds_slots)
    by_lds = float(most) if lds_slots is None else min(float(most), lds_slots * waves / pool.simds)

    limit = "waves"
    if lds_slots is not None and workgroups == lds_slots < slots:
        limit = "lds"
    elif workgroups == barrier_slots < slots:
        limit = "barriers"
    elif by_registers < most:
        limit = "vgprs" if by_vgprs <= by_sgprs else "sgprs"
    return Occupancy(workgroups * waves / pool.simds, workgroups, by_vgprs, by_lds, limit)


def _waves_by_sgprs_gfx9(sgprs: int) -> int:
    """800 SGPRs per SIMD, granule 16 (LLVM ``GCNSubtarget::getOccupancyWithNumSGPRs``)."""
    return 10 if sgprs <= 80 else 9 if sgprs <= 88 else 8 if sgprs <= 100 else 7


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
