"""The table of numerical cases: it parses, and a failure of any kind fails its case."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")

from hipport.core import HipportError  # noqa: E402 - after the skip
from hipport.flash import FlashAttention  # noqa: E402
from hipport.flash.cases import Case, Figure, Outcome, read_cases, run_case  # noqa: E402

HEADER = "name\tform\tdtype\td\tb\tsq\tsk\th\thk\tseed\toptions\tsubset\th200\tinputs\n"


def test_table_covers_every_option_and_head_dim() -> None:
    cases = read_cases()
    assert len({case.name for case in cases}) == len(cases)
    assert {case.d for case in cases} >= {32, 64, 96, 128, 192, 256}
    used = {option for case in cases for option in case.options}
    assert used >= {"causal", "window", "alibi", "softcap", "dropout", "scores", "splits", "new", "rotary", "page"}
    assert used >= {"slots", "leftpad", "used", "infinite", "magnitude"}
    assert any(case.quick for case in cases)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a\tdense\tfp16\t64\t1\t1\t1\t1\t1\t0\tcasual\tfull", "casual"),
        ("a\tdense\tfp16\t64\t1\t1\t1\t1\t1\t0\tcausal=1\tfull", "causal"),
        ("a\tsparse\tfp16\t64\t1\t1\t1\t1\t1\t0\t\tfull", "sparse"),
        ("a\tdense\tfp16\tx\t1\t1\t1\t1\t1\t0\t\tfull", ":2:"),
        ("a\tdense", ":2:"),
    ],
)
def test_wrong_row_names_its_line(tmp_path: Path, row: str, message: str) -> None:
    table = tmp_path / "cases.tsv"
    table.write_text(HEADER + row + "\n")
    with pytest.raises(HipportError, match=message):
        read_cases(table)


def outcome(**changes: object) -> Outcome:
    case = Case("a", "dense", "fp16", 64, 1, 1, 1, 1, 1, 0)
    given = {"case": case, "kernels": (), "figures": (), "plain": 0.0, "findings": (), "problem": "", "seconds": 0.0}
    return Outcome(**(given | changes))  # type: ignore[arg-type]


def test_an_outcome_fails_for_any_reason() -> None:
    assert outcome(figures=(Figure("max", 1.0, 1.0),)).passed
    assert not outcome(figures=(Figure("max", 1.1, 1.0),)).passed
    assert not outcome(figures=(Figure("max", float("nan"), 1.0),)).passed
    assert not outcome(findings=("HP855 a race",)).passed
    assert not outcome(problem="the kernel program ended with 3").passed


def test_random_numbers_of_a_case_do_not_depend_on_cases_before(monkeypatch: pytest.MonkeyPatch) -> None:
    flash = FlashAttention()
    states: list[tuple[int, int]] = []

    def forward(q: torch.Tensor, *_: object, **__: object) -> torch.Tensor:
        states.append(flash.philox.take(32))
        return q

    monkeypatch.setitem(vars(flash), "interface", SimpleNamespace(flash_attn_func=forward))
    named = {case.name: case for case in read_cases()}
    for name in ("dropout", "dropout_causal", "dropout"):
        run_case(flash, named[name])
    first, other, again = states
    assert first == again != other
