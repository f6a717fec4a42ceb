"""Occupancy against figures that clang prints (-Rpass-analysis=kernel-resource-usage) and AMD's own examples.

Clang rounds a fraction of a wave up and looks at registers without the workgroup's size, so rows are chosen where a
whole number of workgroups fits.
"""

from __future__ import annotations

import pytest

from hipport.build.occupancy import occupancy
from hipport.core import target_named


# target, VGPRs, SGPRs, LDS, workgroup size, waves per SIMD that clang 22 printed
@pytest.mark.parametrize(
    ("target", "vgprs", "sgprs", "lds", "size", "waves"),
    [
        ("gfx90a", 60, 10, 0, 256, 8),
        ("gfx90a", 124, 10, 0, 256, 4),
        ("gfx90a", 225, 10, 0, 256, 2),
        ("gfx942", 182, 14, 0, 256, 2),
        ("gfx942", 452, 72, 0, 128, 1),  # 256 VGPRs and 196 AGPRs
        ("gfx942", 6, 9, 16000, 256, 4),
        ("gfx942", 6, 9, 24000, 256, 2),
        ("gfx942", 4, 8, 36000, 256, 1),
        ("gfx942", 6, 9, 400, 64, 8),
        ("gfx950", 6, 9, 24000, 256, 6),
        ("gfx950", 8, 8, 64000, 256, 2),
        ("gfx1100", 92, 5, 0, 256, 16),
        ("gfx1100", 170, 10, 0, 256, 8),
        ("gfx1100", 5, 4, 24000, 256, 10),
        ("gfx1100", 4, 2, 64000, 256, 4),
        ("gfx1201", 132, 2, 0, 256, 10),
        ("gfx1201", 4, 4, 12000, 64, 5),
    ],
)
def test_equals_clang(target: str, vgprs: int, sgprs: int, lds: int, size: int, waves: int) -> None:
    assert occupancy(target_named(target), vgprs, sgprs, lds, size).waves_per_simd == waves


def test_a_workgroup_that_takes_more_than_half_of_lds_runs_alone() -> None:
    found = occupancy(target_named("gfx942"), 128, 40, 36 * 1024, 256)
    assert (found.workgroups, found.waves_per_simd, found.limit) == (1, 1.0, "lds")


def test_lds_is_allocated_in_granules() -> None:
    """65536 / 21845 is 3, but three allocations of 22016 (43 * 512) do not fit."""
    assert occupancy(target_named("gfx942"), 8, 8, 21845, 64).workgroups == 2
    assert occupancy(target_named("gfx942"), 8, 8, 21504, 64).workgroups == 3  # 42 * 512


def test_whole_workgroups_only() -> None:
    """168 VGPRs leave 3 waves per SIMD, 12 per CU; workgroups of 8 waves use 8 of them: 2 per SIMD."""
    found = occupancy(target_named("gfx942"), 168, 8, 0, 512)
    assert (found.waves_by_vgprs, found.waves_per_simd, found.limit) == (3, 2.0, "vgprs")


def test_a_kernel_that_does_not_fit_has_no_occupancy() -> None:
    assert occupancy(target_named("gfx942"), 512, 100, 0, 1024).waves_per_simd == 0  # 16 waves, 4 places


def test_barriers_limit_small_workgroups_of_several_waves() -> None:
    """16 barriers per CU (LLVM getMaxWorkGroupsPerCU): 2-wave workgroups cannot fill 32 slots beyond 16 workgroups."""
    found = occupancy(target_named("gfx942"), 8, 8, 0, 128)
    assert (found.workgroups, found.waves_per_simd) == (16, 8.0)


def test_scalar_registers_limit_gfx9_only() -> None:
    """800 SGPRs in granules of 16: 104 become 112, 7 waves; RDNA gives every wave a full set."""
    assert occupancy(target_named("gfx942"), 8, 104, 0, 64).limit == "sgprs"
    assert occupancy(target_named("gfx942"), 8, 104, 0, 64).waves_per_simd == 7
    assert occupancy(target_named("gfx1100"), 8, 106, 0, 64).waves_per_simd == 16


def test_wave64_on_rdna_takes_twice_the_registers() -> None:
    """RDNA3 ISA guide: 1536 registers of 32 lanes are 768 of 64 lanes, granule 12."""
    assert occupancy(target_named("gfx1100"), 96, 8, 0, 256, wave_size=64).waves_by_vgprs == 8
