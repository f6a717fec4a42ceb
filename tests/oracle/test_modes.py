"""Rounding, denormals, IEEE and DX10 clamp of MODE: the manuals' pseudocode with arithmetic in that mode."""

from __future__ import annotations

import pytest
from oracle_registers import Outcome, scalar_outcomes, vector_outcomes
from oracle_tables import MANUAL

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
