"""The page of figures that `hipport verify --report` writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipport.flash.cases import Outcome

# What the figures of a case are called, in the order of the columns.
COLUMNS = {
    "max": "output",
    "rel": "relative",
    "lse": "log-sum-exp",
    "mask": "dropout mask",
    "cache": "appended cache",
}

_EXPLANATION = """\
Each cell is an error and the bar that it must not pass (bars: [flash.md](flash.md)). *Output*: largest difference from
attention in float64; the bar is twice that of plain PyTorch in the same type, or, for cases named `h200_`, 1.5 times
what upstream's own kernel has on an NVIDIA H200. *Relative*: Frobenius norm, against the H200's. *Dropout mask*: scores
whose sign is not upstream's. *Appended cache*: largest difference from the keys and values that belong there."""


@dataclass(frozen=True, slots=True)
class Run:
    """Cases on one target.

    Attributes:
        target: LLVM processor name.
        outcomes: in the order of the table.
    """

    target: str
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> int:
        """Number of cases that failed."""
        return sum(not outcome.passed for outcome in self.outcomes)


def figures_page(runs: Sequence[Run], n_table: int, device: str, checks: str) -> str:
    """Markdown of all figures; the same figures give the same bytes.

    Args:
        runs: one per target.
        n_table: number of cases that the table has.
        device: what the kernels ran on.
        checks: the emulator's checks, or empty.
    """
    where = "on the GPU of a ROCm machine"
    if device == "emulator":
        where = f"on the emulator with the checks `{checks}`" if checks else "on the emulator without its checks"
    lines = [
        "# Forward kernels of FlashAttention-2: figures",
        "",
        f"Written by `hipport verify --report`; the kernels ran {where}.",
        "",
        _EXPLANATION,
        "",
        "| target | cases | of them quick | passed | findings |",
        "|---|---:|---:|---:|---:|",
    ]
    for run in runs:
        quick = sum(outcome.case.quick for outcome in run.outcomes)
        findings = sum(len(outcome.findings) for outcome in run.outcomes)
        n = len(run.outcomes)
        lines.append(f"| {run.target} | {n} of {n_table} | {quick} | {n - run.failed} | {findings} |")
    for run in runs:
        lines += ["", f"## {run.target}", "", *_table(run.outcomes)]
        lines += [line for outcome in run.outcomes for line in _complaints(outcome)]
    return "\n".join(lines) + "\n"


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    there = {figure.name for outcome in outcomes for figure in outcome.figures}
    names = [*(name for name in COLUMNS if name in there), *sorted(there - set(COLUMNS))]
    lines = [
        "| " + " | ".join(("case", "subset", *(COLUMNS.get(name, name) for name in names), "")) + " |",
        "|---|---|" + "---:|" * len(names) + "---|",
    ]
    for outcome in outcomes:
        figures = {figure.name: figure for figure in outcome.figures}
        cells = [outcome.case.name, "quick" if outcome.case.quick else "full"]
        for name in names:
            figure = figures.get(name)
            cells.append(f"{_number(figure.value)} / {_number(figure.bar)}" if figure else "")
        lines.append("| " + " | ".join((*cells, "ok" if outcome.passed else "**FAILED**")) + " |")
    return lines


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2e}"


def _complaints(outcome: Outcome) -> list[str]:
    said = [line for line in (outcome.problem, *outcome.findings) if line]
    return (
        [f"\n`{outcome.case.name}`:\n", *(f"    {part}" for line in said for part in line.splitlines())] if said else []
    )
