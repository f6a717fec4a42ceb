"""A finished build for people and for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hipport.build.cache import Cost
from hipport.build.instantiations import Instantiation, instantiation, template_parameters
from hipport.build.outcome import Outcome, category_of, diagnostic_row, outcome_row
from hipport.build.plan import Pass
from hipport.build.resources import KernelUsage
from hipport.build.run import RECORD, BuildResult, Workshop, demangler
from hipport.build.units import Unit
from hipport.codeobject import CodeObject
from hipport.core import Severity

_MESSAGES_SHOWN = 40
_KERNEL_HEADS = ("kernel", "target", "VGPR", "AGPR", "SGPR", "LDS", "scratch", "spills", "waves/SIMD", "code")
_CODE_HEADS = ("matrix", "in loop: scratch", "hostcall", "CPU s", "MiB")
_UNIT_HEADS = ("unit", "target", "kernels", "registered", "VGPR", "spills", "scratch", "waves/SIMD", "code")


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel of one code object.

    Attributes:
        unit: path of its unit.
        target: LLVM processor name.
        readable: demangled name.
        what: its name and template arguments.
        usage: from the metadata.
        code: figures of its code (`hipport.perf.main_loop.CodeShape`); of a kernel that was compiled on its own.
        cost: of its own compilation; None when it was compiled with the rest of its unit.
    """

    unit: str
    target: str
    readable: str
    what: Instantiation
    usage: KernelUsage
    code: Mapping[str, int]
    cost: Cost | None


def per_kernel_rows(
    result: BuildResult,
    workshop: Workshop,
    patterns: Sequence[str] = (),
    units: Sequence[Unit] = (),
    figures: Callable[[CodeObject], Mapping[str, Mapping[str, int]]] | None = None,
) -> tuple[KernelRow, ...]:
    """Every kernel that was built.

    Args:
        result: the build.
        workshop: where its objects lie.
        patterns: only kernels whose readable name contains one or matches it as a glob.
        units: whose sources name the template parameters.
        figures: makes figures of the code of each kernel in a code object.
    """
    names = demangler(workshop.sdk)(sorted({k.name for o in result.outcomes for k in o.kernels}))
    parameters = {unit.path: template_parameters(workshop.tree, unit.reached) for unit in units}
    rows = []
    for outcome in result.outcomes:
        alone = outcome.kind is Pass.KERNEL
        code: Mapping[str, Mapping[str, int]] = {}
        if figures is not None and alone and outcome.ok:
            path = workshop.out / outcome.output
            code = figures(CodeObject.parse(path.read_bytes(), path.name))
        for usage in outcome.kernels:
            readable = names[usage.name]
            if not patterns or any(p in readable or fnmatchcase(readable, p) for p in patterns):
                what = instantiation(usage.name, readable, parameters.get(outcome.unit, {}))
                cost = outcome.cost if alone else None
                rows.append(
                    KernelRow(outcome.unit, outcome.target, readable, what, usage, code.get(usage.name, {}), cost)
                )
    return tuple(rows)


def result_json(result: BuildResult, rows: Sequence[KernelRow]) -> dict[str, Any]:
    """Everything: the reproducible record, readable names, and what it cost."""
    known = {(row.unit, row.target, row.usage.name): row for row in rows}
    outcomes = []
    for outcome in result.outcomes:
        row = outcome_row(outcome)
        for kernel in row.get("kernels", ()):
            of = known.get((outcome.unit, outcome.target, kernel["name"]))
            kernel["readable"] = of.readable if of else kernel["name"]
            if of and of.what.arguments:
                kernel |= {"function": of.what.function, "arguments": of.what.named}
            if of and of.code:
                kernel["code"] = dict(of.code)
        row["cost"] = {
            "cpu_s": outcome.cost.cpu_s,
            "peak_bytes": outcome.cost.peak_bytes,
            "cached": outcome.cached,
        }
        outcomes.append(row)
    return {
        "outcomes": outcomes,
        "diagnostics": [
            diagnostic_row(d) | ({"category": c} if (c := category_of(d)) else {}) for d in result.diagnostics()
        ],
        "libraries": list(result.libraries),
        "totals": _totals(result),
    }


def _totals(result: BuildResult) -> dict[str, dict[str, Any]]:
    """Figures per target, and of the host passes under their own name."""
    totals: dict[str, dict[str, Any]] = {}
    for name in sorted({o.target or o.kind.value for o in result.outcomes}):
        mine = [o for o in result.outcomes if (o.target or o.kind.value) == name]
        kernels = [k for o in mine for k in o.kernels]
        whole = [o for o in mine if o.kind is not Pass.KERNEL]
        totals[name] = {
            "units": len(whole),
            "ok": sum(o.ok for o in whole),
            "cpu_s": round(sum(o.cost.cpu_s for o in mine), 1),
            "peak_bytes": max((o.cost.peak_bytes for o in mine), default=0),
        }
        if kernels:
            totals[name] |= {
                "kernels": len(kernels),
                "vgprs": [min(k.vgprs for k in kernels), max(k.vgprs for k in kernels)],
                "kernels_with_spills": sum(bool(k.vgpr_spills or k.sgpr_spills) for k in kernels),
                "kernels_with_scratch": sum(bool(k.scratch_bytes) for k in kernels),
                "code_bytes": sum(k.code_bytes for k in kernels),
            }
        if any(o.bitcode for o in mine):
            totals[name]["instantiations"] = sum(len(o.bitcode.kernels) for o in mine if o.bitcode)
        if len(whole) < len(mine):
            totals[name]["kernels_failed"] = sum(not o.ok for o in mine if o.kind is Pass.KERNEL)
        if any(o.registered for o in mine):
            totals[name]["registered"] = sum(len(o.registered) for o in mine)
    return totals


def print_text(result: BuildResult, kernel_rows: Sequence[KernelRow] | None, out: Path) -> None:
    """Tables and messages for a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    registered = {o.unit: len(o.registered) for o in result.outcomes if o.kind is Pass.STUBS and o.ok}
    with_code = kernel_rows is not None and any(row.code for row in kernel_rows)
    wide = Console(highlight=False, width=max(console.width, 200 if with_code else 120))
    heads = (*_KERNEL_HEADS, *(_CODE_HEADS if with_code else ())) if kernel_rows is not None else _UNIT_HEADS
    table = Table(*heads, box=None, header_style="bold")
    for column in table.columns[2:]:
        column.justify = "right"
    if kernel_rows is not None:
        for kernel in kernel_rows:
            name, extra = (kernel.what.short, _code_cells(kernel)) if with_code else (kernel.readable, ())
            table.add_row(Text(name), kernel.target, *_usage_cells(kernel.usage), *extra)
    else:
        for outcome in result.outcomes:
            if outcome.kind is Pass.FRONT_END and outcome.bitcode:
                found = str(len(outcome.bitcode.kernels))
                table.add_row(Text(outcome.unit), outcome.target, found, str(registered.get(outcome.unit, "-")))
            elif outcome.kind is Pass.DEVICE and outcome.ok:
                table.add_row(Text(outcome.unit), outcome.target, *_unit_cells(outcome, registered.get(outcome.unit)))
    if table.row_count:
        wide.print(table)

    print_diagnostics(result, out)
    for name, row in _totals(result).items():
        text = f"{name}: {row['ok']} of {row['units']} units"
        if "instantiations" in row:
            text += f" through the front end, {row['instantiations']} kernels in them"
        if row.get("kernels_failed"):
            text += f", {row['kernels_failed']} kernels FAILED"
        if "kernels" in row:
            low, high = row["vgprs"]
            text += (
                f", {row['kernels']} kernels, VGPR {low}-{high}, {row['kernels_with_spills']} spill,"
                f" {row['kernels_with_scratch']} use scratch"
            )
        if "registered" in row:
            text += f", {row['registered']} kernels registered"
        console.print(f"{text}, {row['cpu_s']:.0f} CPU s", soft_wrap=True)
    for library in result.libraries:
        console.print(f"linked {out / library}", soft_wrap=True)
    console.print(f"record: {out / RECORD}", soft_wrap=True)


def print_diagnostics(result: BuildResult, out: Path) -> None:
    """Messages, and how many errors there are of each kind."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    diagnostics = result.diagnostics()
    for diagnostic in diagnostics[:_MESSAGES_SHOWN]:
        console.print(Text(diagnostic.format()), soft_wrap=True)
    if len(diagnostics) > _MESSAGES_SHOWN:
        console.print(f"... and {len(diagnostics) - _MESSAGES_SHOWN} more: all are in {out / RECORD}")
    groups = Counter(category_of(d) for d in diagnostics if d.severity is Severity.ERROR and category_of(d))
    if groups:
        console.print("errors by kind: " + ", ".join(f"{name} {n}" for name, n in groups.most_common()))


def _code_cells(row: KernelRow) -> tuple[str, ...]:
    cost = (f"{row.cost.cpu_s:.1f}", f"{row.cost.peak_bytes / 2**20:.0f}") if row.cost else ("", "")
    hostcall = "yes" if row.usage.hostcall else "no"
    return (str(row.code.get("matrix", "")), str(row.code.get("main_loop_scratch", "")), hostcall, *cost)


def _usage_cells(usage: KernelUsage) -> tuple[str, ...]:
    waves = f"{usage.occupancy.waves_per_simd:g} ({usage.occupancy.limit})"
    figures = (usage.vgprs, usage.agprs, usage.sgprs, usage.lds_bytes, usage.scratch_bytes)
    return (*map(str, figures), str(usage.vgpr_spills + usage.sgpr_spills), waves, str(usage.code_bytes))


def _unit_cells(outcome: Outcome, registered: int | None) -> tuple[str, ...]:
    kernels = outcome.kernels
    if not kernels:
        return ("0", "-" if registered is None else str(registered), "", "", "", "", "")
    waves = sorted({k.occupancy.waves_per_simd for k in kernels})
    return (
        str(len(kernels)),
        "-" if registered is None else str(registered),
        f"{min(k.vgprs for k in kernels)}-{max(k.vgprs for k in kernels)}",
        str(sum(k.vgpr_spills + k.sgpr_spills for k in kernels)),
        str(max(k.scratch_bytes for k in kernels)),
        f"{waves[0]:g}-{waves[-1]:g}",
        f"{sum(k.code_bytes for k in kernels) // 1024} K",
    )
