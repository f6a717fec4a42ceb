"""``hipport run``."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.checks import CheckedCommand, checks_option, deterministic_option
from hipport.cli.output import plural, print_findings
from hipport.core import HipportError, Severity, target_named
from hipport.core.target import TARGETS

if TYPE_CHECKING:
    from hipport.pipeline.program import Built

# Findings name source lines, and _sync calls of translated code test their masks.
_CHECKED_BUILD = ("-gline-tables-only", "-DHIPPORT_CHECK_MASKS")


@click.command("run", cls=CheckedCommand, context_settings={"ignore_unknown_options": False})
@click.argument("program", type=click.Path(path_type=Path))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--target", "-t", default="gfx942", show_default=True, help=f"AMD target: {', '.join(TARGETS)}.")
@click.option(
    "--device",
    type=click.Choice(["emulator", "rocm"]),
    default="emulator",
    show_default=True,
    help="Run on the built-in emulator, or on the AMD GPU of this machine.",
)
@click.option("--stats", is_flag=True, help="Print counters of the emulator to stderr when the program ends.")
@checks_option
@deterministic_option
@click.option("--threads", type=click.IntRange(min=0), default=0, help="Worker threads [default: one per CPU].")
@click.option("--devices", type=click.IntRange(1, 16), default=1, help="How many devices the program sees.")
@click.option(
    "--max-instructions", type=click.IntRange(min=0), default=0, help="End a kernel after so many [0: never]."
)
@click.option("--std", default="", metavar="STD", help="Language standard [default: c++17].")
@click.option("-I", "include_dirs", multiple=True, type=click.Path(path_type=Path), help="Include folder, repeatable.")
@click.option("-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Macro, repeatable.")
@click.option("-O", "level", default="3", show_default=True, help="Optimisation level.")
@click.option("-l", "libraries", multiple=True, metavar="NAME", help="Library to link, repeatable.")
@click.option(
    "--warp-model",
    type=click.Choice(["logical32", "native64", "padded"]),
    default="logical32",
    show_default=True,
    help="What becomes of CUDA's 32-lane warps.",
)
@click.option("--profile", help="HIP version of the toolchain: 6.4 or 7.2 [default: the first found].")
@click.option("--verbose", "-v", is_flag=True, help="Also print what translation found.")
def command(
    program: Path,
    arguments: tuple[str, ...],
    target: str,
    device: str,
    stats: bool,
    checks: str,
    deterministic: bool,
    threads: int,
    devices: int,
    max_instructions: int,
    std: str,
    include_dirs: tuple[Path, ...],
    defines: tuple[str, ...],
    level: str,
    libraries: tuple[str, ...],
    warp_model: str,
    profile: str | None,
    verbose: bool,
) -> int:
    """Translate (if it is CUDA), build and run one program.

    What the program prints is all that appears on stdout; what hipport has to say goes to stderr. Executables are
    cached: a second run of the same sources starts at once.

    \b
    Examples:
      hipport run saxpy.cu
      hipport run reduce.hip --target gfx90a --stats -- 1000000
      hipport run kernels.cu --checks            find races, bounds, barriers
      hipport run saxpy.cu --device rocm         on the GPU of this machine

    \b
    Exit codes: the program's own (128 + n when signal n ended it); 1 when it
    ended with 0 but the checks found something; 2 when it could not be
    translated, compiled or started.
    """
    from hipport.emulator import Checks
    from hipport.hiprt import RunOptions, build_runtime, runtime_environment
    from hipport.hiprt.program import CompileError
    from hipport.pipeline.program import Compilation, build_from
    from hipport.sdk import find_sdk

    target_named(target)
    checked = bool(Checks.parse(checks)) and device != "rocm"
    sdk = find_sdk(profile)
    runtime = build_runtime(sdk)
    flags = (f"-O{level}", *(f"-D{define}" for define in defines), *((f"-std={std}",) if std else ()))
    flags += _CHECKED_BUILD if checked else ()
    how = Compilation(target, include_dirs, flags, libraries, warp_model)
    try:
        built = build_from(program, how, sdk, runtime)
    except CompileError as error:
        click.echo(error.output.rstrip(), err=True)
        raise
    _say_findings(built, verbose)
    if device == "rocm":
        return _start([str(built.executable), *arguments], None)
    options = RunOptions(target, devices, threads, deterministic, checks, max_instructions)
    with tempfile.TemporaryDirectory(prefix="hipport-run-") as folder:
        report = Path(folder) / "statistics.json"
        if stats or checked:
            options = replace(options, statistics=report)
        code = _start([str(built.executable), *arguments], runtime_environment(runtime, options))
        statistics = json.loads(report.read_text(encoding="utf-8")) if report.exists() else None
    if statistics is None:
        return code
    if stats:
        _print_statistics(statistics)
    found = len(statistics["findings"])
    if found and not stats:
        click.echo(f"hipport: {plural(found, 'finding')}; hipport explain ID says more", err=True)
    return 1 if found and code == 0 else code


def _start(words: list[str], environment: dict[str, str] | None) -> int:
    sys.stdout.flush()
    if environment is None and not Path("/dev/kfd").exists():
        raise HipportError(
            "this machine has no AMD GPU driver (/dev/kfd)", "leave out --device rocm to use the emulator"
        )
    try:
        code = subprocess.run(words, env=environment, check=False).returncode
    except OSError as error:
        raise HipportError(f"the program does not start: {error.strerror}", "run: hipport doctor") from error
    return code if code >= 0 else 128 - code


def _say_findings(built: Built, verbose: bool) -> None:
    if verbose:
        print_findings(built.diagnostics, err=True)
        return
    errors = [d for d in built.diagnostics if d.severity is Severity.ERROR]
    if errors:
        click.echo(f"hipport: translation reports {plural(len(errors), 'error')}:", err=True)
        print_findings(errors, err=True)


def _print_statistics(s: dict[str, Any]) -> None:
    seconds = s["nanoseconds"] / 1e9
    rate = s["instructions"] / seconds / 1e6 if seconds else 0.0
    cpu = s["cpu_nanoseconds"] / 1e9
    lines = [
        f"hipport: {s['target']}, {plural(s['launches'], 'launch').replace('launchs', 'launches')}, "
        f"{plural(s['workgroups'], 'workgroup')}, {plural(s['waves'], 'wavefront')}",
        f"  {s['instructions']:,} wave-instructions in {seconds:.3f} s ({rate:.1f} M/s, {cpu:.3f} s of CPU time), "
        f"{s['mfma_instructions']:,} matrix instructions",
    ]
    if s["lds_accesses"] or s["global_accesses"]:
        lines.append(
            f"  LDS: {s['lds_accesses']:,} accesses, {s['lds_conflict_cycles']:,} conflict cycles; global: "
            f"{s['global_accesses']:,} accesses touch {s['global_segments']:,} segments (least {s['global_minimum']:,})"
        )
    lines.append(f"  findings: {sum(f['occurrences'] for f in s['findings'])}")
    click.echo("\n".join(lines), err=True)
