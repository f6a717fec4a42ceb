"""Last step of scripts/port: what came out, and where to look next. Exit code 1 when the demo did not build."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def main(generated: Path, built: Path) -> int:
    summary = read(generated / "manifest-summary.json")
    found = summary["severities"]
    for_a_person = found.get("error", 0) + found.get("warning", 0)
    device = [outcome for outcome in read(built / "build.json")["outcomes"] if outcome["pass"] == "device"]
    good = [outcome for outcome in device if outcome["ok"]]

    n_files, n_edits = sum(summary["files"].values()), sum(summary["edits"].values())
    print(f"    {generated}/  {n_files:,} files, {n_edits:,} edits, {for_a_person:,} findings that need a person")
    for outcome in good:
        print(f"    {built / outcome['output']}  {len(outcome['kernels'])} kernels")
    print(f"    {built / 'flash_figures.md'}  errors of the attention kernels, and their bars")
    print(f"""
    Where to look next:
      .venv/bin/hipport diff csrc/layer_norm     what translation changed, and by which rule
      .venv/bin/hipport report                   what a reviewer needs: every edit, every finding
      .venv/bin/hipport explain HP900            what a finding means
      .venv/bin/hipport build --help             build more of it, for other targets
      .venv/bin/hipport verify                   every attention case (a quarter of an hour), or on a GPU
      .venv/bin/hipport run PROGRAM.cu           translate, build and run a program, on a GPU or the emulator
      {generated}/manifest.json                every edit and finding as data
      README.md, ARCHITECTURE.md""")
    if len(good) < len(device):
        print(f"\nfailed: {len(device) - len(good)} of {len(device)} units did not build", file=sys.stderr)
        print("  next: the errors above name the CUDA lines; hipport explain ID says more", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path("generated_hip"), Path("build_hip")))
