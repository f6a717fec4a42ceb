"""The semantics table against LLVM: what its assembler accepts decodes back to its row, and runs."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

from hipport.core import HipportError
from hipport.core.files import rules_root
from hipport.core.target import TARGETS
from hipport.emulator import UnimplementedInstruction
from hipport.emulator.build import NATIVE
from hipport.emulator.testing import Opcode, Snippets, WaveState, execute, opcodes
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

WIDTHS = {"b64": 2, "u64": 2, "i64": 2, "f64": 2, "pkf32": 2}


def texts_of(op: Opcode, wave_size: int) -> list[str]:
    """The opcode with registers of the right width for each operand; forms with a literal, or with the source that is
    also the destination left out, come after it."""
    mask = "s[20:21]" if wave_size == 64 else "s20"
    parts, at = [], 4
    for index, kind in enumerate(op.operands):
        width = WIDTHS.get(kind, 1)
        if kind == "mask":
            parts.append("vcc" if index == 0 and wave_size == 64 else "vcc_lo" if index == 0 else mask)
        else:
            letter = "v" if op.unit == "valu" and not op.mnemonic.startswith("v_s_") else "s"
            at += at % 2
            parts.append(f"{letter}{at}" if width == 1 else f"{letter}[{at}:{at + 1}]")
            at += width
    forms = [parts, parts[:-1], parts[1:], [*parts[:-1], "0x1234"], [*parts[:-2], "0x1234", parts[-1]]]
    return [f"{op.mnemonic} {', '.join(form)}" for form in forms]


def accepted_forms(target: str, rows: list[Opcode], wave_size: int) -> dict[str, str]:
    """Mnemonic -> the first form of it that the assembler takes for the target."""
    forms = [(o.mnemonic, text) for o in rows for text in texts_of(o, wave_size)]
    found: dict[str, str] = {}
    for (name, text), ok in zip(forms, accepted(target, [t for _, t in forms]), strict=True):
        if ok:
            found.setdefault(name, text)
    return found


def accepted(target: str, texts: list[str]) -> list[bool]:
    """Which lines the assembler takes for the target."""
    command = [str(find_sdk().tool("llvm-mc")), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}"]
    done = subprocess.run(
        [*command, "-o", "/dev/null"], input="\n".join(texts), capture_output=True, text=True, check=False
    )
    wrong = {int(m[1]) for m in re.finditer(r"<stdin>:(\d+):\d+: error", done.stderr)}
    return [line not in wrong for line in range(1, len(texts) + 1)]


def vector_rows() -> list[Opcode]:
    special = ("v_readfirstlane", "v_readlane", "v_writelane", "v_accvgpr", "v_permlane", "v_movrel")
    return [o for o in opcodes().values() if o.unit == "valu" and o.operands and not o.mnemonic.startswith(special)]


@pytest.mark.parametrize("target", TARGETS)
def test_vector_opcodes_assemble_decode_and_run(target: str) -> None:
    wave_size = TARGETS[target].wave_size
    taken = accepted_forms(target, vector_rows(), wave_size)
    assert len(taken) > 330
    snippets = Snippets(target, list(taken.values()))
    state = WaveState.of(target)
    refused = []
    for index, text in enumerate(taken.values()):
        try:
            snippets.run(index, state)
        except UnimplementedInstruction as error:
            refused.append(f"{text}: {error}")
    assert not refused


def test_every_vector_opcode_is_a_real_one() -> None:
    """A row whose mnemonic no target knows is a typing error."""
    rows = vector_rows()
    known: set[str] = set()
    for target in TARGETS:
        known |= accepted_forms(target, rows, TARGETS[target].wave_size).keys()
    unknown = {o.mnemonic for o in rows if o.mnemonic not in known}
    assert unknown == {"v_mov_b16", "v_swap_b16"}  # their operands are halves: v0.l, v1.h


def test_scalar_opcodes_assemble_decode_and_run() -> None:
    rows = [o for o in opcodes().values() if o.unit == "salu" and o.operands and "saveexec" not in o.mnemonic]
    for target in TARGETS:
        taken = accepted_forms(target, rows, 64)
        assert len(taken) > 90
        snippets = Snippets(target, list(taken.values()))
        for index in range(len(taken)):
            snippets.run(index, WaveState.of(target))


def test_add_with_lanes_off_keeps_their_registers() -> None:
    state = WaveState.of("gfx942")
    state.exec_mask = 0x0F0F
    state.vgpr[1] = np.arange(64, dtype=np.uint32)
    state.vgpr[0] = 7
    after = execute("gfx942", "v_add_u32 v0, 100, v1", state)
    on = np.array([0x0F0F >> lane & 1 for lane in range(64)], bool)
    assert (after.vgpr[0] == np.where(on, np.arange(64) + 100, 7)).all()
    assert (state.vgpr[0] == 7).all()


def test_scalar_state_and_lds() -> None:
    state = WaveState.of("gfx942")
    state.sgpr[4], state.sgpr[5] = 0xFFFFFFFF, 1
    state.vgpr[2] = np.arange(64) * 4
    state.lds = np.arange(256, dtype=np.uint8)
    after = execute(
        "gfx942", "s_add_u32 s6, s4, s5\nds_read_b32 v3, v2\ns_waitcnt lgkmcnt(0)\nds_write_b8 v2, v2", state
    )
    assert (after.sgpr[6], after.scc) == (0, 1)
    assert (after.vgpr[3] == np.arange(256, dtype=np.uint8).view(np.uint32)).all()
    assert (after.lds[::4] == np.arange(64) * 4 % 256).all()


@pytest.mark.parametrize("immediate", [-32768, -1, 0, 1, 32767])
def test_sixteen_bit_immediates_are_signed(immediate: int) -> None:
    state = WaveState.of("gfx942")
    state.sgpr[1] = 10
    text = "\n".join(f"s_{op} {immediate}" for op in ("movk_i32 s0,", "addk_i32 s1,", "cmpk_eq_i32 s0,"))
    after = execute("gfx942", text, state)
    assert np.int32(after.sgpr[0].view(np.int32)) == immediate
    assert np.int32(after.sgpr[1].view(np.int32)) == 10 + immediate
    assert after.scc == 1


def test_unknown_instruction_is_refused_by_name() -> None:
    state = WaveState.of("gfx1100")
    with pytest.raises(UnimplementedInstruction, match="image_sample"):
        execute("gfx1100", "image_sample v[0:3], v[4:5], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D", state)


def test_refused_only_when_reached() -> None:
    text = "s_branch 2\nimage_sample v[0:3], v[4:5], s[8:15], s[16:19] dmask:0xf dim:SQ_RSRC_IMG_2D\nv_mov_b32 v0, 5"
    after = execute("gfx1100", text, WaveState.of("gfx1100"))
    assert after.vgpr[0, 0] == 5


def test_assembler_errors_are_clear() -> None:
    with pytest.raises(HipportError, match="cannot assemble for gfx942"):
        execute("gfx942", "v_add_f32 v0", WaveState.of("gfx942"))


def test_every_finding_has_an_explanation() -> None:
    used = {i for source in NATIVE.glob("*.cpp") for i in re.findall(r'"(HP8[5-7]\d)"', source.read_text())}
    text = (rules_root() / "diagnostics.toml").read_text()
    assert used >= {"HP850", "HP855", "HP858"}
    assert used == set(re.findall(r'^id = "(HP8[5-7]\d)"', text, re.MULTILINE))
