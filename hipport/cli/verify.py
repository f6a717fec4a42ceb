"""`hipport verify`: the ported FlashAttention kernels against float64."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.output import plural, print_json
from hipport.core import HipportError

if TYPE_CHECKING:
    from hipport.flash.cases import Case, Outcome


@click.command(name="verify")
@click.argument("tree", required=False, type=click.Path(path_type=Path))
@click.option("--target", "-t", default="gfx942", show_default=True, metavar="GFX", help="AMD target.")
@click.option("--device", type=click.Choice(["emulator", "rocm"]), default="emulator", show_default=True)
@click.option("--subset", type=click.Choice(["quick", "full"]), default="full", show_default=True, help="Which cases.")
@click.option("--case", "-k", "patterns", multiple=True, metavar="PATTERN", help="Only cases that match; repeatable.")
@click.option("--checks", default="all", show_default=True, metavar="LIST", help="The emulator's checks; '' for none.")
@click.option("--cases", "table", type=click.Path(path_type=Path), metavar="FILE", help="Another table of cases.")
@click.option("--plan", "plan_only", is_flag=True, help="Print the cases and the kernels they need; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def command(
    tree: Path | None,
    target: str,
    device: str,
    subset: str,
    patterns: tuple[str, ...],
    checks: str,
    table: Path | None,
    plan_only: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Check the FlashAttention kernels of the translated TREE (default: generated_hip) numerically.

    Every case calls upstream's own Python interface; below it run the translated kernels, on the emulator with its
    checks or on the GPU. Results are held against attention in float64: an error may be twice that of plain PyTorch in
    the same type, or, where an NVIDIA H200's error is recorded, 1.5 times that one. Kernels are built when a case first
    needs them (a minute each) and cached.

    \b
    Exit codes: 0 all cases passed, 1 a case failed, 2 bad usage or input, no toolchain.

    \b
      hipport verify --subset quick          what continuous integration runs
      hipport verify -k 'cache_*' --plan     which kernels these cases need
    """
    if importlib.util.find_spec("torch") is None:
        raise HipportError("hipport verify computes its references with PyTorch", 'pip install "hipport[torch]"')
    from hipport.flash import FlashAttention
    from hipport.flash.cases import TABLE, plan_case, read_cases, run_case
    from hipport.flash.kernels import programs_for
    from hipport.hiprt.program import CompileError

    cases = _chosen(read_cases(table or TABLE), subset, patterns)
    flash = FlashAttention(tree or "generated_hip", target, device, checks=checks)
    needed = {case.name: plan_case(flash, case) for case in cases}
    groups = programs_for([kernel for kernels in needed.values() for kernel in kernels])
    if plan_only:
        names = {case: [str(kernel) for kernel in kernels] for case, kernels in needed.items()}
        if as_json:
            print_json({"target": flash.target, "cases": names, "programs": [list(map(str, g)) for g in groups]})
        else:
            for name, kernels in names.items():
                click.echo(f"{name:28} {' '.join(kernels) or 'no kernel'}")
            click.echo(
                f"{plural(len(cases), 'case')}, {plural(sum(map(len, groups)), 'kernel')} "
                f"in {plural(len(groups), 'program')}"
            )
        return 0

    outcomes = []
    for number, case in enumerate(cases, 1):
        if not quiet:
            click.echo(f"[{number}/{len(cases)}] {case.name}", err=True)
        for group in groups:
            if set(group) & set(needed[case.name]):
                with suppress(CompileError):  # the case will say so
                    flash.prepare(group)
        outcome = run_case(flash, case)
        outcomes.append(outcome)
        if not as_json:
            _print_outcome(outcome)
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if as_json:
        print_json({
            "target": flash.target, "device": flash.device, "checks": checks, "passed": len(outcomes) - len(failed),
            "failed": len(failed), "cases": [_as_json(outcome) for outcome in outcomes],
        })  # fmt: skip
    else:
        click.echo(f"{flash.target}: {plural(len(outcomes), 'case')}, {len(failed)} failed")
    return 1 if failed else 0


def _chosen(cases: Sequence[Case], subset: str, patterns: Sequence[str]) -> list[Case]:
    from fnmatch import fnmatchcase

    chosen = [
        case
        for case in cases
        if (subset == "full" or case.quick) and (not patterns or any(fnmatchcase(case.name, p) for p in patterns))
    ]
    if not chosen:
        raise HipportError("no case matches", "hipport verify --plan lists them")
    return chosen


def _print_outcome(outcome: Outcome) -> None:
    verdict = click.style("ok", fg="green") if outcome.passed else click.style("FAILED", fg="red")
    figures = "  ".join(f"{f.name} {f.value:.2e} (bar {f.bar:.2e})" for f in outcome.figures)
    click.echo(f"{outcome.case.name:28} {verdict}  {figures}")
    for line in (outcome.problem, *outcome.findings):
        if line:
            click.echo(f"    {line}")


def _as_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.case.name,
        "passed": outcome.passed,
        "kernels": list(outcome.kernels),
        "figures": {f.name: {"value": f.value, "bar": f.bar} for f in outcome.figures},
        "plain_error": outcome.plain,
        "findings": list(outcome.findings),
        "problem": outcome.problem,
    }
