"""`hipport verify`: the ported FlashAttention kernels against float64."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.output import plural, print_json
from hipport.core import HipportError
from hipport.core.files import write_atomic

if TYPE_CHECKING:
    from hipport.flash import FlashAttention
    from hipport.flash.cases import Case, Outcome


@click.command(name="verify")
@click.argument("tree", required=False, type=click.Path(path_type=Path))
@click.option(
    "--target",
    "-t",
    "targets",
    multiple=True,
    default=("gfx942",),
    show_default=True,
    metavar="GFX",
    help="AMD target; repeatable.",
)
@click.option("--device", type=click.Choice(["emulator", "rocm"]), default="emulator", show_default=True)
@click.option("--subset", type=click.Choice(["quick", "full"]), default="full", show_default=True, help="Which cases.")
@click.option("--case", "-k", "patterns", multiple=True, metavar="PATTERN", help="Only cases that match; repeatable.")
@click.option("--checks", default="all", show_default=True, metavar="LIST", help="The emulator's checks; '' for none.")
@click.option("--cases", "table", type=click.Path(path_type=Path), metavar="FILE", help="Another table of cases.")
@click.option("--plan", "plan_only", is_flag=True, help="Print the cases and the kernels they need; run nothing.")
@click.option("--report", type=click.Path(path_type=Path), metavar="FILE", help="Write all figures as Markdown.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def command(
    tree: Path | None,
    targets: tuple[str, ...],
    device: str,
    subset: str,
    patterns: tuple[str, ...],
    checks: str,
    table: Path | None,
    plan_only: bool,
    report: Path | None,
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
      hipport verify --report figures.md     a page of all figures
    """
    if importlib.util.find_spec("torch") is None:
        raise HipportError("hipport verify computes its references with PyTorch", 'pip install "hipport[torch]"')
    from hipport.flash import FlashAttention
    from hipport.flash.cases import TABLE, read_cases
    from hipport.flash.figures import Run, figures_page

    if report and not report.parent.is_dir():
        raise HipportError(f"{report.parent} is no folder", "name a file in a folder that exists")
    all_cases = read_cases(table or TABLE)
    cases = _chosen(all_cases, subset, patterns)
    ports = [FlashAttention(tree or "generated_hip", name, device, checks=checks) for name in dict.fromkeys(targets)]
    if plan_only:
        _print_plans(ports, cases, as_json)
        return 0

    def show(outcome: Outcome) -> None:
        if not as_json:
            _print_outcome(outcome)

    runs = [Run(flash.target, tuple(_run_cases(flash, cases, show, quiet))) for flash in ports]
    if report:
        write_atomic(report, figures_page(runs, len(all_cases), device, checks).encode())
    if as_json:
        print_json({
            "device": device,
            "checks": checks,
            "runs": [
                {"target": run.target, "passed": len(run.outcomes) - run.failed, "failed": run.failed,
                 "cases": [_as_json(outcome) for outcome in run.outcomes]}
                for run in runs
            ],
        })  # fmt: skip
    else:
        for run in runs:
            click.echo(f"{run.target}: {plural(len(run.outcomes), 'case')}, {run.failed} failed")
    return 1 if any(run.failed for run in runs) else 0


def _run_cases(
    flash: FlashAttention, cases: Sequence[Case], show: Callable[[Outcome], None], quiet: bool
) -> Iterator[Outcome]:
    from hipport.flash.cases import plan_case, run_case
    from hipport.flash.kernels import programs_for
    from hipport.hiprt.program import CompileError

    needed = [plan_case(flash, case) for case in cases]
    groups = programs_for([kernel for kernels in needed for kernel in kernels])
    for number, (case, kernels) in enumerate(zip(cases, needed, strict=True), 1):
        if not quiet:
            click.echo(f"[{number}/{len(cases)}] {flash.target} {case.name}", err=True)
        for group in groups:
            if set(group) & set(kernels):
                with suppress(CompileError):  # the case will say so
                    flash.prepare(group)
        outcome = run_case(flash, case)
        show(outcome)
        yield outcome


def _print_plans(ports: Sequence[FlashAttention], cases: Sequence[Case], as_json: bool) -> None:
    from hipport.flash.cases import plan_case
    from hipport.flash.kernels import programs_for

    plans = []
    for flash in ports:
        needed = {case.name: plan_case(flash, case) for case in cases}
        groups = programs_for([kernel for kernels in needed.values() for kernel in kernels])
        names = {case: [str(kernel) for kernel in kernels] for case, kernels in needed.items()}
        plans.append({"target": flash.target, "cases": names, "programs": [list(map(str, g)) for g in groups]})
        if not as_json:
            for name, kernels in names.items():
                click.echo(f"{name:28} {' '.join(kernels) or 'no kernel'}")
            click.echo(
                f"{flash.target}: {plural(len(cases), 'case')}, {plural(sum(map(len, groups)), 'kernel')} "
                f"in {plural(len(groups), 'program')}"
            )
    if as_json:
        print_json({"runs": plans})


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
