"""The upstream tree, translated once per change of rules, and its kernels on the emulator with all checks on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from hipport.flash import FlashAttention
from hipport.flash.kernels import Instantiation


@pytest.fixture(scope="session")
def tree(translated_upstream: Path) -> Path:
    return translated_upstream


@pytest.fixture(scope="session")
def companions(tree: Path) -> dict[Instantiation, tuple[Instantiation, ...]]:
    """By kernel: those that `hipport verify` compiles with it, so that tests and command share one cache."""
    from hipport.flash.cases import plan_cases, read_cases

    programs = plan_cases(FlashAttention(tree, target="gfx942"), read_cases()).programs
    return {what: group for group in programs for what in group}


@pytest.fixture
def flash(
    tree: Path, companions: dict[Instantiation, tuple[Instantiation, ...]], monkeypatch: pytest.MonkeyPatch
) -> Iterator[FlashAttention]:
    """Kernels for gfx942; a test fails when the checks found something in what it ran."""
    kernels = FlashAttention(tree, target="gfx942", checks="all", compute_units=1, seed=11)
    prepare = kernels.prepare

    def prepare_together(wanted: Sequence[Instantiation]) -> None:
        for what in wanted:
            prepare(companions.get(what, (what,)))

    monkeypatch.setattr(kernels, "prepare", prepare_together)
    yield kernels
    assert not kernels.findings
