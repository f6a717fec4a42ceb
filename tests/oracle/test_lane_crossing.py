"""Opcodes that move data between lanes or address registers indirectly.

Oracle: the manuals' pseudocode run for a whole wave, and small models written from the manuals' text.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_forms import accepted, wave_size
from oracle_pseudocode import State, program
from oracle_registers import constants
from oracle_tables import MANUAL, pseudocode

from hipport.emulator.testing import Snippets, WaveState

pytestmark = pytest.mark.sdk
every_target = pytest.mark.parametrize("target", MANUAL)
D, S, T, U = 4, 10, 14, 18  # registers
# mnemonic, operands, encoding fields by the pseudocode's names
WHOLE_WAVE = [
    ("v_permlane16_swap_b32", f"v{D}, v{S}", {}),
    ("v_permlane32_swap_b32", f"v{D}, v{S}", {}),
    ("v_permlane16_b32", f"v{D}, v{S}, s{S}, s{T} op_sel:[1,0]", {}),
    ("v_permlanex16_b32", f"v{D}, v{S}, s{S}, s{T} op_sel:[1,0]", {}),
    ("v_permlane16_var_b32", f"v{D}, v{S}, v{T} op_sel:[1,0]", {}),
    ("v_permlanex16_var_b32", f"v{D}, v{S}, v{T} op_sel:[1,0]", {}),
    ("v_permlane64_b32", f"v{D}, v{S}", {}),
    ("ds_permute_b32", f"v{D}, v{S}, v{T}", {"OFFSET": 0}),
    ("ds_permute_b32", f"v{D}, v{S}, v{T} offset:72", {"OFFSET": 72}),
    ("ds_bpermute_b32", f"v{D}, v{S}, v{T}", {"OFFSET": 0}),
    ("ds_bpermute_b32", f"v{D}, v{S}, v{T} offset:100", {"OFFSET": 100}),
    ("ds_bpermute_fi_b32", f"v{D}, v{S}, v{T}", {"OFFSET": 0}),
    ("v_readlane_b32", f"s{D}, v{S}, s{T}", {}),
    ("v_readlane_b32", f"s{D}, v{S}, 29", {}),
    ("v_writelane_b32", f"v{D}, s{S}, s{T}", {}),
    ("v_writelane_b32", f"v{D}, s{S}, 7", {}),
    ("v_readfirstlane_b32", f"s{D}, v{S}", {}),
]
KEEPS_EXEC_OUT = ("v_permlane16_swap", "v_permlane32_swap")  # the manual's program has no EXEC: tried with all lanes on
COVERS = {name for name, _, _ in WHOLE_WAVE} | {
    "v_swap_b32", "v_swap_b16", "v_movrels_b32", "v_movreld_b32", "v_movrelsd_b32", "v_movrelsd_2_b32", "v_swaprel_b32",
    "s_movrels_b32", "s_movrels_b64", "s_movreld_b32", "s_movreld_b64", "s_movrelsd_2_b32", "v_accvgpr_read_b32",
    "v_accvgpr_write_b32", "v_accvgpr_mov_b32", "ds_swizzle_b32", "s_set_gpr_idx_on", "s_set_gpr_idx_off",
    "s_set_gpr_idx_idx", "ds_read_b64_tr_b16", "ds_read_b64_tr_b8", "ds_read_b64_tr_b4", "ds_read_b96_tr_b6",
}  # fmt: skip


def random_state(target: str, seed: int) -> WaveState:
    rng = np.random.default_rng(seed)
    state = WaveState.of(target)
    state.vgpr[:64] = rng.integers(0, 1 << 32, (64, 64), dtype=np.uint32)
    state.vgpr[256:288] = rng.integers(0, 1 << 32, (32, 64), dtype=np.uint32)
    state.sgpr[:32] = rng.integers(0, 1 << 32, 32, dtype=np.uint32)
    return state


def masks(target: str) -> list[int]:
    wave = wave_size(target)
    full = (1 << wave) - 1
    return [full, 0xF0F0F0F05A5A0FF0 & full, 1 << (wave - 3), 0xFFFF0000FFFF0000 & full or 1]


def whole_wave(target: str, name: str, operands: str, fields: dict[str, int], state: WaveState) -> WaveState:
    """What the pseudocode makes of the registers."""
    wave = wave_size(target)
    text = pseudocode(target)[name][1]
    for old, new in (("EXEC_LO", "EXEC"), ("wave32.u1", "WAVE32"), ("s_nop(16'0U)", "")):
        text = text.replace(old, new)
    after = state.copy()
    first = {"v": after.vgpr, "s": after.sgpr}
    names = [part.split()[0] for part in operands.split(", ")]
    machine = State(constants=constants(wave))

    def read(lane: int, register: int) -> int:
        if (lane, register) in machine.vgpr_written:
            return machine.vgpr_written[lane, register]
        if register >= 1000:  # a scalar source
            return int(state.sgpr[register - 1000])
        return int(state.vgpr[register, lane])

    machine.vgpr = read
    registers = {"EXEC": state.exec_mask, "SCC": 0, "M0": int(state.sgpr[124]), "D0": 0} | fields
    for key, operand in zip(("VDST", "SRC0", "SRC1", "SRC2"), names, strict=False):
        number = int(operand[1:]) if operand[0] in "vs" else 0
        registers[key] = number
        if key != "VDST":
            value = int(state.sgpr[number]) if operand[0] == "s" else int(operand) if operand.isdigit() else 0
            registers[f"S{key[-1]}"] = value
    if name.startswith("ds_"):
        registers |= {"ADDR": registers.pop("SRC0"), "DATA0": registers.pop("SRC1")}
        registers |= {"S0": 0, "S1": 0}
        given = ("declare OFFSET", "declare DATA0", "declare VDST")
        text = "\n".join(line for line in text.splitlines() if not line.startswith(given))
    machine.registers = registers
    program(text).run(machine)
    for (lane, register), value in machine.vgpr_written.items():
        after.vgpr[register, lane] = value
    if names[0][0] == "s":
        first["s"][int(names[0][1:])] = machine.registers["D0"] & 0xFFFFFFFF
    return after


@every_target
def test_whole_wave_opcodes(target: str) -> None:
    rows = [row for row in WHOLE_WAVE if row[0] in pseudocode(target)]
    good = accepted(target, [f"{name} {operands}" for name, operands, _ in rows])
    rows = [row for row, yes in zip(rows, good, strict=True) if yes]
    assert len(rows) >= {"gfx90a": 8, "gfx942": 8}.get(target, 10)
    snippets = Snippets(target, [f"{name} {operands}" for name, operands, _ in rows])
    lanes = slice(0, wave_size(target))
    wrong = []
    for index, (name, operands, fields) in enumerate(rows):
        for seed, mask in enumerate(masks(target)):
            state = random_state(target, seed)
            state.exec_mask = mask if not name.startswith(KEEPS_EXEC_OUT) else masks(target)[0]
            want, got = whole_wave(target, name, operands, fields, state), snippets.run(index, state)
            if not np.array_equal(want.vgpr[:, lanes], got.vgpr[:, lanes]) or (want.sgpr[:100] != got.sgpr[:100]).any():
                wrong.append(f"{name} {operands} exec {mask:#x}")
    assert wrong == []


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_permutation_from_lanes_that_are_off(target: str) -> None:
    """Without fetch-inactive a lane keeps its register, with bound control (second op_sel) it gets 0."""
    texts = [f"v_permlane{x}16_b32 v{D}, v{S}, s{S}, s{T}{tail}" for x in ("", "x") for tail in ("", " op_sel:[0,1]")]
    snippets = Snippets(target, texts)
    state = random_state(target, 8)
    state.exec_mask = masks(target)[1]
    select = int(state.sgpr[S]) | int(state.sgpr[T]) << 32
    for index, text in enumerate(texts):
        got = snippets.run(index, state).vgpr[D]
        for lane in range(32):
            source = (lane & 16 ^ 16 * ("x16" in text)) + (select >> 4 * (lane & 15) & 15)
            want = state.vgpr[S, source] if state.exec_mask >> source & 1 else state.vgpr[D, lane] * (index % 2 == 0)
            assert got[lane] == (want if state.exec_mask >> lane & 1 else state.vgpr[D, lane]), (text, lane)


def lanes_on(state: WaveState) -> NDArray[np.bool_]:
    return np.array([state.exec_mask >> lane & 1 for lane in range(64)], bool)


@every_target
def test_indirect_registers(target: str) -> None:
    """M0 counts from the register that the instruction names; EXEC holds for vector registers."""
    cases = {
        f"v_movrels_b32 v{D}, v{S}": lambda s, m: [(("v", D), ("v", S + m))],
        f"v_movreld_b32 v{D}, v{S}": lambda s, m: [(("v", D + m), ("v", S))],
        f"v_movrelsd_b32 v{D}, v{S}": lambda s, m: [(("v", D + m), ("v", S + m))],
        f"s_movrels_b32 s{D}, s{S}": lambda s, m: [(("s", D), ("s", S + m))],
        f"s_movreld_b32 s{D}, s{S}": lambda s, m: [(("s", D + m), ("s", S))],
        f"s_movrels_b64 s[{D}:{D + 1}], s[{S}:{S + 1}]": lambda s, m: [
            (("s", D + k), ("s", S + m + k)) for k in (0, 1)
        ],
        f"s_movreld_b64 s[{D}:{D + 1}], s[{S}:{S + 1}]": lambda s, m: [
            (("s", D + m + k), ("s", S + k)) for k in (0, 1)
        ],
        f"v_swap_b32 v{D}, v{S}": lambda s, m: [(("v", D), ("v", S)), (("v", S), ("v", D))],
        f"v_accvgpr_read_b32 v{D}, a{S}": lambda s, m: [(("v", D), ("v", 256 + S))],
        f"v_accvgpr_write_b32 a{D}, v{S}": lambda s, m: [(("v", 256 + D), ("v", S))],
        f"v_accvgpr_mov_b32 a{D}, a{S}": lambda s, m: [(("v", 256 + D), ("v", 256 + S))],
    }
    texts = list(cases)
    good = accepted(target, texts)
    texts = [text for text, yes in zip(texts, good, strict=True) if yes]
    assert len(texts) >= 7
    snippets = Snippets(target, texts)
    wrong = []
    for index, text in enumerate(texts):
        for m0 in (0, 2, 6):
            state = random_state(target, m0)
            state.exec_mask = masks(target)[1]
            state.sgpr[124] = m0
            want = state.copy()
            for (bank, to), (_, source) in cases[text](state, m0):
                if bank == "v":
                    want.vgpr[to] = np.where(lanes_on(state), state.vgpr[source], state.vgpr[to])
                else:
                    want.sgpr[to] = state.sgpr[source]
            got = snippets.run(index, state)
            if (want.vgpr != got.vgpr).any() or (want.sgpr[:100] != got.sgpr[:100]).any():
                wrong.append(f"{text} m0 {m0}")
    assert wrong == []


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_two_indices_in_m0(target: str) -> None:
    """The low ten bits of M0 count for the source, bits 16 to 25 for the destination."""
    texts = [f"v_movrelsd_2_b32 v{D}, v{S}", f"v_swaprel_b32 v{D}, v{S}", f"s_movrelsd_2_b32 s{D}, s{S}"]
    snippets = Snippets(target, texts)
    state = random_state(target, 3)
    state.exec_mask = masks(target)[1]
    state.sgpr[124] = 3 | 9 << 16
    on = lanes_on(state)
    for index in range(2):
        want = state.copy()
        want.vgpr[D + 9] = np.where(on, state.vgpr[S + 3], state.vgpr[D + 9])
        if index:
            want.vgpr[S + 3] = np.where(on, state.vgpr[D + 9], state.vgpr[S + 3])
        np.testing.assert_array_equal(snippets.run(index, state).vgpr, want.vgpr)
    assert snippets.run(2, state).sgpr[D + 9] == state.sgpr[S + 3]
    assert (np.delete(snippets.run(2, state).sgpr[:100], D + 9) == np.delete(state.sgpr[:100], D + 9)).all()


def test_swap_of_halves() -> None:
    target = "gfx1100"
    state = random_state(target, 4)
    state.exec_mask = masks(target)[1]
    got = Snippets(target, [f"v_swap_b16 v{D}.h, v{S}.l"]).run(0, state)
    d, s, on = state.vgpr[D], state.vgpr[S], lanes_on(state)
    np.testing.assert_array_equal(got.vgpr[D], np.where(on, d & 0xFFFF | s << 16, d))
    np.testing.assert_array_equal(got.vgpr[S], np.where(on, s & 0xFFFF0000 | d >> 16, s))


def swizzled(offset: int, lane: int) -> int:
    """Lane that DS_SWIZZLE_B32 reads: quad permutation with bit 15, otherwise and, or, xor within 32 lanes."""
    if offset >= 0xE000:  # FFT
        mask, reverse = offset & 31, int(f"{lane & 31:05b}"[::-1], 2)
        return reverse >> mask.bit_count() | lane & mask | lane & 32
    if offset >= 0xC000:  # rotation of 32 lanes
        keep, by = offset & 31, offset >> 5 & 31
        step = -by if offset >> 10 & 1 else by
        return lane & keep | (lane + step) & ~keep & 31 | lane & 32
    if offset & 0x8000:
        return lane & ~3 | offset >> 2 * (lane & 3) & 3
    low = ((lane & offset & 31) | offset >> 5 & 31) ^ offset >> 10 & 31
    return lane & 32 | low & 31


@every_target
def test_swizzle(target: str) -> None:
    offsets = [0x801B, 0x80E4, 0x8000, 0x1F, 0x041F, 0x7C1F, 0x401F, 0x000F, 0x0210, 0x0070, 0x2A95, 0xC020, 0xC4A0]
    offsets += [0xE000, 0xE010, 0xE01F, 0xE005] if target in ("gfx1100", "gfx1201") else [0xE000, 0xE01F]
    snippets = Snippets(target, [f"ds_swizzle_b32 v{D}, v{S} offset:{offset}" for offset in offsets])
    wave = wave_size(target)
    for index, offset in enumerate(offsets):
        for mask in masks(target)[:2]:
            state = random_state(target, index)
            state.exec_mask = mask
            got = snippets.run(index, state).vgpr[D]
            for lane in range(wave):
                source = swizzled(offset, lane)
                value = state.vgpr[S, source] if mask >> source & 1 else 0
                assert got[lane] == (value if mask >> lane & 1 else state.vgpr[D, lane]), (hex(offset), lane, source)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_gpr_index_mode(target: str) -> None:
    """While it is on, M0 is added to the chosen vector operands."""
    text = f"s_set_gpr_idx_on s{S}, gpr_idx(SRC0,DST)\nv_mov_b32 v{D}, v{S}\n"
    text += f"s_set_gpr_idx_idx s{T}\nv_add_u32 v{D}, v{S}, v{T}\ns_set_gpr_idx_off\nv_mov_b32 v30, v{S}"
    state = random_state(target, 5)
    state.sgpr[S], state.sgpr[T] = 3, 5
    got = Snippets(target, [text]).run(0, state)
    np.testing.assert_array_equal(got.vgpr[D + 3], state.vgpr[S + 3])
    np.testing.assert_array_equal(got.vgpr[D + 5], state.vgpr[S + 5] + state.vgpr[T])
    np.testing.assert_array_equal(got.vgpr[30], state.vgpr[S])


@pytest.mark.parametrize(("name", "bits"), [("b64_tr_b16", 16), ("b64_tr_b8", 8), ("b64_tr_b4", 4), ("b96_tr_b6", 6)])
def test_transposing_loads(name: str, bits: int) -> None:
    """Lanes 0-15 read a matrix of 16 columns, each row in 16 * bits / 64 of them; lane i receives column i."""
    words = 3 if bits == 6 else 2
    per_lane = {16: 4, 8: 8, 4: 16, 6: 16}[bits]
    rng = np.random.default_rng(6)
    state = WaveState.of("gfx950")
    state.lds = rng.integers(0, 256, 64 * 16, dtype=np.uint8)
    state.vgpr[S] = (rng.permutation(64) * 16).astype(np.uint32)
    got = Snippets("gfx950", [f"ds_read_{name} v[{D}:{D + words - 1}], v{S}"]).run(0, state).vgpr[D : D + words]
    for lane in range(64):
        base = lane & ~15
        rows = []
        for k in range(16):
            at = int(state.vgpr[S, base + k])
            packed = int.from_bytes(state.lds[at : at + 4 * words].tobytes(), "little")
            rows.append([packed >> bits * e & ((1 << bits) - 1) for e in range(per_lane)])
        i = lane & 15
        if bits in (4, 6):
            column = [rows[k][i] for k in range(16)]
        else:
            first, step = i // per_lane, 16 // per_lane
            column = [rows[first + step * k][i % per_lane] for k in range(per_lane)]
        want = sum(value << bits * k for k, value in enumerate(column))
        assert sum(int(got[w, lane]) << 32 * w for w in range(words)) == want, lane
