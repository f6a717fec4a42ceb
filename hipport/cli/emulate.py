"""``hipport emulate``."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.checks import CheckedCommand, checks_option, deterministic_option
from hipport.cli.output import plural, print_json
from hipport.core import HipportError
from hipport.core.target import TARGETS

if TYPE_CHECKING:
    from hipport.emulator import KernelInfo, LaunchResult, Module
    from hipport.emulator.values import Value

_KERNEL_FAULTS = (8, 9, 11)  # hipemu_status: memory fault, deadlock, trap


@click.command("emulate", cls=CheckedCommand)
@click.argument("code_object", type=click.Path(path_type=Path))
@click.argument("values", nargs=-1)
@click.option("--kernel", "-k", help="Kernel: its mangled name, or its plain name where that is unique.")
@click.option("--args", "has_values", is_flag=True, help="The kernel's arguments follow, in order.")
@click.option("--grid", default="1", metavar="X[,Y[,Z]]", show_default=True, help="Workgroups.")
@click.option("--block", default="64", metavar="X[,Y[,Z]]", show_default=True, help="Work-items of a workgroup.")
@click.option("--lds", type=click.IntRange(min=0), default=0, help="Dynamic LDS in bytes.")
@click.option("--target", "-t", help=f"AMD target: {', '.join(TARGETS)} [default: the code object's].")
@click.option("--list", "list_only", is_flag=True, help="List the kernels and variables.")
@click.option("--coverage", is_flag=True, help="List the opcodes of the kernel (or of all), and how exact they are.")
@click.option("--stats", is_flag=True, help="Print counts and speed.")
@checks_option
@deterministic_option
@click.option("--threads", type=click.IntRange(min=0), default=0, help="Worker threads [default: one per CPU].")
@click.option("--max-instructions", type=click.IntRange(min=0), default=0, help="End after so many [0: never].")
@click.option("--cooperative", is_flag=True, help="All workgroups are live at once.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    code_object: Path,
    values: tuple[str, ...],
    kernel: str | None,
    has_values: bool,
    grid: str,
    block: str,
    lds: int,
    target: str | None,
    list_only: bool,
    coverage: bool,
    stats: bool,
    checks: str,
    deterministic: bool,
    threads: int,
    max_instructions: int,
    cooperative: bool,
    as_json: bool,
) -> int:
    """Run one kernel of a code object on the emulator.

    CODE_OBJECT is an AMDGPU ELF, an offload bundle, or a HIP program. Arguments:

    \b
      x.npy                  array, copied in
      x.npy:out.npy          the same, and written to out.npy afterwards
      zeros:f32:1024         new array of 1024 zeros (f16 f32 f64 i8 ... u64)
      zeros:f32:32x32:y.npy  with a shape, written to y.npy afterwards
      i32:7   f32:1.5        scalar of that type

    \b
    Example:
      hipport emulate k.co -k vadd --grid 4 --block 256 --args a.npy b.npy zeros:f32:1000:c.npy i32:1000

    \b
    Exit codes: 0; 1 when the checks found something or the kernel faulted
    (memory fault, trap, deadlock); 2 when it could not be run, or not to
    its end.
    """
    if values and not has_values:
        raise HipportError(f"unexpected argument {values[0]!r}", "put --args before the kernel's arguments")
    from hipport.codeobject import device_image, device_images
    from hipport.emulator import Checks, Device, Options

    data = _read(code_object)
    target = target or _only_target(device_images(data, str(code_object)), code_object)
    options = Options(threads, deterministic, Checks.parse(checks), max_instructions)
    device = Device(target, options)
    module = device.load(device_image(data, target, str(code_object)))
    if list_only:
        _list(module, as_json)
        return 0
    if coverage:
        return _coverage(module, kernel, as_json)
    if kernel is None:
        raise HipportError("no kernel named", "pass --kernel NAME; --list shows the names")
    from hipport.emulator.values import parse_values

    info = module.kernel(kernel)
    arguments = parse_values(values)
    result = module.try_launch(
        info.name,
        _dimensions(grid, "--grid"),
        _dimensions(block, "--block"),
        [a.value for a in arguments],
        dynamic_lds_bytes=lds,
        cooperative=cooperative,
    )
    if result.error is None:
        for a in arguments:
            a.save()
    _show(result, info, arguments, stats, as_json)
    if result.error is not None and result.error.status not in _KERNEL_FAULTS:
        raise result.error
    if result.error is not None:
        click.echo(f"hipport: {result.error}", err=True)
    return 1 if result.findings or result.error else 0


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}", "check the path") from error


def _only_target(images: tuple[Any, ...], path: Path) -> str:
    from hipport.codeobject import CodeObject

    names = {CodeObject.parse(e.data, str(path)).target for e in images}
    if len(names) == 1 and (found := names.pop()) in TARGETS:
        return found
    raise HipportError(f"{path} has code for {', '.join(sorted(names)) or 'no target'}", "choose one with --target")


def _dimensions(text: str, option: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise HipportError(f"{option} {text!r} is not a list of numbers", f"for example {option} 16,4") from error


def _list(module: Module, as_json: bool) -> None:
    variables = module.variables()
    if as_json:
        kernels = [asdict(k) for k in module.kernels.values()]
        print_json({"kernels": kernels, "variables": {name: size for name, (_, size) in variables.items()}})
        return
    for k in module.kernels.values():
        arguments = ", ".join(f"{a.bytes} {a.name or a.kind}" for a in k.explicit_arguments)
        click.echo(k.name)
        click.echo(f"  arguments (bytes): {arguments or 'none'}")
        click.echo(
            f"  wave{k.wavefront_size}, {k.vgprs} VGPRs, {k.sgprs} SGPRs, {k.lds_bytes} bytes LDS, "
            f"{k.private_bytes} bytes scratch, at most {k.max_workgroup_size} threads"
        )
    for name, (_, size) in variables.items():
        click.echo(f"variable {name}: {size} bytes")


def _coverage(module: Module, kernel: str | None, as_json: bool) -> int:
    from hipport.emulator.coverage import coverage

    names = [module.kernel(kernel).name] if kernel else list(module.kernels)
    rows = coverage(module, names)
    missing = [r for r in rows if not r.implemented]
    if as_json:
        print_json({"opcodes": [asdict(r) for r in rows], "missing": len(missing)})
    else:
        for r in rows:
            click.echo(
                f"{r.count:8}  {r.mnemonic:36} {r.exactness if r.implemented else 'NOT IMPLEMENTED: ' + r.example}"
            )
        click.echo(f"{plural(len(rows), 'opcode')}, {len(missing)} not implemented")
    return 1 if missing else 0


def _show(result: LaunchResult, info: KernelInfo, arguments: list[Value], stats: bool, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "kernel": info.name,
                "error": str(result.error) if result.error else None,
                "findings": [asdict(f) for f in result.findings],
                "dropped": result.dropped,
                "statistics": asdict(result.statistics),
            }
        )
        return
    for f in result.findings:
        click.echo(f.format())
    if result.dropped:
        click.echo(f"and {plural(result.dropped, 'finding')} more")
    for a in arguments:
        if result.error is None and a.output:
            click.echo(f"wrote {a.output}")
    if stats:
        s = result.statistics
        click.echo(
            f"{s.workgroups:,} workgroups, {s.waves:,} waves, {s.instructions:,} wave-instructions, "
            f"{s.nanoseconds / 1e6:.1f} ms, {s.instructions_per_second / 1e6:.1f} M/s"
        )
        if s.lds_accesses or s.global_accesses:
            click.echo(
                f"LDS: {s.lds_accesses:,} accesses, {s.lds_conflict_cycles:,} conflict cycles; global: "
                f"{s.global_accesses:,} accesses, {s.global_segments:,} 64-byte segments, {s.global_minimum:,} needed"
            )
    if result.error is not None and not result.findings:
        return
    counts = Counter(f.id for f in result.findings)
    total = ", ".join(f"{n} {i}" for i, n in sorted(counts.items())) or "none"
    click.echo(f"findings: {total}")
