"""Every register opcode of the emulator against the pseudocode of AMD's ISA manuals."""

from __future__ import annotations

import pytest
from oracle_memory import memory_outcomes
from oracle_registers import Outcome, scalar_outcomes, vector_outcomes
from oracle_tables import corrections, exceptions

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
# Opcodes that agree, at least: an evaluator that stops covering them must not pass unseen.
LEAST_VECTOR = {"gfx90a": 440, "gfx942": 450, "gfx950": 460, "gfx1100": 440, "gfx1201": 435}
LEAST_SCALAR = {"gfx90a": 125, "gfx942": 125, "gfx950": 125, "gfx1100": 135, "gfx1201": 165}


def problems(outcomes: list[Outcome]) -> list[str]:
    return [f"{o.name}: {o.state}: {o.detail}" for o in outcomes if o.state not in ("agrees", "no form")]


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_vector_opcodes_do_what_the_manual_says(target: str) -> None:
    outcomes = list(vector_outcomes(target))
    assert problems(outcomes) == []
    assert sum(o.state == "agrees" for o in outcomes) >= LEAST_VECTOR[target]


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_scalar_opcodes_do_what_the_manual_says(target: str) -> None:
    outcomes = list(scalar_outcomes(target))
    assert problems(outcomes) == []
    assert sum(o.state == "agrees" for o in outcomes) >= LEAST_SCALAR[target]


LEAST_MEMORY = {"gfx90a": 250, "gfx942": 255, "gfx950": 255, "gfx1100": 240, "gfx1201": 265}


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_lds_and_memory_opcodes_do_what_the_manual_says(target: str) -> None:
    outcomes = list(memory_outcomes(target))
    assert problems(outcomes) == []
    assert sum(o.state == "agrees" for o in outcomes) >= LEAST_MEMORY[target]


def test_every_correction_and_exception_has_a_reason() -> None:
    assert all(len(reason) > 10 for reason in exceptions().values())
    assert all(text and len(reason) > 10 for text, reason in corrections().values())
