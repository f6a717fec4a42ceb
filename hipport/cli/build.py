"""`hipport build`: compile the translated tree for AMD targets."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hipport.build.outcome import Outcome
    from hipport.build.plan import Headers, Job
    from hipport.build.queue import Limits
    from hipport.build.run import BuildResult, Workshop
    from hipport.build.settings import BuildSettings
    from hipport.build.sourcemap import SourceMap
    from hipport.build.tree import Tree
    from hipport.build.units import Unit
    from hipport.sdk import Sdk


@click.command(name="build")
@click.argument("tree", required=False, type=click.Path(path_type=Path))
@click.option("--target", "-t", "targets", multiple=True, metavar="GFX", help="AMD target, e.g. gfx942; repeatable.")
@click.option("--unit", "-u", "units", multiple=True, metavar="PATTERN", help="Only units that match; repeatable.")
@click.option("--kernel", "-k", "kernels", multiple=True, metavar="PATTERN", help="Only units with such a kernel.")
@click.option(
    "--instantiation",
    "-i",
    "instantiations",
    multiple=True,
    metavar="PATTERN",
    help="Only kernels that match, each compiled on its own; repeatable.",
)
@click.option("--list", "list_only", is_flag=True, help="List the kernels of the units after the front end.")
@click.option("--front-end", "front_end_only", is_flag=True, help="Only check that the units pass the front end.")
@click.option("--preset", metavar="NAME", help="Settings by name: demo, sample, layer_norm, ... or hipport.toml's own.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build_hip"), show_default=True, help="Output.")
@click.option("--include", "-I", "includes", multiple=True, metavar="DIR", help="Include folder; repeatable.")
@click.option("--define", "-D", "defines", multiple=True, metavar="NAME[=VALUE]", help="Macro; repeatable.")
@click.option("--flag", "flags", multiple=True, metavar="FLAG", help="Another compiler flag; repeatable.")
@click.option("--std", metavar="STANDARD", help="C++ standard, e.g. c++20.")
@click.option("--host", is_flag=True, help="Also make host objects with the device code embedded.")
@click.option("--link", "link_name", metavar="NAME", help="Link the host objects to NAME.so or a program NAME.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Compilers at a time; default: one per processor.")
@click.option("--memory", type=click.FloatRange(min=0.1), metavar="GIB", help="Memory limit; default: 80 % of free.")
@click.option(
    "--timeout", type=click.FloatRange(min=0), default=0, metavar="S", help="Stop a compiler after S seconds."
)
@click.option("--fresh", is_flag=True, help="Compile again even what the cache holds.")
@click.option("--no-registration", is_flag=True, help="Do not compare kernels with what the host side registers.")
@click.option("--per-kernel", is_flag=True, help="Print one row per kernel.")
@click.option("--plan", "plan_only", is_flag=True, help="Print what would be compiled, and how; compile nothing.")
@click.option("--compile-commands", type=click.Path(path_type=Path), metavar="FILE", help="Write the plan as JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
def command(
    tree: Path | None,
    targets: tuple[str, ...],
    units: tuple[str, ...],
    kernels: tuple[str, ...],
    instantiations: tuple[str, ...],
    list_only: bool,
    front_end_only: bool,
    preset: str | None,
    out: Path,
    includes: tuple[str, ...],
    defines: tuple[str, ...],
    flags: tuple[str, ...],
    std: str | None,
    host: bool,
    link_name: str | None,
    jobs: int | None,
    memory: float | None,
    timeout: float,
    fresh: bool,
    no_registration: bool,
    per_kernel: bool,
    plan_only: bool,
    compile_commands: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Compile the translated TREE (default: generated_hip) for AMD targets.

    Every unit becomes one code object per target under --out, and build.json records them. Results are kept in a
    cache by content: a build that was stopped goes on where it stopped, and unchanged units cost almost nothing.
    Compiler errors are shown at the lines of the CUDA source. TREE may also be a single file.

    \b
    Exit codes: 0 all built, 1 a unit failed or something needs a person, 2 bad usage, no toolchain, full disk.

    \b
      hipport build --preset demo               two small units for gfx942
      hipport build -t gfx942 -t gfx1100 -j4    everything, for two targets
      hipport build -k softmax --per-kernel     units with such a kernel, one row per kernel
      hipport build -u '*hdim64*' --list        every kernel with its template arguments
      hipport build -i 'fwd<Causal=true>'       kernels by name and arguments (docs/build.md)
    """
    from dataclasses import replace

    from hipport.build.cache import BuildCache
    from hipport.build.kernels import add_kernels
    from hipport.build.plan import make_plan
    from hipport.build.run import Workshop, add_host_objects, link, run_plan
    from hipport.build.settings import read_settings
    from hipport.build.tree import Tree
    from hipport.build.units import find_units
    from hipport.core import HipportError, target_named
    from hipport.pipeline.settings import load_settings

    general = load_settings()
    project = read_settings(general.folder)
    settings = project.preset(preset) if preset else project.build
    root = tree if tree is not None else Path(os.path.relpath(general.folder / general.out))
    if root.is_file():
        units, root = (root.name,), root.parent
    settings = replace(
        settings,
        targets=targets or settings.targets or general.targets,
        units=units or settings.units,
        kernels=kernels or settings.kernels,
        instantiations=instantiations or settings.instantiations,
        include_dirs=(*settings.include_dirs, *general.include, *(_relative(i, root) for i in includes)),
        defines=(*settings.defines, *defines),
        flags=(*settings.flags, *flags),
        std=std or settings.std,
    )
    for name in settings.targets:
        target_named(name)

    front_end = bool(settings.instantiations) or list_only or front_end_only
    if front_end and (host or link_name):
        raise HipportError(
            "--host and --link embed whole units", "leave out --instantiation, --list and --front-end, or the preset"
        )

    sources = Tree.read(root)
    sdk = _toolchain(root)
    if settings.instantiations:
        sdk.tool("opt")  # before minutes of front end
    chosen = find_units(sources, settings)
    if not chosen:
        raise HipportError(f"{root} holds no translation units", "run hipport translate first, or name another tree")
    torch = _torch_headers(chosen)
    plan = make_plan(
        chosen,
        sdk,
        settings,
        settings.targets,
        torch=torch,
        check_registration=not (no_registration or list_only),
        front_end=front_end,
    )
    if compile_commands is not None:
        _write_compile_commands(compile_commands, plan, sdk, sources)
    if plan_only:
        return _print_plan(plan, chosen, sdk, settings.instantiations, as_json)

    progress = _Progress(len(plan) + (len(chosen) if host or link_name else 0), quiet)
    workshop = Workshop(
        tree=sources,
        sdk=sdk,
        out=out,
        cache=BuildCache(sources, sdk.identity),
        limits=_limits(jobs, memory, timeout),
        sources=_source_map(sources.root),
        fresh=fresh,
        started=progress.started,
        finished=progress.finished,
        planned=progress.planned,
    )
    result = run_plan(plan, workshop)
    strict = bool(instantiations) or not units  # of a preset's patterns some have no kernel in the units that are left
    if list_only:
        return _print_listing(result, workshop, settings, chosen, strict, as_json)
    if settings.instantiations and not front_end_only:
        result = add_kernels(result, plan, workshop, settings, chosen, strict=strict)
    if host or link_name:
        result = add_host_objects(result, chosen, workshop, settings, torch)
    if link_name and not result.failed:
        result = link(result, chosen, link_name, workshop)
    _print_result(result, workshop, settings, chosen, per_kernel or bool(kernels or settings.instantiations), as_json)
    if link_name and result.failed:
        click.echo(f"{link_name} was not linked: {len(result.failed)} compilations failed", err=True)
    return 1 if result.needs_person else 0


def _relative(folder: str, root: Path) -> str:
    """An include folder of the command line as the plan wants it: relative inside the tree, absolute elsewhere."""
    path = Path(folder).resolve()
    return path.relative_to(root.resolve()).as_posix() if path.is_relative_to(root.resolve()) else str(path)


def _limits(jobs: int | None, memory: float | None, timeout: float) -> Limits:
    import os

    from hipport.build.queue import Limits, available_memory

    limit = int(memory * 2**30) if memory else int(available_memory() * 0.8)
    return Limits(jobs or len(os.sched_getaffinity(0)), limit, timeout)


def _toolchain(root: Path) -> Sdk:
    """The toolchain, of the HIP version that the tree is written for where the cache has several."""
    import json

    from hipport.core import ToolchainError
    from hipport.emit.manifest import SUMMARY
    from hipport.sdk import find_sdk

    sdk = find_sdk()
    try:
        major, minor = json.loads((root / SUMMARY).read_bytes())["options"]["rocm"]
    except (OSError, ValueError, KeyError, TypeError):
        return sdk
    wanted = f"{major}.{minor}"
    if sdk.source == "cache" and sdk.profile != wanted:
        with contextlib.suppress(ToolchainError):
            sdk = find_sdk(wanted)
    if sdk.profile != wanted:
        click.echo(f"hipport: the tree is written for HIP {wanted}, the toolchain has {sdk.profile}", err=True)
    return sdk


def _torch_headers(units: tuple[Unit, ...]) -> Headers | None:
    """HIP versions of PyTorch's headers, made by hipport's own translator when a unit needs them."""
    if not any(unit.uses_torch for unit in units):
        return None
    from hipport.build.torch_headers import torch_headers
    from hipport.core import SourceFile, TranslateOptions
    from hipport.pipeline.identity import rulebook_identity
    from hipport.rewrite import translate_source
    from hipport.rulebook import Rulebook, load_rulebook

    book: list[Rulebook] = []  # loaded only when the headers have to be made

    def translate(source: SourceFile) -> bytes:
        if not book:
            book.append(load_rulebook())
        return translate_source(source, book[0], TranslateOptions(passthrough=())).output

    return torch_headers(translate, rulebook_identity())


def _source_map(root: Path) -> SourceMap:
    """Lines of the tree as lines of the CUDA input, from the manifest; a tree without one maps to itself."""
    from hipport.build.sourcemap import LineMap, SourceMap
    from hipport.core import HipportError
    from hipport.emit.manifest import load_manifest, sha256

    try:
        manifest = load_manifest(root)
    except HipportError:
        return SourceMap()
    records = manifest.by_output()
    inputs = root.parent / manifest.root if manifest.root else None

    def line_map(path: str) -> LineMap:
        record = records.get(path)
        if record is None:
            return LineMap.identity()
        try:
            before = (inputs / record.path).read_bytes() if inputs else b""
            if sha256(before) == record.input_sha256:
                return LineMap.from_texts(before, (root / path).read_bytes())
        except OSError:
            pass
        return LineMap.from_edits((e.line, e.before.count("\n"), e.after.count("\n")) for e in record.edits)

    return SourceMap({r.output_path: r.path for r in manifest.files if r.path}, line_map)


# --- output ---


class _Progress:
    """One line per finished job on standard error."""

    def __init__(self, total: int, quiet: bool) -> None:
        self.total = total
        self.quiet = quiet
        self.count = 0

    def planned(self, number: int) -> None:
        """Expect more jobs."""
        self.total += number

    def started(self, job: Job) -> None:
        """Say what runs, where it can be overwritten."""
        if not self.quiet and sys.stderr.isatty():
            click.echo(f"\r[{self.count + 1}/{self.total}] {job.label} ...\x1b[K", err=True, nl=False)

    def finished(self, outcome: Outcome) -> None:
        """Say how it went."""
        from hipport.build.plan import Pass

        self.count += 1
        if self.quiet:
            return
        state = "ok" if outcome.ok else "FAILED"
        cost = "cached" if outcome.cached else f"{outcome.cost.cpu_s:.1f} s, {outcome.cost.peak_bytes / 2**20:.0f} MiB"
        tty = sys.stderr.isatty()
        start, end = ("\r", "\x1b[K") if tty else ("", "")
        kind = "" if outcome.kind is Pass.DEVICE else f" {outcome.kind.value}"
        where = f"{outcome.target}{kind}".strip()
        what = f"{outcome.unit}: {outcome.readable}" if outcome.readable else outcome.unit
        click.echo(f"{start}[{self.count}/{self.total}] {what} [{where}] {state} ({cost}){end}", err=True)


def _print_plan(
    plan: tuple[Job, ...], units: tuple[Unit, ...], sdk: Sdk, patterns: tuple[str, ...], as_json: bool
) -> int:
    import json

    from hipport.build.plan import shown_command

    if as_json:
        rows = [
            {
                "unit": unit.path,
                "device": unit.device,
                "torch": unit.uses_torch,
                "include_dirs": list(unit.include_dirs),
                "defines": list(unit.defines),
                "extension": unit.extension,
                "commands": [shown_command(job, str(sdk.clang)) for job in plan if job.unit is unit],
            }
            for unit in units
        ]
        click.echo(json.dumps({"units": rows}, indent=2))
        return 0
    for unit in units:
        kind = "device and host" if unit.device else "host only"
        torch = ", PyTorch" if unit.uses_torch else ""
        click.echo(f"{unit.path} ({kind}{torch}) includes from: {', '.join(unit.include_dirs) or 'its own folder'}")
        for job in plan:
            if job.unit is unit:
                click.echo(f"  {shown_command(job, str(sdk.clang))}")
    kernels = f", then one for each kernel that matches {' or '.join(patterns)}" if patterns else ""
    click.echo(f"{len(units)} units, {len(plan)} compilations{kernels}")
    return 0


def _write_compile_commands(path: Path, plan: tuple[Job, ...], sdk: Sdk, tree: Tree) -> None:
    import json

    from hipport.core.files import write_atomic

    rows = [
        {"directory": str(tree.root), "file": job.unit.path, "arguments": [str(sdk.clang), *job.flags, job.unit.path]}
        for job in plan
    ]
    write_atomic(path, (json.dumps(rows, indent=1) + "\n").encode())


def _print_listing(
    result: BuildResult,
    workshop: Workshop,
    settings: BuildSettings,
    units: tuple[Unit, ...],
    strict: bool,
    as_json: bool,
) -> int:
    """Kernels of the units: all, or those that the patterns choose."""
    import json

    from hipport.build.kernels import chosen_instantiations
    from hipport.build.report import print_diagnostics

    rows = chosen_instantiations(result, settings.instantiations, workshop, units, strict=strict)
    if as_json:
        data = [
            {
                "unit": unit,
                "target": target,
                "kernels": [
                    {"name": w.symbol, "function": w.function, "arguments": w.named, "pattern": w.readable}
                    for w in kernels
                ],
            }
            for (unit, target), kernels in rows.items()
        ]
        click.echo(json.dumps({"units": data}, indent=2))
    else:
        for (unit, target), kernels in rows.items():
            click.echo(f"{unit} [{target}]: {len(kernels)} kernels")
            for what in kernels:
                click.echo(f"  {what.readable}")
        print_diagnostics(result, workshop.out)
    return 1 if result.failed else 0


def _print_result(
    result: BuildResult,
    workshop: Workshop,
    settings: BuildSettings,
    units: tuple[Unit, ...],
    per_kernel: bool,
    as_json: bool,
) -> None:
    from hipport.build.report import per_kernel_rows, print_text, result_json
    from hipport.perf.main_loop import code_figures

    rows = per_kernel_rows(result, workshop, settings.kernels, units, code_figures if per_kernel or as_json else None)
    if as_json:
        import json

        click.echo(json.dumps(result_json(result, rows), indent=2))
        return
    print_text(result, rows if per_kernel else None, workshop.out)
