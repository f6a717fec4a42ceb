"""The loop model on hand-written disassembly. Every expected figure is derived by hand from the model's definition."""

from __future__ import annotations

import pytest

from hipport.core import HipportError, target_named
from hipport.perf.functions import Function, instruction
from hipport.perf.isa import Kind, kind_of, matrix_flops, matrix_passes, matrix_shape, memory_bytes, vector_flops
from hipport.perf.loops import find_loops, innermost
from hipport.perf.model import Tile, hottest_loop, loop_cost

GFX942 = target_named("gfx942")


def function(*lines: str) -> Function:
    """A function from ``label: opcode operands -> target`` lines; addresses count by 4 from 0x100."""
    labels: dict[str, int] = {}
    bare: list[tuple[str, str]] = []
    for line in lines:
        label, colon, rest = line.partition(": ")
        if colon:
            labels[label] = 0x100 + 4 * len(bare)
        text, _, target = (rest if colon else line).partition(" -> ")
        bare.append((text, target))
    made = []
    for index, (text, target) in enumerate(bare):
        address = 0x100 + 4 * index
        word = ((labels[target] - address - 4) // 4) & 0xFFFF if target else 0
        made.append(instruction(address, text, word))
    return Function("k", tuple(made))


LOOP = function(
    "s_mov_b32 s0, 0",
    "top: global_load_dwordx4 v[0:3], v[8:9], off",  # 16 bytes * 64 lanes = 1024
    "s_waitcnt vmcnt(0)",
    "ds_write_b128 v10, v[0:3]",  # 1024
    "s_barrier",
    "ds_read2_b64 v[4:7], v11 offset1:1",  # 2 * 8 * 64 = 1024
    "s_nop 2",  # 3 slots = 12 clk
    "v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], a[0:15]",  # 8 passes = 32 clk
    "v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]",  # 4 passes = 16 clk
    "v_exp_f32_e32 v12, v13",  # quarter rate = 16 clk
    "v_add_f32_e32 v12, v12, v13",
    "v_pk_fma_f32 v[14:15], v[14:15], v[14:15], v[14:15]",
    "v_accvgpr_read_b32 v16, a0",
    "s_cbranch_scc1 -> skip",
    "v_mul_lo_u32 v17, v17, v17",  # quarter rate, not on every path
    "skip: s_add_i32 s0, s0, 1",
    "s_cbranch_scc0 -> top",
    "s_endpgm",
)


def test_the_loop_and_what_every_iteration_executes() -> None:
    (loop,) = find_loops(LOOP)
    assert loop.header == 0x104
    assert loop.instructions == tuple(range(1, 17))
    assert loop.always_instructions == tuple(i for i in range(1, 17) if i != 14)


def test_clocks_of_one_iteration() -> None:
    report = hottest_loop(LOOP, GFX942)
    assert report is not None
    cost = report.always
    assert cost.instructions == 15
    assert cost.matrix_clk == 32 + 16
    assert cost.valu_clk == 4 * 3 + 16  # add, packed fma, accvgpr; exp
    assert cost.salu_clk == 4 * 5 + 12  # wait, barrier, two branches, add; s_nop 2
    assert (cost.lds_bytes, cost.lds_clk) == (2048, 4 * 2048 / 128)
    assert (cost.vmem_bytes, cost.vmem_clk) == (1024, 4 * 1024 / 64)
    assert cost.issue_clk == 48 + 28 + 32 + 4 * 3  # + load, write, read
    assert cost.matrix_flops == 2 * 32 * 32 * 8 + 2 * 16 * 16 * 16
    assert cost.vector_flops == 4 * 64
    assert report.all_blocks.valu_clk == 28 + 16
    assert report.all_blocks.issue_clk == cost.issue_clk + 16
    assert report.scratch_in_loop == 0


def test_bounds_and_estimates() -> None:
    """24576 useful FLOP at 512 per clk are 48 clk of the matrix pipe; issue 120; VALU port 28 + 2 * 4 = 36."""
    report = hottest_loop(LOOP, GFX942)
    assert report is not None
    cost = report.always
    assert cost.pipes == {"matrix": 48, "valu_port": 36, "lds": 64, "vmem": 64, "salu": 32}
    assert cost.bottleneck in ("lds", "vmem")
    assert cost.utilisation_serial == pytest.approx(48 / 120)
    assert cost.utilisation_overlap == pytest.approx(48 / 64)
    assert cost.utilisation(1) == pytest.approx(0.4)
    assert cost.utilisation(3) == pytest.approx(0.75)  # three waves would reach 1.2, the busiest pipe allows 0.75
    assert cost.issue_clk_per_mflop == pytest.approx(120e6 / 24576)
    assert cost.matrix_redundancy == 1


def test_a_tile_decides_what_is_useful() -> None:
    """4 * 16 * 16 * 8 / 1 = 8192 useful FLOP of 24576."""
    tile = Tile(16, 16, 8, 1)
    report = hottest_loop(LOOP, GFX942, tile)
    assert report is not None
    assert tile.flops_per_wave == 8192
    assert tile.scores_per_lane == 4
    assert report.always.useful_flops == 8192
    assert report.always.matrix_redundancy == 3
    assert report.always.utilisation_serial == pytest.approx(16 / 120)


def test_the_floor_of_gfx942_is_1953_clocks_per_mflop() -> None:
    """DESIGN's floor: nothing but matrix instructions."""
    only = function("top: v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], a[0:15]")
    cost = loop_cost(only.instructions, GFX942)
    assert cost.issue_clk_per_mflop == pytest.approx(1e6 / 512)
    assert cost.utilisation_serial == 1


def test_gfx90a_takes_twice_the_passes_and_has_half_the_peak() -> None:
    text = "v_mfma_f32_32x32x8f16 a[0:15], v[4:5], v[6:7], a[0:15]"
    cost = loop_cost(function(text).instructions, target_named("gfx90a"))
    assert (cost.matrix_clk, cost.matrix_flops, cost.utilisation_serial) == (64, 16384, 1)


def test_nested_loops_take_the_inner_one() -> None:
    nested = function(
        "outer: v_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], a[0:15]",
        "inner: v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]",
        "s_cbranch_scc0 -> inner",
        "s_cbranch_vccz -> outer",
        "s_endpgm",
    )
    loops = find_loops(nested)
    assert {loop.header for loop in loops} == {0x100, 0x104}
    assert [loop.header for loop in innermost(loops)] == [0x104]
    report = hottest_loop(nested, GFX942)
    assert report is not None
    assert report.loop.header == 0x104
    assert report.always.matrix_by_opcode == {"v_mfma_f32_16x16x16_f16": 1}


def test_of_equal_loops_the_shorter_is_taken() -> None:
    """The unmasked loop of a kernel that has a masked copy."""
    matrix = "v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], v[20:23]"
    two = function(
        f"masked: {matrix}", "v_mov_b32_e32 v0, 0", "s_cbranch_scc0 -> masked",
        f"plain: {matrix}", "s_cbranch_scc0 -> plain", "s_endpgm",
    )  # fmt: skip
    report = hottest_loop(two, GFX942)
    assert report is not None
    assert (report.loop.header, report.n_loops) == (0x10C, 2)


def test_without_matrix_instructions_the_innermost_loop_with_most_valu_counts() -> None:
    plain = function(
        "a: v_add_f32_e32 v0, v0, v0", "s_cbranch_scc0 -> a",
        "b: v_fma_f32 v0, v0, v0, v0", "v_fma_f32 v1, v0, v0, v0", "s_cbranch_scc0 -> b", "s_endpgm",
    )  # fmt: skip
    report = hottest_loop(plain, GFX942)
    assert report is not None
    assert report.loop.header == 0x108
    assert report.always.useful_flops == 0
    assert report.always.issue_clk_per_mflop == pytest.approx(12e6 / 256)  # three slots, two fma of 128 FLOP


def test_a_named_loop_can_be_asked_for() -> None:
    two = function("a: s_add_i32 s0, s0, 1", "s_cbranch_scc0 -> a", "b: v_mov_b32_e32 v0, 0", "s_cbranch_scc0 -> b")
    report = hottest_loop(two, GFX942, header=0x100)
    assert report is not None
    assert report.loop.header == 0x100
    with pytest.raises(HipportError, match="no loop starts at 0x104"):
        hottest_loop(two, GFX942, header=0x104)


def test_an_irreducible_jump_is_no_natural_loop_and_unreachable_code_is_ignored() -> None:
    odd = function(
        "s_cbranch_scc0 -> second", "first: s_add_i32 s0, s0, 1", "second: s_add_i32 s0, s0, 2",
        "s_cbranch_scc0 -> first", "s_endpgm", "dead: v_mov_b32_e32 v0, 0", "s_branch -> dead",
    )  # fmt: skip
    assert find_loops(odd) == ()
    assert hottest_loop(odd, GFX942) is None


def test_a_loop_of_one_block_and_one_that_starts_the_function() -> None:
    (loop,) = find_loops(function("top: s_add_i32 s0, s0, 1", "s_cbranch_scc0 -> top"))
    assert (loop.header, loop.blocks, loop.always) == (0x100, (0,), (0,))


def test_scratch_in_the_loop_is_seen() -> None:
    spilling = function("top: scratch_load_dword v0, off, s32", "v_mov_b32_e32 v1, v0", "s_cbranch_scc0 -> top")
    report = hottest_loop(spilling, GFX942)
    assert report is not None
    assert report.scratch_in_loop == 1
    assert report.always.vmem_bytes == 256


def test_the_model_refuses_targets_it_does_not_cover() -> None:
    with pytest.raises(HipportError, match="does not cover gfx1100"):
        loop_cost((), target_named("gfx1100"))


def test_an_unknown_matrix_instruction_is_named_not_guessed() -> None:
    cost = loop_cost(function("v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]").instructions, GFX942)
    assert cost.unknown_matrix == ("v_mfma_f32_16x16x128_f8f6f4",)
    assert cost.matrix_clk == 0


# Passes of the CDNA2 and CDNA3 ISA guides, tables of matrix instructions.
@pytest.mark.parametrize(
    ("opcode", "target", "passes", "flops"),
    [
        ("v_mfma_f32_32x32x8f16", "gfx90a", 16, 2 * 32 * 32 * 8),
        ("v_mfma_f32_16x16x16f16", "gfx90a", 8, 2 * 16 * 16 * 16),
        ("v_mfma_f32_32x32x4f16", "gfx90a", 16, 2 * 32 * 32 * 4 * 2),
        ("v_mfma_f32_4x4x4f16", "gfx90a", 2, 2 * 4 * 4 * 4 * 16),
        ("v_mfma_f32_32x32x4bf16_1k", "gfx90a", 16, 2 * 32 * 32 * 4 * 2),
        ("v_mfma_f32_32x32x8_f16", "gfx942", 8, 2 * 32 * 32 * 8),
        ("v_mfma_f32_16x16x16_bf16", "gfx942", 4, 2 * 16 * 16 * 16),
        ("v_mfma_f32_32x32x4_2b_f16", "gfx942", 16, 2 * 32 * 32 * 4 * 2),
        ("v_mfma_f32_32x32x2_f32", "gfx942", 16, 2 * 32 * 32 * 2),
        ("v_mfma_f32_16x16x4_f32", "gfx942", 8, 2 * 16 * 16 * 4),
        ("v_mfma_f32_32x32x4_xf32", "gfx942", 8, 2 * 32 * 32 * 4),
        ("v_mfma_f32_32x32x16_fp8_bf8", "gfx942", 8, 2 * 32 * 32 * 16),
        ("v_mfma_i32_16x16x32_i8", "gfx942", 4, 2 * 16 * 16 * 32),
        ("v_mfma_f64_16x16x4_f64", "gfx942", 8, 2 * 16 * 16 * 4),
        ("v_mfma_f64_4x4x4_4b_f64", "gfx942", 4, 2 * 4 * 4 * 4 * 4),
        ("v_mfma_f32_32x32x16_f16", "gfx950", 8, 2 * 32 * 32 * 16),
        ("v_mfma_f32_16x16x32_bf16", "gfx950", 4, 2 * 16 * 16 * 32),
        ("v_smfmac_f32_32x32x16_f16", "gfx942", 8, 2 * 32 * 32 * 16),
    ],
)
def test_matrix_passes(opcode: str, target: str, passes: int, flops: int) -> None:
    assert matrix_passes(opcode, target) == passes
    assert matrix_flops(opcode) == flops
    assert kind_of(opcode) is Kind.MATRIX


def test_peak_rates_follow_from_passes() -> None:
    """FLOP per clk of a dense fp16 instruction equals the data sheet's rate of one SIMD."""
    for opcode, target, rate in (
        ("v_mfma_f32_32x32x8f16", "gfx90a", 256),
        ("v_mfma_f32_32x32x8_f16", "gfx942", 512),
        ("v_mfma_f32_32x32x16_f16", "gfx950", 1024),
    ):
        passes = matrix_passes(opcode, target)
        assert passes is not None
        assert matrix_flops(opcode) / (4 * passes) == rate


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("v_accvgpr_write_b32", Kind.ACC_MOVE),
        ("v_exp_f32_e32", Kind.VALU_QUARTER),
        ("v_rcp_iflag_f32_e32", Kind.VALU_QUARTER),
        ("v_mul_hi_u32", Kind.VALU_QUARTER),
        ("v_mad_u64_u32", Kind.VALU_QUARTER),
        ("v_mul_u32_u24_e32", Kind.VALU),
        ("v_cmp_gt_f32_e32", Kind.VALU),
        ("ds_read_b64_tr_b16", Kind.LDS_READ),
        ("ds_write2st64_b32", Kind.LDS_WRITE),
        ("ds_bpermute_b32", Kind.LDS_PERMUTE),
        ("scratch_store_dwordx2", Kind.SCRATCH),
        ("buffer_wbl2", Kind.CACHE),
        ("buffer_inv", Kind.CACHE),
        ("buffer_load_dword", Kind.VMEM_LOAD),
        ("global_load_lds_dword", Kind.VMEM_LOAD),
        ("global_store_dwordx4", Kind.VMEM_STORE),
        ("flat_atomic_add_f32", Kind.VMEM_ATOMIC),
        ("s_load_dwordx4", Kind.SMEM),
        ("s_barrier", Kind.BARRIER),
        ("s_waitcnt", Kind.WAIT),
        ("s_nop", Kind.NOP),
        ("s_cbranch_execz", Kind.BRANCH),
        ("s_setprio", Kind.HINT),
        ("s_and_b64", Kind.SALU),
        ("exp", Kind.OTHER),
    ],
)
def test_kinds(opcode: str, kind: Kind) -> None:
    assert kind_of(opcode) is kind


@pytest.mark.parametrize(
    ("opcode", "per_lane"),
    [
        ("ds_read_b128", 16),
        ("ds_read_b96", 12),
        ("ds_read2_b64", 16),
        ("ds_read2st64_b32", 8),
        ("ds_write_b16_d16_hi", 2),
        ("ds_read_u8_d16", 1),
        ("ds_read_u16", 2),
        ("ds_bpermute_b32", 4),
        ("ds_add_f32", 4),
        ("global_load_dword", 4),
        ("global_load_dwordx3", 12),
        ("global_store_short", 2),
        ("global_load_ubyte_d16", 1),
        ("buffer_load_sshort", 2),
        ("scratch_load_dwordx4", 16),
    ],
)
def test_bytes_per_lane(opcode: str, per_lane: int) -> None:
    assert memory_bytes(opcode) == 64 * per_lane


@pytest.mark.parametrize(
    ("opcode", "per_lane"),
    [
        ("v_pk_fma_f32", 4),
        ("v_pk_mul_f32", 2),
        ("v_fmac_f32_e32", 2),
        ("v_fma_mix_f32", 2),
        ("v_dot2_f32_f16", 4),
        ("v_add_f32_e32", 0),
    ],
)
def test_vector_flops(opcode: str, per_lane: int) -> None:
    assert vector_flops(opcode) == 64 * per_lane


def test_shapes_of_what_is_no_matrix_instruction() -> None:
    assert matrix_shape("v_add_f32_e32") is None
    assert matrix_passes("v_wmma_f32_16x16x16_f16", "gfx942") is None


# Encodings that llvm-mc prints for these branches.
@pytest.mark.parametrize(
    ("text", "word", "target"),
    [
        ("s_branch 65534", 0xBF82FFFE, 0x1FC),  # back by two words from 0x204
        ("s_cbranch_scc0 4", 0xBF840004, 0x214),
        ("s_cbranch_execz 0", 0xBF880000, 0x204),
        ("s_endpgm", 0xBF810000, None),
        ("s_setpc_b64 s[30:31]", 0xBE801D1E, None),
        ("s_add_i32 s0, s0, 1", 0x81008100, None),
    ],
)
def test_branch_targets(text: str, word: int, target: int | None) -> None:
    assert instruction(0x200, text, word).target == target


def test_a_branch_out_of_the_function_is_no_loop() -> None:
    leaving = function("s_add_i32 s0, s0, 1", "s_cbranch_scc0 60", "s_endpgm")
    assert find_loops(leaving) == ()
