"""The compile plan: which command makes which output. Pure data; nothing here starts a process."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hipport.build.settings import BuildSettings
from hipport.build.units import Unit
from hipport.core import HipportError, target_named
from hipport.core.files import include_root
from hipport.sdk import Sdk

# -Wshorten-64-to-32 finds lane masks cut to 32 bits; every other warning is about style that upstream chose.
_MESSAGES = (
    "-Wno-everything",
    "-Wshorten-64-to-32",
    "-fno-caret-diagnostics",
    "-fno-color-diagnostics",
    "-fmacro-backtrace-limit=0",
    "-ftemplate-backtrace-limit=0",
    "-ferror-limit=100",
)


class Pass(StrEnum):
    """What a job makes of a unit."""

    DEVICE = "device"  # a code object for one target
    FRONT_END = "front-end"  # LLVM bitcode of the device side for one target, before any optimisation
    KERNEL = "kernel"  # a code object with one kernel, from that bitcode
    STUBS = "stubs"  # host IR, only to read which kernels the host registers
    HOST = "host"  # a host object with the device code of all targets embedded, after the device passes


@dataclass(frozen=True, slots=True)
class Cut:
    """The kernel that a job of pass ``kernel`` compiles.

    Attributes:
        symbol: mangled name.
        readable: for people.
        bitcode_sha256: of the unit's bitcode, which it is cut out of.
        variables: that the unit shows to the host and to other kernels: they stay what they are.
    """

    symbol: str
    readable: str
    bitcode_sha256: str
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One compilation, run in the tree root.

    Attributes:
        unit: what is compiled.
        kind: see `Pass`.
        target: LLVM processor name of a device pass, empty otherwise.
        flags: everything but input, output and dependency file; paths inside the tree are relative to its root.
        output: where the result goes, relative to the output folder; empty when it is only read.
        cut: of a kernel's own compilation, None otherwise.
    """

    unit: Unit
    kind: Pass
    target: str
    flags: tuple[str, ...]
    output: str
    cut: Cut | None = None

    @property
    def label(self) -> str:
        """For progress and messages."""
        return f"{self.cut.readable if self.cut else self.unit.path} [{self.target or self.kind}]"


@dataclass(frozen=True)
class Headers:
    """System headers that a unit needs besides HIP's.

    Attributes:
        include_dirs: absolute, in search order.
        defines: ``NAME`` or ``NAME=VALUE``.
    """

    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()


def make_plan(
    units: Sequence[Unit],
    sdk: Sdk,
    settings: BuildSettings,
    targets: Sequence[str],
    *,
    torch: Headers | None = None,
    check_registration: bool = True,
    front_end: bool = False,
) -> tuple[Job, ...]:
    """Jobs for units and targets: device code objects, and what tells which kernels the host side registers.

    Args:
        units: see `find_units`.
        sdk: the toolchain.
        settings: flags and standard.
        targets: LLVM processor names.
        torch: headers for the units that reach PyTorch; None when it is not installed.
        check_registration: also read the kernels that the host side registers.
        front_end: stop the device passes after the front end.

    Raises:
        HipportError: unknown target, or units that need PyTorch and no `torch`.
    """
    _need_torch(units, torch)
    jobs: list[Job] = []
    device_units = [unit for unit in units if unit.device]
    for target in targets:
        flags = sdk.device_flags(target)
        for unit in device_units:
            unit_flags = (*flags, *_unit_flags(unit, settings, torch, targets), "-O3", "-c")
            if front_end:
                unit_flags += ("-emit-llvm", "-Xclang", "-disable-llvm-passes")
                jobs.append(Job(unit, Pass.FRONT_END, target, unit_flags, ""))
            else:
                jobs.append(Job(unit, Pass.DEVICE, target, unit_flags, f"{target}/{unit.path}.hsaco"))
    if check_registration:
        host_flags = sdk.host_flags(targets, device_code=False)
        stub_flags = ("-O0", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm")
        for unit in device_units:
            unit_flags = (*host_flags, *_unit_flags(unit, settings, torch, targets), *stub_flags)
            jobs.append(Job(unit, Pass.STUBS, "", unit_flags, ""))
    return tuple(jobs)


def host_job(unit: Unit, sdk: Sdk, settings: BuildSettings, torch: Headers | None, fat_binary: Path | None) -> Job:
    """The job that makes a unit's host object.

    Args:
        unit: what is compiled.
        sdk: the toolchain.
        settings: flags and standard, and the targets of the device code.
        torch: headers for units that reach PyTorch.
        fat_binary: bundle of the unit's code objects, which the object embeds; None for a unit without device code.
            Its name must change with its contents: it is part of the cache key.

    Raises:
        HipportError: the unit needs PyTorch and `torch` is None.
    """
    _need_torch((unit,), torch)
    embed = ("-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(fat_binary)) if fat_binary else ()
    host_flags = sdk.host_flags(settings.targets, device_code=False)
    flags = (*host_flags, *_unit_flags(unit, settings, torch, settings.targets), *embed, "-O3", "-c")
    return Job(unit, Pass.HOST, "", flags, f"host/{unit.path}.o")


def kernel_job(unit: Unit, target: str, cut: Cut, settings: BuildSettings) -> Job:
    """The job that makes a code object of one kernel from the bitcode of its unit.

    The bitcode holds what the kernel needs of the device libraries already, and carries what front-end flags decide.
    """
    flags = ("-x", "ir", "--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-Qunused-arguments")
    name = re.sub(r"\W+", "_", cut.readable.partition("<")[0].partition("(")[0].rpartition("::")[2])[:60]
    digest = hashlib.sha256(cut.symbol.encode()).hexdigest()[:12]
    output = f"{target}/{unit.path}/{name}-{digest}.hsaco"
    return Job(unit, Pass.KERNEL, target, (*flags, *_MESSAGES, *settings.flags, "-O3"), output, cut)


def _need_torch(units: Sequence[Unit], torch: Headers | None) -> None:
    needing = [unit.path for unit in units if unit.uses_torch]
    if needing and torch is None:
        raise HipportError(
            f"{len(needing)} units include PyTorch headers ({needing[0]}, ...), which are not installed",
            'run: pip install "hipport[torch]"',
        )


def _unit_flags(unit: Unit, settings: BuildSettings, torch: Headers | None, targets: Sequence[str]) -> list[str]:
    # The unit id names symbols that device and host code share. Clang makes it from the command line, output included:
    # it would differ between both passes and from run to run.
    flags = [*_MESSAGES, f"-cuid={hashlib.sha256(unit.path.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"]
    if settings.std:
        flags.append(f"-std={settings.std}")
    processors = {target_named(target).name for target in targets}
    if len(processors) == 1:  # headers may then choose what is best for it, in every pass the same
        flags.append(f"-DHIPPORT_BUILD_TARGET={processors.pop()}")
    if unit.uses_torch and torch is not None:
        flags += [f"-D{define}" for define in torch.defines]
    flags += [f"-D{define}" for define in unit.defines]
    flags += [f"-I{folder}" for folder in unit.include_dirs]
    system = [str(include_root()), *(torch.include_dirs if unit.uses_torch and torch is not None else ())]
    for folder in system:
        flags += ["-isystem", folder]
    # __FILE__ in assertions: objects hold no path of this machine.
    flags += [f"-fmacro-prefix-map={folder}/=" for folder in sorted(system, key=len, reverse=True)]
    return [*flags, *settings.flags]


def cut_command(opt: str, kept: str, bitcode: str, output: str) -> list[str]:
    """The command that leaves of a unit's bitcode one kernel and what it uses.

    Every other function becomes internal and is dropped as unused: what HIP's own compilation does to device functions,
    and here to the other kernels as well.

    Args:
        opt: LLVM's tool.
        kept: file with the names that stay visible, one in a line: the kernel and the variables.
        bitcode: of the unit.
        output: bitcode of the kernel.
    """
    return [opt, "-passes=internalize,globaldce", f"-internalize-public-api-file={kept}", bitcode, "-o", output]


def kernel_command(job: Job, compiler: str, bitcode: str, output: str) -> list[str]:
    """The command that compiles a kernel that was cut out."""
    return [compiler, *job.flags, bitcode, "-o", output]


def command_line(job: Job, compiler: str, output: str, depfile: str) -> list[str]:
    """The whole command. Dependencies go through cc1: the driver drops ``-MD`` in device-only compilations."""
    return [
        compiler,
        *job.flags,
        *("-Xclang", "-dependency-file", "-Xclang", depfile),
        *("-Xclang", "-sys-header-deps", "-Xclang", "-MT", "-Xclang", "object"),
        job.unit.path,
        "-o",
        output,
    ]


def shown_command(job: Job, compiler: str) -> str:
    """The command as a person would run it in the tree root."""
    return shlex.join([compiler, *job.flags, job.unit.path, "-o", job.output or "/dev/null"])
