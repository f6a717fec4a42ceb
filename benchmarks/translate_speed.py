"""Speed of translation against torch's hipify and hipify-perl: whole processes, imports included, median of rounds.

    python benchmarks/translate_speed.py [--rounds 5] [--json FILE] [--check] [--no-perl] [--facts]

Input: ``csrc/flash_attn``, ``csrc/layer_norm``, ``csrc/fused_dense_lib`` of upstream_cuda/ (hipport upstream sync), and
``csrc/cutlass/include`` once. Peers run over the same files, where they are installed: torch in this environment,
hipify-perl on PATH or in the AMD toolchain's folder. ``--facts`` adds translations that ask a compiler front end about
three units of ``csrc/layer_norm`` with PyTorch's headers. ``--check`` exits with 1 when a limit below is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FACTS_UNITS = ("ln_fwd_256.cu", "ln_bwd_256.cu", "ln_parallel_fwd_256.cu")
PARTS = ("csrc/flash_attn", "csrc/layer_norm", "csrc/fused_dense_lib")
HIPIFY = """
import sys
from torch.utils.hipify.hipify_python import hipify
hipify(project_directory=sys.argv[1], output_directory=sys.argv[2], includes=[sys.argv[1] + "/*"],
       is_pytorch_extension=True, show_detailed=False)
"""


@dataclass(frozen=True)
class Row:
    """One measured command: wall seconds (median, least, most), CPU seconds (median), peak memory in MiB."""

    name: str
    seconds: float
    least: float
    most: float
    cpu: float
    peak_mib: float
    rounds: int


def measure(name: str, rounds: int, command: Sequence[str], before: Callable[[], None], env: dict[str, str]) -> Row:
    """Run a command ``rounds`` times; exit codes above 1 are failures (1 means findings)."""
    times: list[float] = []
    cpu: list[float] = []
    peak = 0
    for _ in range(rounds):
        before()
        start = time.perf_counter()
        with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            times.append(time.perf_counter() - start)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode > 1 or process.returncode < 0:
            raise SystemExit(f"{name} ended with exit code {process.returncode}: {' '.join(command)}")
        cpu.append(usage.ru_utime + usage.ru_stime)
        peak = max(peak, usage.ru_maxrss)
    return Row(name, statistics.median(times), min(times), max(times), statistics.median(cpu), peak / 1024, rounds)


def find_hipify_perl() -> str | None:
    """hipify-perl on PATH, or unpacked with the AMD toolchain."""
    found = shutil.which("hipify-perl")
    if found:
        return found
    from hipport.core.files import cache_root

    return next((str(p) for p in sorted((cache_root() / "sdk").rglob("bin/hipify-perl"))), None)


def facts_rows(upstream: Path, work: Path, rounds: int, env: dict[str, str]) -> list[Row]:
    """``--facts`` on units that include PyTorch: first run (the front end reads everything), then from its cache."""
    from hipport.build.torch_headers import find_torch

    torch = find_torch()
    if torch is None:
        print("torch is not installed: --facts is not measured", file=sys.stderr)
        return []
    source = work / "facts" / "csrc"
    source.mkdir(parents=True)
    for path in (upstream / "csrc/layer_norm").iterdir():
        if path.suffix in (".h", ".cuh") or path.name in FACTS_UNITS:
            shutil.copy(path, source)
    include = torch / "include"
    folders = [source, include, include / "torch/csrc/api/include", Path(sysconfig.get_paths()["include"])]
    settings = {"include": [str(folder) for folder in folders], "flags": ["-std=c++17"]}
    config = source.parent / "hipport.toml"
    config.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in settings.items()), encoding="utf-8")
    out = work / "facts-out"
    command = [sys.executable, "-m", "hipport", "translate", "-q", str(source), "--out", str(out)]
    command += ["--config", str(config), "--facts"]

    def fresh() -> None:
        shutil.rmtree(out, ignore_errors=True)

    toolchain = {**env, "HIPPORT_CACHE": str(work / "facts-cache")}
    from hipport.core.files import cache_root

    (work / "facts-cache").mkdir()
    (work / "facts-cache" / "sdk").symlink_to(cache_root() / "sdk")
    name = f"hipport --facts, {len(FACTS_UNITS)} units"
    return [
        measure(f"{name}, cold", 1, command, fresh, toolchain),
        measure(f"{name}, facts cached", rounds, command, fresh, toolchain),
        measure(f"{name}, warm", rounds, command, lambda: None, toolchain),
    ]


def run(upstream: Path, rounds: int, perl: str | None, facts: bool) -> list[Row]:
    """Measure everything in a temporary folder."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="hipport-bench-") as name:
        work = Path(name)
        source, out, cache = work / "src", work / "out", work / "cache"
        for part in PARTS:
            shutil.copytree(upstream / part, source / part)
        env = {**os.environ, "HIPPORT_CACHE": str(cache)}
        hipport = [sys.executable, "-m", "hipport", "translate", "-q"]

        def fresh() -> None:
            shutil.rmtree(out, ignore_errors=True)
            shutil.rmtree(cache / "translate", ignore_errors=True)

        translate = [*hipport, str(source), "--out", str(out)]
        rows.append(measure("hipport, first run ever", 1, translate, fresh, env))
        rows.append(measure("hipport, cold", rounds, translate, fresh, env))
        rows.append(measure("hipport, warm (nothing changed)", rounds, translate, lambda: None, env))
        rows += peers(source, work, rounds, perl)
        if (upstream / "csrc/cutlass/include").is_dir():
            vendored = work / "vendored"
            shutil.copytree(upstream / "csrc/cutlass/include", vendored / "csrc/cutlass/include")
            translate = [*hipport, str(vendored), "--out", str(out)]
            rows.append(measure("hipport, cold, cutlass/include", 1, translate, fresh, env))
        if facts:
            rows += facts_rows(upstream, work, rounds, env)
    return rows


def peers(source: Path, work: Path, rounds: int, perl: str | None) -> list[Row]:
    """The same files through the other tools that are installed."""
    rows = []
    copy, out = work / "peer", work / "peer-out"

    def fresh() -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(source, copy)

    try:
        import torch  # noqa: F401
    except ImportError:
        print("torch is not installed: its hipify is not measured", file=sys.stderr)
    else:
        command = [sys.executable, "-c", HIPIFY, str(copy), str(out)]
        rows.append(measure("torch hipify", rounds, command, fresh, dict(os.environ)))
    if perl is not None:
        script = f'find {copy} -type f -name "*.c*" -o -name "*.h*" | xargs -n 1 perl {perl} -inplace'
        rows.append(measure("hipify-perl, one process per file", 1, ["sh", "-c", script], fresh, dict(os.environ)))
    return rows


def missed(rows: Sequence[Row]) -> list[str]:
    """Limits that the figures miss."""
    by_name = {r.name: r for r in rows}
    limits = {"hipport, warm (nothing changed)": 0.4, "hipport, cold, cutlass/include": 40.0}
    if "torch hipify" in by_name:
        limits["hipport, cold"] = by_name["torch hipify"].seconds
    found = [f"{n}: {by_name[n].seconds:.2f} s > {s:.2f} s" for n, s in limits.items() if by_name[n].seconds > s]
    return found + [f"{r.name}: {r.peak_mib:.0f} MiB > 400" for r in rows if "hipport, " in r.name and r.peak_mib > 400]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--upstream", type=Path, default=ROOT / "upstream_cuda")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a limit is missed")
    parser.add_argument("--no-perl", action="store_true", help="without hipify-perl, which takes minutes")
    parser.add_argument("--facts", action="store_true", help="measure --facts too, which takes minutes")
    arguments = parser.parse_args()
    if not (arguments.upstream / PARTS[0]).is_dir():
        parser.error(f"{arguments.upstream} holds no sources: run hipport upstream sync")
    perl = None if arguments.no_perl else find_hipify_perl()
    if perl is None:
        print("hipify-perl is not measured", file=sys.stderr)
    rows = run(arguments.upstream, arguments.rounds, perl, arguments.facts)
    print(f"{'':34}{'median s':>9}{'least':>8}{'most':>8}{'CPU s':>8}{'MiB':>7}{'rounds':>8}")
    for r in rows:
        print(f"{r.name:34}{r.seconds:9.2f}{r.least:8.2f}{r.most:8.2f}{r.cpu:8.2f}{r.peak_mib:7.0f}{r.rounds:8}")
    load = os.getloadavg()[0]
    print(f"{len(os.sched_getaffinity(0))} processors, load {load:.1f}, Python {sys.version.split()[0]}")
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(r) for r in rows], indent=1) + "\n", encoding="utf-8")
    problems = missed(rows)
    for problem in problems:
        print(f"missed: {problem}")
    return int(arguments.check and bool(problems))


if __name__ == "__main__":
    raise SystemExit(main())
