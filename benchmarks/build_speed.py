"""Speed of `hipport build`: what it adds to the compiler, and what an unchanged tree costs. Whole processes, medians.

    python benchmarks/build_speed.py [--rounds 5] [--units 60] [--json FILE] [--check]

Input: small HIP units made here, so nothing but the toolchain is needed (hipport sdk install). ``--check`` exits with 1
when a limit below is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

COLD_UNITS = 4  # compiled for the comparison with clang; the rest is only planned and looked up
LIMITS = {
    # hipport's own share of a cold build, relative to the same compiler calls made directly: 4 units, start-up included
    "overhead": 1.5,
    # seconds to find that a tree of 60 units with 2 passes each is unchanged
    "unchanged": 2.0,
}
UNIT = """#include <hip/hip_runtime.h>
#include "shared.h"
template <int N> __global__ void k(float* p) {{ p[threadIdx.x] += SHARED * N * {number}; }}
void launch(float* p) {{ k<1><<<1, 64>>>(p); k<2><<<1, 64>>>(p); }}
"""


@dataclass(frozen=True)
class Row:
    """One measured step: wall seconds (median, least, most)."""

    name: str
    seconds: float
    least: float
    most: float
    rounds: int


def timed(command: Sequence[str], env: dict[str, str], cwd: Path) -> float:
    """Wall seconds of a command that must succeed."""
    start = time.perf_counter()
    subprocess.run(command, env=env, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def row(name: str, times: Sequence[float]) -> Row:
    return Row(name, statistics.median(times), min(times), max(times), len(times))


def build(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "hipport", "build", "tree", "-q", "-j", "1", *arguments]


def measure(rounds: int, units: int) -> list[Row]:
    """Run every step in a temporary folder with a cache of its own."""
    from hipport.sdk import find_sdk

    with tempfile.TemporaryDirectory(prefix="hipport-bench-") as name:
        folder = Path(name)
        env = {**os.environ, "HIPPORT_SDK": str(find_sdk().root), "HIPPORT_CACHE": str(folder / "cache")}
        tree = folder / "tree"
        tree.mkdir()
        (tree / "shared.h").write_text("#define SHARED 1\n", encoding="utf-8")
        for number in range(COLD_UNITS):
            (tree / f"u{number}.cu").write_text(UNIT.format(number=number), encoding="utf-8")

        timed(build("--compile-commands", "commands.json", "--plan"), env, folder)
        commands = json.loads((folder / "commands.json").read_text(encoding="utf-8"))
        rows = []
        direct, through = [], []
        for _ in range(rounds):  # alternating, so that a busy machine slows both alike
            direct.append(sum(timed([*c["arguments"], "-o", str(folder / "o")], env, tree) for c in commands))
            through.append(timed(build("--fresh"), env, folder))
        rows += [row(f"clang, {len(commands)} calls", direct), row("hipport build --fresh, the same", through)]

        for number in range(COLD_UNITS, units):
            (tree / f"u{number}.cu").write_text(UNIT.format(number=number), encoding="utf-8")
        timed(build(), env, folder)
        rows.append(row(f"plan of {units} units", [timed(build("--plan"), env, folder) for _ in range(rounds)]))
        rows.append(row(f"unchanged, {units} units", [timed(build(), env, folder) for _ in range(rounds)]))
        return rows


def main() -> int:
    """Measure, print, compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--units", type=int, default=60)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    rows = measure(options.rounds, options.units)
    for entry in rows:
        print(f"{entry.name:40} {entry.seconds:7.2f} s  ({entry.least:.2f}-{entry.most:.2f}, {entry.rounds} rounds)")
    found = {"overhead": rows[1].seconds / rows[0].seconds, "unchanged": rows[3].seconds}
    for name, limit in LIMITS.items():
        print(f"{name}: {found[name]:.2f} (limit {limit})")
    if options.json:
        document = {"rows": [asdict(entry) for entry in rows], "limits": LIMITS, "found": found}
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return int(options.check and any(found[name] > limit for name, limit in LIMITS.items()))


if __name__ == "__main__":
    sys.exit(main())
