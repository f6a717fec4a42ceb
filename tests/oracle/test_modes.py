"""Rounding, denormals, IEEE and DX10 clamp of MODE: the manuals' pseudocode with arithmetic in that mode."""

from __future__ import annotations

import numpy as np
import pytest
from oracle_forms import wave_size
from oracle_registers import Outcome, scalar_outcomes, vector_outcomes
from oracle_tables import MANUAL

from hipport.emulator.testing import Snippets, WaveState

pytestmark = [pytest.mark.sdk, pytest.mark.slow]
# Opcodes whose result depends on MODE and is exact; approximations round as they like.
EXACT = (
    r"v_(pk_)?(add|sub|subrev|mul|fma|fmac|fmamk|fmaak|min|max|med3|min3|max3|minmax|maxmin|minimum\w*|maximum\w*)"
    r"(_legacy|_num|_dx9_zero)?_f(16|32|64)|v_(ceil|floor|trunc|rndne|fract|ldexp|frexp_\w+)_\w*f(16|32|64)"
    r"|v_cvt_(f16|f32|f64|i16|u16|i32|u32)_(f16|f32|f64|i16|u16|i32|u32)|v_cmpx?_(?!class)\w+_f(16|32|64)|v_fma_mix\w+|v_cvt_pk_?(rtz_)?f16_f32"
)
KEEP, IEEE, DX10 = 0xF0, 1 << 9, 1 << 8
MODES = {
    "round up": KEEP | IEEE | DX10 | 0b0101,
    "round down": KEEP | IEEE | DX10 | 0b1010,
    "round to zero": KEEP | IEEE | DX10 | 0b1111,
    "round f32 up, others down": KEEP | IEEE | DX10 | 0b1001,
    "flush all": IEEE | DX10,
    "flush f32": 0xC0 | IEEE | DX10,
    "flush f16 and f64, f32 outputs": 0x10 | IEEE | DX10,
    "flush inputs of all, round down": 0xA0 | IEEE | DX10 | 0b1010,
    "without IEEE": KEEP | DX10,
}
LEAST = 170  # opcodes that agree
SCALAR = r"s_(?!load|buffer|min_f|max_f)\w+_f(16|32)|s_cvt_f\w+"


def problems(outcomes: list[Outcome]) -> list[str]:
    return [f"{o.name}: {o.state}: {o.detail}" for o in outcomes if o.state not in ("agrees", "no form")]


@pytest.mark.parametrize("target", MANUAL)
def test_overflow_of_halves(target: str) -> None:
    """FP16_OVFL: a result beyond the greatest half is that half, infinities of operands and of 1/0 stay."""
    texts = ["v_add_f16 v4, v10, v11", "v_mul_f16 v4, v10, v11", "v_fma_f16 v4, v10, v11, v12", "v_cvt_f16_f32 v4, v13"]
    texts += ["v_pk_add_f16 v4, v10, v11", "v_pk_mul_f16 v4, v10, v11", "v_rcp_f16 v4, v10"]
    texts += ["v_fma_mixlo_f16 v4, v10, v11, v12 op_sel_hi:[1,1,1]"]
    snippets = Snippets(target, texts)
    rng = np.random.default_rng(1)
    choices = np.array([0, 1, -2, 300, 40000, -60000, 65504, np.inf, -np.inf], np.float16)
    state = WaveState.of(target)
    state.mode |= 1 << 23
    a, b, c = (rng.choice(choices, (64, 2)) for _ in range(3))
    for register, halves in ((10, a), (11, b), (12, c)):
        state.vgpr[register] = halves.copy().view(np.uint32)[:, 0]
    single = rng.choice(np.array([1, 7e4, -1e30, np.inf], np.float32), 64)
    state.vgpr[13] = single.view(np.uint32)
    x, y, z = (v.astype(np.float64) for v in (a, b, c))
    with np.errstate(all="ignore"):
        exact = [x + y, x * y, x * y + z, np.stack([single.astype(np.float64)] * 2, 1), x + y, x * y, 1 / x, x * y + z]
    lanes = slice(0, wave_size(target))
    for index, text in enumerate(texts):
        want = exact[index]
        with np.errstate(all="ignore"):
            want = np.where(np.isfinite(want), np.clip(want, -65504, 65504), want).astype(np.float16)
        got = np.ascontiguousarray(snippets.run(index, state).vgpr[4]).view(np.float16).reshape(64, 2)
        columns = slice(0, 2 if "pk" in text else 1)
        np.testing.assert_array_equal(got[lanes, columns], want[lanes, columns], err_msg=text)


@pytest.mark.parametrize("name", MODES)
@pytest.mark.parametrize("target", MANUAL)
def test_arithmetic_in_mode(target: str, name: str) -> None:
    if name == "without IEEE" and target == "gfx1201":
        pytest.skip("gfx12 has no IEEE bit")
    outcomes = list(vector_outcomes(target, EXACT, MODES[name]))
    assert problems(outcomes) == []
    assert sum(o.state == "agrees" for o in outcomes) >= LEAST


@pytest.mark.parametrize("name", [name for name in MODES if name != "without IEEE"])
def test_scalar_arithmetic_in_mode(name: str) -> None:
    outcomes = list(scalar_outcomes("gfx1201", SCALAR, MODES[name]))
    assert problems(outcomes) == []
    assert sum(o.state == "agrees" for o in outcomes) >= 50
