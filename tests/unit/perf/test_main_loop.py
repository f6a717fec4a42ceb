"""Shape of a kernel's code on hand-written disassembly; figures are counted by hand."""

from __future__ import annotations

from test_perf_model import LOOP, function

from hipport.perf.main_loop import shape_of


def test_a_loop_with_matrix_instructions_is_the_main_loop() -> None:
    shape = shape_of(LOOP)
    assert (shape.instructions, shape.matrix, shape.scratch) == (18, 2, 0)
    assert (shape.main_loops, shape.main_loop_matrix, shape.main_loop_scratch) == (1, 2, 0)
    assert shape.main_loop_acc_moves == 1


def test_scratch_counts_where_it_costs() -> None:
    """One store before the loops, two accesses in the loop without matrix instructions, three in the main loop."""
    shape = shape_of(
        function(
            "scratch_store_dword off, v1, off",
            "first: scratch_load_dword v1, off, off",
            "scratch_store_dword off, v1, off offset:4",
            "s_cbranch_scc0 -> first",
            "outer: s_nop 0",
            "inner: v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]",
            "scratch_load_ushort v1, v2, off",
            "buffer_load_dword v1, off, s[0:3], 0 offset:8",
            "buffer_store_dword v1, v2, s[0:3], 0 offen",
            "v_readlane_b32 s8, v3, 5",
            "v_writelane_b32 v3, s8, 5",
            "v_readfirstlane_b32 s8, v3",  # no spill: a value that is the same in all lanes
            "buffer_load_dword v1, v2, s[4:7], 0 offen",  # not the private segment's descriptor
            "s_cbranch_scc0 -> inner",
            "s_cbranch_scc1 -> outer",
            "s_endpgm",
        )
    )
    assert (shape.matrix, shape.scratch) == (1, 6)
    assert (shape.main_loops, shape.main_loop_matrix, shape.main_loop_scratch) == (1, 1, 3)
    assert shape.main_loop_lane_moves == 2


def test_without_matrix_instructions_every_innermost_loop_counts() -> None:
    shape = shape_of(
        function(
            "one: scratch_load_dword v1, off, off",
            "s_cbranch_scc0 -> one",
            "two: v_add_f32_e32 v1, v1, v1",
            "s_cbranch_scc0 -> two",
            "s_endpgm",
        )
    )
    assert (shape.matrix, shape.main_loops, shape.main_loop_scratch) == (0, 2, 1)


def test_a_kernel_without_loops() -> None:
    shape = shape_of(function("v_add_f32_e32 v1, v1, v1", "s_endpgm"))
    assert (shape.instructions, shape.main_loops, shape.main_loop_matrix) == (2, 0, 0)
