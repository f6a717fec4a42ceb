"""Figures of kernels that were compiled one by one, as Markdown.

    hipport build --preset flash_base --json > base.json
    hipport build --preset flash_options --json > options.json
    python benchmarks/build_matrix.py base.json options.json --title "FlashAttention's forward kernels" --out page.md

Takes reports of `hipport build --front-end` and `hipport build --instantiation`; of two with the same compilation the
later one counts. CPU seconds and memory are those of the compilation that made each result, also when it came from the
cache.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

Row = dict[str, Any]

INTRODUCTION = """\
Each kernel is compiled on its own from what the front end made of its unit; [build.md](build.md) says how to choose
kernels, and that their code is the whole unit's. Made by `benchmarks/build_matrix.py`. A main loop is an innermost
loop with matrix instructions. Spilled SGPRs lie in lanes of vector registers. Waves are those per SIMD that the
registers allow; LDS is dynamic, so no code object states it."""

FRONT_ENDS = "| target | units | through the front end | kernels in them | CPU s each | CPU s | largest, MiB |"
KERNELS = (
    "| target | kernels | compiled | VGPR | VGPR spills | SGPR spills | scratch | scratch in a main loop"
    " | lane moves in a main loop | hostcall | no matrix instruction | CPU s each | CPU s | largest, MiB |"
)
EACH = (
    "| unit | options | VGPR | AGPR | SGPR | VGPR spills | SGPR spills | scratch | waves | matrix | main loops"
    " | scratch in them | lane moves in them | CPU s |"
)


def table(head: str, rows: Iterable[Sequence[object]], texts: int = 1) -> list[str]:
    """Lines of a table whose first columns are text."""
    columns = head.count("|") - 1
    return [head, "|---" * texts + "|---:" * (columns - texts) + "|", *(f"| {' | '.join(map(str, r))} |" for r in rows)]


def spread(values: Sequence[float]) -> str:
    """Least and most."""
    low, high = round(min(values)), round(max(values))
    return str(low) if low == high else f"{low}-{high}"


def cost_cells(rows: Sequence[Row]) -> tuple[str, str, str]:
    seconds = [row["cost"]["cpu_s"] for row in rows]
    return spread(seconds), f"{sum(seconds):.0f}", f"{max(row['cost']['peak_bytes'] for row in rows) / 2**20:.0f}"


def the_kernel(row: Row) -> Row:
    return next((k for k in row.get("kernels", ()) if k["name"] == row["kernel"]), {})


def in_main_loops(row: Row, what: str) -> int:
    return int(the_kernel(row).get("code", {}).get(f"main_loop_{what}", 0))


def front_end_cells(target: str, rows: Sequence[Row]) -> Sequence[object]:
    kernels = sum(len(row["bitcode"]["kernels"]) for row in rows if row["ok"])
    return target, len(rows), sum(row["ok"] for row in rows), kernels, *cost_cells(rows)


def kernel_cells(target: str, rows: Sequence[Row]) -> Sequence[object]:
    built = [the_kernel(row) for row in rows if row["ok"]]
    return (
        target,
        len(rows),
        len(built),
        spread([k["vgprs"] for k in built]) if built else "-",
        sum(k["vgpr_spills"] > 0 for k in built),
        sum(k["sgpr_spills"] > 0 for k in built),
        sum(k["scratch_bytes"] > 0 for k in built),
        sum(in_main_loops(row, "scratch") > 0 for row in rows),
        sum(in_main_loops(row, "lane_moves") > 0 for row in rows),
        sum(k["hostcall"] for k in built),
        sum(not k["code"]["matrix"] for k in built),
        *cost_cells(rows),
    )


def unit_name(row: Row) -> str:
    return PurePosixPath(row["unit"]).stem.removesuffix("_sm80")


def options(row: Row) -> str:
    """Flags that are set, and numbers; types are what the unit's name says."""
    kernel = the_kernel(row)
    shown = [
        name if value == "true" else f"{name}={value}"
        for name, value in kernel.get("arguments", ())
        if name and value != "false" and "<" not in value
    ]
    function = kernel.get("function", "").rpartition("::")[2]
    combine = " (combine)" if "combine" in function else ""
    return (", ".join(shown) or "none") + combine


def each_cells(row: Row) -> Sequence[object]:
    kernel, code = the_kernel(row), the_kernel(row).get("code", {})
    if not row["ok"]:
        return unit_name(row), "FAILED", *("-" * 11), row["cost"]["cpu_s"]
    figures = [kernel[name] for name in ("vgprs", "agprs", "sgprs", "vgpr_spills", "sgpr_spills", "scratch_bytes")]
    figures.append(f"{kernel['occupancy']['waves_by_vgprs']}")
    loops = (code["matrix"], code["main_loops"], code["main_loop_scratch"], code["main_loop_lane_moves"])
    return unit_name(row), options(row), *figures, *loops, f"{row['cost']['cpu_s']:.0f}"


def findings(outcomes: Sequence[Row]) -> list[str]:
    """What a person has to look at."""
    failed = [row for row in outcomes if not row["ok"]]
    lines = [f"- {r['unit']} does not pass the front end for {r['target']}" for r in failed if r["pass"] == "front-end"]
    lines += [f"- of {r['unit']}, {r['kernel']} does not compile for {r['target']}" for r in failed if "kernel" in r]
    kernels = [row for row in outcomes if row["pass"] == "kernel" and row["ok"]]
    for target in sorted({row["target"] for row in kernels}):
        for what, text in (("scratch", "access scratch"), ("lane_moves", "read or write single lanes (spilled SGPRs)")):
            found = [row for row in by_target(kernels, target) if in_main_loops(row, what)]
            if found:
                most = max(in_main_loops(row, what) for row in found)
                common = set.intersection(*(set_options(row) for row in found))
                with_ = f"; all have {', '.join(sorted(common))}" if common else ""
                lines.append(f"- {target}: {len(found)} kernels {text} in a main loop, at most {most} times{with_}")
    return lines or ["- none"]


def set_options(row: Row) -> set[str]:
    return {name for name, value in the_kernel(row).get("arguments", ()) if value == "true"}


def by_target(rows: Iterable[Row], target: str) -> list[Row]:
    return [row for row in rows if row["target"] == target]


def page(outcomes: Sequence[Row], title: str, remarks: Sequence[str]) -> str:
    front_ends = [row for row in outcomes if row["pass"] == "front-end"]
    kernels = [row for row in outcomes if row["pass"] == "kernel"]
    assembly = sorted({text for row in front_ends if row["ok"] for text in row["bitcode"]["assembly"]})
    lines = [f"# Build of {title}", "", INTRODUCTION, ""]
    targets = sorted({row["target"] for row in front_ends})
    lines += table(FRONT_ENDS, [front_end_cells(t, by_target(front_ends, t)) for t in targets])
    lines += ["", f"Inline assembly in them: {', '.join(f'`{text}`' for text in assembly) or 'none'}.", ""]
    targets = sorted({row["target"] for row in kernels})
    lines += table(KERNELS, [kernel_cells(t, by_target(kernels, t)) for t in targets])
    lines += ["", "To look at:", "", *findings(outcomes)]
    if remarks:
        lines += ["", *(f"- {remark}" for remark in remarks)]
    for target in targets:
        lines += ["", f"## {target}", ""]
        rows = sorted(by_target(kernels, target), key=lambda row: (row["unit"], options(row)))
        lines += table(EACH, map(each_cells, rows), 2)
    return "\n".join(lines) + "\n"


def main() -> int:
    """Read the reports, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", type=Path, nargs="+", help="output of hipport build --json")
    parser.add_argument("--title", default="the tree's kernels")
    parser.add_argument("--remark", action="append", default=[], help="a line of text for the page; repeatable")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    found: dict[tuple[str, ...], Row] = {}
    for report in arguments.reports:
        for row in json.loads(report.read_text(encoding="utf-8"))["outcomes"]:
            found[row["pass"], row["unit"], row.get("target", ""), row.get("kernel", "")] = row
    text = page([found[key] for key in sorted(found)], arguments.title, arguments.remark)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
