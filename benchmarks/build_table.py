"""Figures of a full build as Markdown.

    hipport build --preset layer_norm -j 1 --json > full.json
    python benchmarks/build_table.py full.json --title "layer_norm" --out docs/layer_norm_build.md

CPU seconds and memory are those of the compilation that made each object, also when it came from the cache.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HEAD = (
    "| target | units | kernels | registered | VGPR | spilling kernels | most spills | scratch kernels | code | CPU s |"
)


def total_row(name: str, rows: list[dict[str, Any]], registered: int) -> str:
    kernels = [k for row in rows for k in row.get("kernels", ())]
    ok = sum(row["ok"] for row in rows)
    cells = [name, f"{ok} of {len(rows)}", str(len(kernels)), str(registered)]
    if kernels:
        spills = [k["vgpr_spills"] + k["sgpr_spills"] for k in kernels]
        cells += [
            f"{min(k['vgprs'] for k in kernels)}-{max(k['vgprs'] for k in kernels)}",
            str(sum(n > 0 for n in spills)),
            str(max(spills)),
            str(sum(k["scratch_bytes"] > 0 for k in kernels)),
            f"{sum(k['code_bytes'] for k in kernels) / 2**20:.1f} MiB",
        ]
    else:
        cells += ["-"] * 5
    return f"| {' | '.join(cells)} | {sum(row['cost']['cpu_s'] for row in rows):.0f} |"


def unit_cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    if not row["ok"]:
        return "FAILED"
    kernels = row.get("kernels", [])
    low, high = (min(k["vgprs"] for k in kernels), max(k["vgprs"] for k in kernels)) if kernels else (0, 0)
    waves = min((k["occupancy"]["waves_per_simd"] for k in kernels), default=0)
    spills = sum((k["vgpr_spills"] + k["sgpr_spills"]) > 0 for k in kernels)
    return f"{low}-{high}, {waves:g} w" + (f", {spills} spill" if spills else "")


def table(report: dict[str, Any], title: str) -> str:
    device = [row for row in report["outcomes"] if row["pass"] == "device"]
    stubs = [row for row in report["outcomes"] if row["pass"] == "stubs"]
    registered = {row["unit"]: len(row.get("registered", ())) for row in stubs if row["ok"]}
    targets = sorted({row["target"] for row in device})
    lines = [f"# Full build of {title}", "", HEAD, "|---|" + "---:|" * 9]
    for target in targets:
        rows = [row for row in device if row["target"] == target]
        lines.append(total_row(target, rows, sum(registered.get(row["unit"], 0) for row in rows if row["ok"])))
    lines.append(total_row("host side", stubs, sum(registered.values())))
    peak = max((row["cost"]["peak_bytes"] for row in report["outcomes"]), default=0)
    found = Counter(d["id"] for d in report["diagnostics"])
    lines += [
        "",
        f"Largest resident set of one compiler: {peak / 2**20:.0f} MiB. Diagnostics:"
        f" {', '.join(f'{name} {n}' for name, n in sorted(found.items())) or 'none'}.",
        "",
        "Registers per lane of the unit's kernels (accumulation registers included), fewest waves per SIMD (w), and how"
        " many of the kernels spill:",
        "",
        f"| unit | kernels | {' | '.join(targets)} |",
        "|---|---:|" + "---|" * len(targets),
    ]
    by_key = {(row["unit"], row["target"]): row for row in device}
    for unit in sorted({row["unit"] for row in device}):
        counts = {len(row.get("kernels", ())) for row in device if row["unit"] == unit and row["ok"]}
        cells = [unit_cell(by_key.get((unit, target))) for target in targets]
        lines.append(f"| {unit} | {'/'.join(map(str, sorted(counts))) or '-'} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Read the report, write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, help="output of hipport build --json")
    parser.add_argument("--title", default="the tree")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    text = table(json.loads(options.report.read_text(encoding="utf-8")), options.title)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
