"""VOPD: two vector instructions in one do what they do one after the other, but both read before either writes."""

from __future__ import annotations

import numpy as np
import pytest
from oracle_forms import accepted
from oracle_values import sample

from hipport.emulator.testing import DEFAULT_MODE, Snippets, WaveState

pytestmark = pytest.mark.sdk
BINARY = (
    "mul_f32",
    "add_f32",
    "sub_f32",
    "subrev_f32",
    "mul_dx9_zero_f32",
    "max_f32",
    "min_f32",
    "max_num_f32",
    "min_num_f32",
)
X_ONLY_TOO = ("fmac_f32", "dot2acc_f32_f16", "dot2acc_f32_bf16", "mov_b32", "cndmask_b32", "fmaak_f32", "fmamk_f32")
Y_ONLY = ("add_nc_u32", "lshlrev_b32", "and_b32")
MODES = (DEFAULT_MODE, DEFAULT_MODE & ~0x30, DEFAULT_MODE | 0b1010)


def half(name: str, d: int, a: int, b: int, plain: bool) -> str:
    """One of the two, as part of a VOPD or alone."""
    prefix, vcc = ("v_", ", vcc_lo") if plain else ("v_dual_", "")
    if plain and name.startswith("dot2acc"):
        name = name.replace("dot2acc", "dot2c")
    operands = {
        "mov_b32": f"v{d}, v{a}",
        "cndmask_b32": f"v{d}, v{a}, v{b}{vcc}",
        "fmaak_f32": f"v{d}, v{a}, v{b}, 0x40490fdb",
        "fmamk_f32": f"v{d}, v{a}, 0x40490fdb, v{b}",
    }.get(name, f"v{d}, v{a}, v{b}")
    return f"{prefix}{name} {operands}"


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_pairs(target: str) -> None:
    first = (*BINARY, *X_ONLY_TOO)
    pairs = [(x, y) for x in first for y in (*first, *Y_ONLY)]
    dual = [f"{half(x, 4, 10, 13, False)} :: {half(y, 5, 11, 16, False)}" for x, y in pairs]
    alone = [f"{half(x, 4, 10, 13, True)}\n{half(y, 5, 11, 16, True)}" for x, y in pairs]
    good = accepted(target, dual)
    apart = accepted(target, [line for text in alone for line in text.split("\n")])
    keep = [k for k in range(len(pairs)) if good[k] and apart[2 * k] and apart[2 * k + 1]]
    assert len(keep) > 150
    snippets = Snippets(target, [text for k in keep for text in (dual[k], alone[k])])
    rng, wrong = np.random.default_rng(1), []
    for mode in MODES:
        state = WaveState.of(target)
        state.mode, state.vcc = mode, 0x5A5AA5F0
        state.exec_mask &= 0xFF7F3FFF
        for register in range(4, 20):
            state.vgpr[register] = sample(rng, "f32", 64).astype(np.uint32)
        for at, k in enumerate(keep):
            one, two = snippets.run(2 * at, state), snippets.run(2 * at + 1, state)
            if (one.vgpr[:32, :32] != two.vgpr[:32, :32]).any():
                wrong.append(f"{dual[k]} mode {mode:#x}")
    assert wrong == []


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
def test_both_read_before_either_writes(target: str) -> None:
    state = WaveState.of(target)
    state.vgpr[4], state.vgpr[5] = np.arange(64), 100 + np.arange(64)
    after = Snippets(target, ["v_dual_mov_b32 v4, v5 :: v_dual_mov_b32 v5, v4"]).run(0, state)
    np.testing.assert_array_equal(after.vgpr[4, :32], state.vgpr[5, :32])
    np.testing.assert_array_equal(after.vgpr[5, :32], state.vgpr[4, :32])
