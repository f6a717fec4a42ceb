"""The table of numerical cases: it parses, and a failure of any kind fails its case."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")

from hipport.core import HipportError  # noqa: E402 - after the skip
from hipport.flash import FlashAttention  # noqa: E402
from hipport.flash.cases import Case, Figure, Outcome, plan_case, read_cases, run_case  # noqa: E402
from hipport.flash.kernels import LAUNCH_TEMPLATE, Forward, build_entry  # noqa: E402

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
        ("a\tdense\tfp16\t64\t1\t-1\t1\t1\t1\t0\t\tfull", ":2: a number is negative"),
        ("a\tdense\tfp16\t64\t1\t1\t1\t1\t1\t0\tdropout=x\tfull", ":2: could not convert"),
        ("a\tdense\tfp16\t64\t1\t1\t1\t1\t1\t0\tsoftcap=nan\tfull", "softcap=nan is not finite"),
        ("a\tdense\tfp16\t64\t1\t1\t1\t1\t1\t0\twindow=1\tfull", "window=1 needs two numbers"),
        ("a\tvarlen\tfp16\t64\t1\t1\t1\t1\t1\t0\tq=1:x\tfull", ":2: invalid literal"),
        ("a\tdense\tfp16\t64\t1\t1\t1\t1\t1\t0\t\toften", "neither quick nor full"),
        ("\n".join(["a\tdense\tfp16\t64\t1\t1\t1\t1\t1\t0\t\tfull"] * 2), ":3: a case before this one"),
    ],
)
def test_wrong_row_names_its_line(tmp_path: Path, row: str, message: str) -> None:
    table = tmp_path / "cases.tsv"
    table.write_text(HEADER + row + "\n")
    with pytest.raises(HipportError, match=message):
        read_cases(table)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no column b, d"),
        (b"name\tform\n", "no column b, d"),
        (b"\xff\xfe", "cannot be read"),
        (None, "cannot be read"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, content: bytes | None, message: str) -> None:
    table = tmp_path / "cases.tsv"
    if content is not None:
        table.write_bytes(content)
    with pytest.raises(HipportError, match=message):
        read_cases(table)


def test_a_case_that_flash_attention_refuses_is_named() -> None:
    """Before anything is compiled."""
    case = Case("wide", "dense", "fp16", 300, 1, 1, 1, 1, 1, 0)
    flash = FlashAttention()
    flash.__dict__["interface"] = SimpleNamespace(flash_attn_func=refuse)
    with pytest.raises(HipportError, match="case wide: head dimension at most 256"):
        plan_case(flash, case)


def refuse(*_: object, **__: object) -> None:
    raise RuntimeError("head dimension at most 256")


def test_a_tree_that_is_still_cuda_is_told(tmp_path: Path) -> None:
    """Before a compiler says so in a thousand lines."""
    template = tmp_path / LAUNCH_TEMPLATE
    template.parent.mkdir(parents=True)
    template.write_text("void run(cudaStream_t stream);\n")
    unused: Any = None
    with pytest.raises(HipportError, match="is not translated"):
        build_entry([Forward(64, bf16=False)], tmp_path, "gfx942", unused, unused)


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
