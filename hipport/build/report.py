"""A finished build for people and for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipport.build.outcome import Outcome, category_of, diagnostic_row, outcome_row
from hipport.build.plan import Pass
from hipport.build.resources import KernelUsage
from hipport.build.run import RECORD, BuildResult, Workshop, demangler
from hipport.core import Severity

_MESSAGES_SHOWN = 40
_KERNEL_HEADS = ("kernel", "target", "VGPR", "AGPR", "SGPR", "LDS", "scratch", "spills", "waves/SIMD", "code")
_UNIT_HEADS = ("unit", "target", "kernels", "registered", "VGPR", "spills", "scratch", "waves/SIMD", "code")


@dataclass(frozen=True, slots=True)
class KernelRow:
    """One kernel of one code object, with its readable name."""

    unit: str
    target: str
    readable: str
    usage: KernelUsage


def per_kernel_rows(result: BuildResult, workshop: Workshop, patterns: Sequence[str] = ()) -> tuple[KernelRow, ...]:
    """Every kernel that was built; with patterns, those whose readable name contains one or matches it as a glob."""
    from fnmatch import fnmatchcase

    names = demangler(workshop.sdk)(sorted({k.name for o in result.outcomes for k in o.kernels}))
    rows = [
        KernelRow(outcome.unit, outcome.target, names[usage.name], usage)
        for outcome in result.outcomes
        for usage in outcome.kernels
    ]
    if patterns:
        rows = [r for r in rows if any(p in r.readable or fnmatchcase(r.readable, p) for p in patterns)]
    return tuple(rows)


def result_json(result: BuildResult, rows: Sequence[KernelRow]) -> dict[str, Any]:
    """Everything: the reproducible record, readable names, and what it cost."""
    readable = {row.usage.name: row.readable for row in rows}
    outcomes = []
    for outcome in result.outcomes:
        row = outcome_row(outcome)
        for kernel in row.get("kernels", ()):
            kernel["readable"] = readable.get(kernel["name"], kernel["name"])
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
        totals[name] = {
            "units": len(mine),
            "ok": sum(o.ok for o in mine),
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
        if any(o.registered for o in mine):
            totals[name]["registered"] = sum(len(o.registered) for o in mine)
    return totals


def print_text(result: BuildResult, kernel_rows: Sequence[KernelRow] | None, out: Path) -> None:
    """Tables and messages for a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    wide = Console(highlight=False, width=max(console.width, 120))
    registered = {o.unit: len(o.registered) for o in result.outcomes if o.kind is Pass.STUBS and o.ok}
    heads = _KERNEL_HEADS if kernel_rows is not None else _UNIT_HEADS
    table = Table(*heads, box=None, header_style="bold")
    for column in table.columns[2:]:
        column.justify = "right"
    if kernel_rows is not None:
        for kernel in kernel_rows:
            table.add_row(Text(kernel.readable), kernel.target, *_usage_cells(kernel.usage))
    else:
        for outcome in result.outcomes:
            if outcome.kind is Pass.DEVICE and outcome.ok:
                table.add_row(Text(outcome.unit), outcome.target, *_unit_cells(outcome, registered.get(outcome.unit)))
    if table.row_count:
        wide.print(table)

    diagnostics = result.diagnostics()
    for diagnostic in diagnostics[:_MESSAGES_SHOWN]:
        console.print(Text(diagnostic.format()), soft_wrap=True)
    if len(diagnostics) > _MESSAGES_SHOWN:
        console.print(f"... and {len(diagnostics) - _MESSAGES_SHOWN} more: all are in {out / RECORD}")
    groups = Counter(category_of(d) for d in diagnostics if d.severity is Severity.ERROR and category_of(d))
    if groups:
        console.print("errors by kind: " + ", ".join(f"{name} {n}" for name, n in groups.most_common()))

    for name, row in _totals(result).items():
        text = f"{name}: {row['ok']} of {row['units']} units"
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
