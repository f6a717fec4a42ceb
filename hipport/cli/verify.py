"""`hipport verify`: the ported FlashAttention kernels against float64."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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

_PROGRAM_BYTES = 2 << 30  # what the compiler of one program takes at most


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
@click.option(
    "--jobs", "-j", type=click.IntRange(min=1), help="Compilers at a time; default: as processors and memory allow."
)
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
    jobs: int | None,
    report: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Check the FlashAttention kernels of the translated TREE (default: generated_hip) numerically.

    Every case calls upstream's own Python interface; below it run the translated kernels, on the emulator with its
    checks or on the GPU. Results are held against attention in float64: an error may be twice that of plain PyTorch in
    the same type, or, where an NVIDIA H200's error is recorded, 1.5 times that one. Kernels are compiled
    ahead of the cases, several together (half a minute each), and cached.

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

    with ThreadPoolExecutor(jobs or _compilers()) as pool:
        try:
            work = [_Work(flash, cases, pool) for flash in ports]
            runs = [Run(part.flash.target, tuple(part.run(as_json, quiet))) for part in work]
        finally:
            pool.shutdown(cancel_futures=True)
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


def _compilers() -> int:
    from hipport.build.queue import available_memory

    return max(1, min(len(os.sched_getaffinity(0)), available_memory() // _PROGRAM_BYTES))


class _Work:
    """The cases on one target: their programs are compiled ahead of them, in the order of need."""

    def __init__(self, flash: FlashAttention, cases: Sequence[Case], pool: ThreadPoolExecutor) -> None:
        from hipport.flash.cases import plan_cases

        self.flash, self.cases = flash, cases
        self.plan = plan_cases(flash, cases)
        in_order = dict.fromkeys(number for case in cases for number in self.plan.programs_of(case))
        self.builds = {number: pool.submit(flash.prepare, self.plan.programs[number]) for number in in_order}

    def run(self, as_json: bool, quiet: bool) -> Iterator[Outcome]:
        from hipport.flash.cases import run_case
        from hipport.hiprt.program import CompileError

        for place, case in enumerate(self.cases, 1):
            if not quiet:
                click.echo(f"[{place}/{len(self.cases)}] {self.flash.target} {case.name}", err=True)
            for number in self.plan.programs_of(case):
                with suppress(CompileError):  # the case will say so
                    self.builds[number].result()
            outcome = run_case(self.flash, case)
            if not as_json:
                _print_outcome(outcome)
            yield outcome


def _print_plans(ports: Sequence[FlashAttention], cases: Sequence[Case], as_json: bool) -> None:
    from hipport.flash.cases import plan_cases

    plans = {flash.target: plan_cases(flash, cases) for flash in ports}
    if as_json:
        print_json({
            "runs": [
                {"target": target, "cases": {name: list(map(str, needed)) for name, needed in plan.kernels.items()},
                 "programs": [list(map(str, group)) for group in plan.programs]}
                for target, plan in plans.items()
            ],
        })  # fmt: skip
        return
    for target, plan in plans.items():
        for name, needed in plan.kernels.items():
            click.echo(f"{name:28} {' '.join(map(str, needed)) or 'no kernel'}")
        n_kernels = sum(map(len, plan.programs))
        click.echo(
            f"{target}: {plural(len(cases), 'case')}, {plural(n_kernels, 'kernel')} "
            f"in {plural(len(plan.programs), 'program')}"
        )


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
