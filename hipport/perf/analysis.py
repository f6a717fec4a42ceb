"""Occupancy and loop model of a code object's kernels, for people and for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hipport.build.occupancy import Occupancy, occupancy
from hipport.build.resources import KernelUsage, read_kernels
from hipport.build.run import demangler
from hipport.codeobject import CodeObject, device_images
from hipport.core import HipportError, Target, target_named
from hipport.perf.functions import Function, functions_of
from hipport.perf.isa import Kind, kind_of
from hipport.perf.model import MODEL_STATEMENT, PEAK_FLOP_PER_CLK, LoopCost, LoopReport, Tile, hottest_loop
from hipport.sdk import Sdk


@dataclass(frozen=True)
class KernelView:
    """A kernel with what occupancy it has for the LDS and workgroup that were asked about.

    Attributes:
        readable: demangled name.
        usage: from the metadata.
        occupancy: with the LDS and waves given on the command line.
        n_matrix: matrix instructions in its code.
    """

    readable: str
    usage: KernelUsage
    occupancy: Occupancy
    n_matrix: int


@dataclass(frozen=True)
class Analysis:
    """What `analyse` found.

    Attributes:
        path: the code object.
        target: the GPU.
        kernels: sorted by readable name.
        chosen: the kernel that the model is about, None when the target is not covered.
        loop: its hottest loop, None when it has none.
        tile: as given.
    """

    path: Path
    target: Target
    kernels: tuple[KernelView, ...]
    chosen: KernelView | None
    loop: LoopReport | None
    tile: Tile | None


def analyse(
    path: Path,
    sdk: Sdk,
    kernel: str | None = None,
    tile: Tile | None = None,
    lds_bytes: int | None = None,
    waves: int | None = None,
    loop_header: int | None = None,
    target_name: str | None = None,
) -> Analysis:
    """Analyse a code object.

    Args:
        path: the code object, or a bundle, object or program that embeds one.
        sdk: for the demangler.
        kernel: part of a kernel's mangled or readable name; None takes the kernel with most matrix instructions, then
            the longest.
        tile: what an iteration of the loop computes.
        lds_bytes: LDS of a workgroup with its dynamic part; None takes the static part.
        waves: waves of a workgroup; None takes the most that the kernel allows.
        loop_header: address of the loop to model; None takes the hottest.
        target_name: which of several embedded code objects; None takes the only one.

    Raises:
        HipportError: unreadable file, no such kernel, a tile for a target that the model does not cover.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}", "give a code object of hipport build") from error
    code = _code_object(data, path.name, target_name)
    target = target_named(code.target)
    usages = read_kernels(code)
    if not usages:
        raise HipportError(f"{path} holds no kernels", "give a code object with a __global__ function")
    functions = functions_of(code)
    readable = demangler(sdk)([usage.name for usage in usages])
    views = [
        _view(usage, readable[usage.name], functions.get(usage.name), target, lds_bytes, waves) for usage in usages
    ]
    views.sort(key=lambda view: view.readable)
    matching = [v for v in views if kernel is None or kernel in v.usage.name or kernel in v.readable]
    if not matching:
        raise HipportError(f"no kernel of {path.name} is named like {kernel!r}", "list them: hipport perf OBJECT")
    covered = target.name in PEAK_FLOP_PER_CLK
    if not covered and (tile is not None or loop_header is not None):
        raise HipportError(
            f"the loop model does not cover {target.name}", f"it covers {', '.join(PEAK_FLOP_PER_CLK)}; build for one"
        )
    chosen = max(matching, key=lambda view: (view.n_matrix, view.usage.code_bytes)) if covered else None
    loop = None
    if chosen is not None and chosen.usage.name in functions:
        loop = hottest_loop(functions[chosen.usage.name], target, tile, loop_header)
    shown = views if kernel is None else matching
    return Analysis(path, target, tuple(shown), chosen, loop, tile)


def _code_object(data: bytes, name: str, target: str | None) -> CodeObject:
    images = [image.data for image in device_images(data, name)]
    codes = [CodeObject.parse(image, name) for image in images]
    fitting = [code for code in codes if target is None or code.target == target_named(target).name]
    if len(fitting) == 1:
        return fitting[0]
    have = ", ".join(sorted({code.target for code in codes})) or "no device code"
    raise HipportError(f"{name} has {len(fitting)} code objects to choose from ({have})", "name one with --target")


def _view(
    usage: KernelUsage,
    readable: str,
    function: Function | None,
    target: Target,
    lds_bytes: int | None,
    waves: int | None,
) -> KernelView:
    size = waves * usage.wave_size if waves else usage.max_workgroup_size
    lds = usage.lds_bytes if lds_bytes is None else lds_bytes
    n_matrix = sum(kind_of(i.opcode) is Kind.MATRIX for i in function.instructions) if function else 0
    found = occupancy(target, usage.vgprs, usage.sgprs, lds, size, usage.wave_size)
    return KernelView(readable, usage, found, n_matrix)


# --- output ---


def analysis_json(analysis: Analysis) -> dict[str, Any]:
    """The analysis as plain JSON data."""
    result: dict[str, Any] = {
        "model": MODEL_STATEMENT,
        "target": analysis.target.name,
        "kernels": [
            {
                "name": view.usage.name,
                "readable": view.readable,
                "matrix_instructions": view.n_matrix,
                "resources": {k: v for k, v in asdict(view.usage).items() if k not in ("name", "occupancy")},
                "occupancy": asdict(view.occupancy),
            }
            for view in analysis.kernels
        ],
    }
    if analysis.chosen is not None:
        result["kernel"] = analysis.chosen.usage.name
    if analysis.loop is not None and analysis.chosen is not None:
        waves = analysis.chosen.occupancy.waves_per_simd
        result["loop"] = {
            "header": hex(analysis.loop.loop.header),
            "n_loops": analysis.loop.n_loops,
            "scratch_in_loop": analysis.loop.scratch_in_loop,
            "always_executed": _cost_json(analysis.loop.always, waves, analysis.tile),
            "all_blocks": _cost_json(analysis.loop.all_blocks, waves, analysis.tile),
        }
    return result


def _cost_json(cost: LoopCost, waves_per_simd: float, tile: Tile | None) -> dict[str, Any]:
    row = asdict(cost)
    row["counts"] = {kind.value: n for kind, n in cost.counts.items()}
    row |= {
        "pipes_clk": cost.pipes,
        "bottleneck": cost.bottleneck,
        "overlap_clk": cost.overlap_clk,
        "issue_clk_per_mflop": _rounded(cost.issue_clk_per_mflop, 1),
        "matrix_redundancy": _rounded(cost.matrix_redundancy, 3),
        "utilisation_serial": round(cost.utilisation_serial, 4),
        "utilisation_overlap": round(cost.utilisation_overlap, 4),
        "utilisation_estimate": round(cost.utilisation(waves_per_simd), 4),
        "valu_per_score": _rounded(_valu_per_score(cost, tile), 2),
    }
    return row


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _valu_per_score(cost: LoopCost, tile: Tile | None) -> float | None:
    """Full-rate VALU instructions per score element of a lane."""
    if tile is None:
        return None
    return (cost.counts.get(Kind.VALU, 0) + cost.counts.get(Kind.ACC_MOVE, 0)) / tile.scores_per_lane


def print_text(analysis: Analysis) -> None:
    """Tables for a terminal."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    plain = Console(highlight=False)
    console = Console(highlight=False, width=max(plain.width, 120))
    table = Table(
        *("kernel", "VGPR", "AGPR", "SGPR", "LDS", "scratch", "waves/SIMD", "limit", "matrix"),
        box=None,
        header_style="bold",
    )
    for view in analysis.kernels:
        usage, found = view.usage, view.occupancy
        figures = (usage.vgprs, usage.agprs, usage.sgprs, usage.lds_bytes, usage.scratch_bytes)
        table.add_row(
            Text(view.readable),
            *map(str, figures),
            f"{found.waves_per_simd:g}",
            found.limit,
            str(view.n_matrix),
        )
    console.print(f"{analysis.path.name} for {analysis.target.name}")
    console.print(table)
    if analysis.chosen is None:
        console.print(f"The loop model does not cover {analysis.target.name}.")
        return
    if analysis.loop is None:
        console.print(f"{analysis.chosen.readable} has no loop.", soft_wrap=True)
        return
    _print_loop(console, analysis, analysis.loop, analysis.chosen)


def _print_loop(console: Any, analysis: Analysis, report: LoopReport, chosen: KernelView) -> None:
    from rich.table import Table
    from rich.text import Text

    console.print()
    console.print(
        Text(f"Loop at {report.loop.header:#x} of {chosen.readable} ({report.n_loops} loops)"), soft_wrap=True
    )
    console.print(f"This is {MODEL_STATEMENT}.", soft_wrap=True)
    both = (report.always, report.all_blocks)
    table = Table("per iteration and wave", "always executed", "all blocks", box=None, header_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, cells in _lines(both, chosen.occupancy.waves_per_simd, analysis.tile):
        table.add_row(name, *cells)
    console.print(table)
    if report.scratch_in_loop:
        console.print(f"{report.scratch_in_loop} scratch instructions in the loop: registers spill on the hot path.")
    for opcode in report.all_blocks.unknown_matrix:
        console.print(f"The model does not know {opcode} and counts it as 0: the figures are too low.")


def _lines(costs: Sequence[LoopCost], waves: float, tile: Tile | None) -> list[tuple[str, tuple[str, ...]]]:
    def row(name: str, values: Sequence[float | None], form: str) -> tuple[str, tuple[str, ...]]:
        return name, tuple("-" if value is None else format(value, form) for value in values)

    lines = [row("instructions", [c.instructions for c in costs], "d")]
    lines += [
        row(f"  {kind.value}", [c.counts.get(kind, 0) for c in costs], "d")
        for kind in Kind
        if costs[1].counts.get(kind)
    ]
    lines += [row(f"{pipe} clk", [c.pipes[pipe] for c in costs], ".0f") for pipe in costs[0].pipes]
    lines += [
        row("issue clk (nothing overlaps)", [c.issue_clk for c in costs], "d"),
        ("busiest pipe", tuple(c.bottleneck for c in costs)),
        row("matrix MFLOP", [c.matrix_flops / 1e6 for c in costs], ".3f"),
        row("useful MFLOP", [c.useful_flops / 1e6 for c in costs], ".3f"),
        row("matrix redundancy", [c.matrix_redundancy for c in costs], ".3f"),
        row("issue clk per useful MFLOP", [c.issue_clk_per_mflop for c in costs], ".0f"),
        row("VALU per score element", [_valu_per_score(c, tile) for c in costs], ".1f"),
        row("utilisation, one wave", [c.utilisation_serial for c in costs], ".3f"),
        row("utilisation, perfect overlap", [c.utilisation_overlap for c in costs], ".3f"),
        row(f"utilisation, {waves:g} waves", [c.utilisation(waves) for c in costs], ".3f"),
    ]
    return lines
