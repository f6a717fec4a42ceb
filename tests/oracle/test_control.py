"""Program flow, hardware registers, waits and messages: what the manuals' SOPP, SOPK and SOP1 chapters say."""

from __future__ import annotations

import numpy as np
import pytest
from oracle_forms import accepted, wave_size
from oracle_tables import MANUAL

from hipport.emulator.native_api import EmulatorError
from hipport.emulator.testing import DEFAULT_MODE, Snippets, WaveState

pytestmark = pytest.mark.sdk
every_target = pytest.mark.parametrize("target", MANUAL)
# Instructions that change no register: waits, hints, caches, messages, priorities; some target takes each.
WITHOUT_EFFECT = """
s_nop 3|s_nop 0|s_waitcnt 0|s_waitcnt vmcnt(0) lgkmcnt(0)|s_waitcnt_vscnt null, 0x0|s_waitcnt_vmcnt null, 0x0
s_waitcnt_expcnt null, 0x0|s_waitcnt_lgkmcnt null, 0x0|s_waitcnt_depctr 0xffff|s_wait_alu 0xffff|s_wait_loadcnt 0x0
s_wait_storecnt 0x0|s_wait_samplecnt 0x0|s_wait_bvhcnt 0x0|s_wait_expcnt 0x0|s_wait_dscnt 0x0|s_wait_kmcnt 0x0
s_wait_loadcnt_dscnt 0x0|s_wait_storecnt_dscnt 0x0|s_wait_event 0x0|s_wait_idle|s_delay_alu instid0(VALU_DEP_1)
s_clause 0x1
s_setprio 2|s_setprio_inc_wg 1|s_sethalt 0|s_setkill 0|s_inst_prefetch 0x3|s_set_inst_prefetch_distance 0x3
s_incperflevel 1|s_decperflevel 1|s_ttracedata|s_ttracedata_imm 0x1|s_version 0x1|s_icache_inv|s_wakeup|s_sleep 1
s_singleuse_vdst 0x1|s_dcache_inv|s_dcache_wb|s_dcache_inv_vol|s_dcache_wb_vol|s_gl1_inv
s_sendmsg sendmsg(MSG_INTERRUPT)
s_sendmsghalt sendmsg(MSG_INTERRUPT)|s_sleep_var s4
buffer_wbl2 sc1|buffer_wbl2|buffer_inv sc1|buffer_wbinvl1|buffer_wbinvl1_vol
buffer_gl0_inv|buffer_gl1_inv|buffer_invl2|global_inv scope:SCOPE_DEV|global_wb scope:SCOPE_DEV
global_wbinv scope:SCOPE_SYS
s_prefetch_inst s[4:5], 0x0, s6, 0|s_prefetch_data s[4:5], 0x0, s6, 0|s_prefetch_inst_pc_rel 0x0, s6, 0
s_prefetch_data_pc_rel 0x0, s6, 0
s_buffer_prefetch_data s[8:11], 0x0, s6, 0|v_nop|ds_nop|s_trap 3|s_barrier_signal -1|s_barrier_leave|s_barrier
s_cbranch_cdbgsys 1|s_cbranch_cdbguser 1|s_cbranch_cdbgsys_or_user 1|s_cbranch_cdbgsys_and_user 1|v_pipeflush
"""
EFFECTLESS = [text for line in WITHOUT_EFFECT.split("\n") for text in line.split("|") if text]
COVERS = {text.split(" ")[0] for text in EFFECTLESS} | {
    "s_branch", "s_cbranch_scc0", "s_cbranch_scc1", "s_cbranch_vccz", "s_cbranch_vccnz", "s_cbranch_execz",
    "s_cbranch_execnz",
    "s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64", "s_endpgm", "s_trap", "s_endpgm_saved",
    "s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32", "s_round_mode", "s_denorm_mode", "s_memtime", "s_memrealtime",
    "s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64", "s_barrier_wait", "s_barrier_signal_isfirst",
}  # fmt: skip


def state_of(target: str) -> WaveState:
    rng = np.random.default_rng(1)
    state = WaveState.of(target)
    state.sgpr[:100] = rng.integers(0, 1 << 32, 100, dtype=np.uint32)
    state.vgpr[:16] = rng.integers(0, 1 << 32, (16, 64), dtype=np.uint32)
    state.scc, state.vcc = 1, 0x1234
    return state


def same(a: WaveState, b: WaveState) -> bool:
    registers = (a.sgpr[:108] == b.sgpr[:108]).all() and (a.vgpr == b.vgpr).all()
    return bool(registers and a.scc == b.scc and a.mode == b.mode and a.exec_mask == b.exec_mask)


@every_target
def test_instructions_without_effect(target: str) -> None:
    texts = [text for text, good in zip(EFFECTLESS, accepted(target, EFFECTLESS), strict=True) if good]
    assert len(texts) >= 18
    snippets = Snippets(target, texts)
    state = state_of(target)
    wrong = [text for index, text in enumerate(texts) if not same(snippets.run(index, state), state)]
    assert wrong == []


def test_every_such_instruction_is_known_somewhere() -> None:
    known = {
        text for target in MANUAL for text, good in zip(EFFECTLESS, accepted(target, EFFECTLESS), strict=True) if good
    }
    assert {t.split(" ")[0] for t in EFFECTLESS} - {t.split(" ")[0] for t in known} == NOT_ASSEMBLED


# Names of the table that no supported target has; they are there for code of their neighbours.
NOT_ASSEMBLED = {"s_setprio_inc_wg", "s_singleuse_vdst"}

BRANCHES = {
    "s_branch": lambda s: True,
    "s_cbranch_scc0": lambda s: s.scc == 0,
    "s_cbranch_scc1": lambda s: s.scc == 1,
    "s_cbranch_vccz": lambda s: s.vcc == 0,
    "s_cbranch_vccnz": lambda s: s.vcc != 0,
    "s_cbranch_execz": lambda s: s.exec_mask == 0,
    "s_cbranch_execnz": lambda s: s.exec_mask != 0,
}


@every_target
def test_branches(target: str) -> None:
    """SIMM16 counts words from the next instruction, backwards too."""
    forward = [f"{name} 1\ns_mov_b32 s4, 1\ns_mov_b32 s5, 2" for name in BRANCHES]
    backward = [f"s_branch 2\ns_mov_b32 s4, 1\ns_branch 1\n{name} -3\ns_mov_b32 s5, 2" for name in BRANCHES]
    snippets = Snippets(target, forward + backward)
    for index, (name, taken) in enumerate(BRANCHES.items()):
        for scc in (0, 1):
            for vcc in (0, 1 << (wave_size(target) - 1)):
                for on in (0, 1 << (wave_size(target) - 1)):
                    state = WaveState.of(target)
                    state.scc, state.vcc, state.exec_mask = scc, vcc, on
                    jumps = taken(state)
                    after = snippets.run(index, state)
                    assert (after.sgpr[4], after.sgpr[5]) == (0 if jumps else 1, 2), name
                    after = snippets.run(len(BRANCHES) + index, state)
                    assert (after.sgpr[4], after.sgpr[5]) == (1 if jumps else 0, 2), name


@every_target
def test_calls(target: str) -> None:
    """s_getpc gives the address of the next instruction; calls store theirs."""
    call = "s_call_b64 s[4:5], 1\ns_branch 2\ns_mov_b32 s6, 7\ns_setpc_b64 s[4:5]\ns_mov_b32 s7, 8"
    swap = (
        "s_getpc_b64 s[8:9]\ns_add_u32 s8, s8, 20\ns_addc_u32 s9, s9, 0\ns_swappc_b64 s[4:5], s[8:9]\ns_mov_b32 s7, 8"
    )
    swap += "\ns_branch 2\ns_mov_b32 s6, 7\ns_setpc_b64 s[4:5]"
    if target == "gfx1201":
        swap = swap.replace("s_add_u32", "s_add_co_u32").replace("s_addc_u32", "s_add_co_ci_u32")
    distance = "s_getpc_b64 s[8:9]\ns_nop 0\ns_getpc_b64 s[10:11]"
    snippets = Snippets(target, [call, swap, distance])
    for index in range(2):
        after = snippets.run(index, WaveState.of(target), max_instructions=100)
        assert (after.sgpr[6], after.sgpr[7]) == (7, 8)
    after = snippets.run(2, WaveState.of(target))
    assert int(after.sgpr[10]) - int(after.sgpr[8]) == 8
    assert after.sgpr[11] == after.sgpr[9]


@every_target
def test_end_of_program(target: str) -> None:
    texts = ["s_mov_b32 s4, 1\ns_endpgm\ns_mov_b32 s4, 2", "s_mov_b32 s4, 1\ns_endpgm_saved\ns_mov_b32 s4, 2"]
    texts = texts if accepted(target, ["s_endpgm_saved"])[0] else texts[:1]
    snippets = Snippets(target, texts)
    assert [snippets.run(index, WaveState.of(target)).sgpr[4] for index in range(len(texts))] == [1] * len(texts)


@every_target
def test_traps_end_the_launch(target: str) -> None:
    snippets = Snippets(target, ["s_trap 2"])
    with pytest.raises(EmulatorError, match="abort"):
        snippets.run(0, WaveState.of(target))


@every_target
def test_fields_of_the_mode_register(target: str) -> None:
    """hwreg(id, offset, size): size bits from an offset; setreg writes only those."""
    name = "HW_REG_WAVE_MODE" if target == "gfx1201" else "HW_REG_MODE"
    texts = [
        f"s_setreg_b32 hwreg({name}, 4, 4), s6\ns_getreg_b32 s4, hwreg({name}, 0, 12)\n"
        f"s_getreg_b32 s5, hwreg({name}, 4, 4)"
    ]
    texts += [f"s_setreg_imm32_b32 hwreg({name}, 0, 4), 0x5", "s_round_mode 0xa", "s_denorm_mode 0x3"]
    good = accepted(target, [text.split("\n")[0] for text in texts])
    snippets = Snippets(target, [text for text, yes in zip(texts, good, strict=True) if yes])
    state = WaveState.of(target)
    state.sgpr[6] = 0xFFFFFF06
    after = snippets.run(0, state)
    assert after.mode == DEFAULT_MODE & ~0xF0 | 0x60
    assert (after.sgpr[4], after.sgpr[5]) == (after.mode & 0xFFF, 6)
    assert snippets.run(1, state).mode == DEFAULT_MODE & ~0xF | 5
    if target in ("gfx1100", "gfx1201"):
        assert snippets.run(2, state).mode == DEFAULT_MODE & ~0xF | 0xA
        assert snippets.run(3, state).mode == DEFAULT_MODE & ~0xF0 | 0x30


@every_target
def test_clocks_advance(target: str) -> None:
    texts = ["s_memtime s[4:5]\ns_nop 0\ns_memtime s[6:7]", "s_memrealtime s[4:5]\ns_nop 0\ns_memrealtime s[6:7]"]
    texts += [
        "s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_REALTIME)\n"
        "s_sendmsg_rtn_b64 s[6:7], sendmsg(MSG_RTN_GET_REALTIME)"
    ]
    texts += ["s_sendmsg_rtn_b32 s4, sendmsg(MSG_RTN_GET_DOORBELL)"]
    good = accepted(target, [text.split("\n")[0] for text in texts])
    texts = [text for text, yes in zip(texts, good, strict=True) if yes]
    assert len(texts) == 2
    snippets = Snippets(target, texts)
    for index, text in enumerate(texts):
        after = snippets.run(index, WaveState.of(target))
        first, second = (int(after.sgpr[k]) | int(after.sgpr[k + 1]) << 32 for k in (4, 6))
        if "DOORBELL" not in text:
            assert 0 < first <= second
            assert "memtime" not in text or first < second


def test_split_barriers_of_one_wave() -> None:
    """A single wave completes a barrier alone; the first to signal gets SCC 1."""
    texts = [
        "s_barrier_signal -1\ns_barrier_wait -1\ns_mov_b32 s4, 1",
        "s_barrier_signal_isfirst -1\ns_barrier_wait -1",
    ]
    snippets = Snippets("gfx1201", texts)
    assert snippets.run(0, WaveState.of("gfx1201")).sgpr[4] == 1
    assert snippets.run(1, WaveState.of("gfx1201")).scc == 1
