"""Run a build: plan, queue, files, checks."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hipport.build.bitcode import BitcodeFacts, read_bitcode
from hipport.build.cache import BuildCache, Compiled
from hipport.build.outcome import Outcome, outcome_of, record_bytes
from hipport.build.plan import Headers, Job, Pass, host_job
from hipport.build.queue import Bitcode, Limits, run_jobs
from hipport.build.registration import compare
from hipport.build.settings import BuildSettings
from hipport.build.sourcemap import SourceMap
from hipport.build.tree import Tree
from hipport.build.units import Unit
from hipport.core import Diagnostic, HipportError, Severity, ToolchainError
from hipport.core.files import write_atomic
from hipport.sdk import Sdk

RECORD = "build.json"
CACHE_DAMAGED = "HP813"
STATICS = "HP814"
_RECORD_EVERY_S = 2.0  # the cache keeps every result at once; the record is for readers


@dataclass(frozen=True)
class BuildResult:
    """A build.

    Attributes:
        outcomes: sorted by unit, pass and target.
        checks: diagnostics that compare outcomes: kernel registration, damaged cache entries.
        libraries: linked files, relative to the output folder.
    """

    outcomes: tuple[Outcome, ...]
    checks: tuple[Diagnostic, ...] = ()
    libraries: tuple[str, ...] = ()

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Everything found, each once: targets that agree on an error share it."""
        found = [d for outcome in self.outcomes for d in outcome.diagnostics]
        return tuple(dict.fromkeys((*found, *self.checks)))

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Compilations without a result."""
        return tuple(outcome for outcome in self.outcomes if not outcome.ok)

    @property
    def needs_person(self) -> bool:
        """True when something failed or has to be looked at."""
        return bool(self.failed) or any(d.severity.needs_person for d in self.diagnostics())


@dataclass(frozen=True)
class Workshop:
    """Where and how a build runs.

    Attributes:
        tree: the translated sources.
        sdk: the toolchain.
        out: output folder.
        cache: compilation cache.
        limits: see `Limits`.
        sources: maps messages to CUDA lines.
        fresh: ignore cached results.
        started: called when a compiler starts.
        finished: called with each outcome.
        planned: called with the number of jobs that a finished front end led to.
    """

    tree: Tree
    sdk: Sdk
    out: Path
    cache: BuildCache
    limits: Limits
    sources: SourceMap = field(default_factory=SourceMap)
    fresh: bool = False
    started: Callable[[Job], None] = lambda job: None
    finished: Callable[[Outcome], None] = lambda outcome: None
    planned: Callable[[int], None] = lambda number: None


def run_plan(jobs: Sequence[Job], workshop: Workshop) -> BuildResult:
    """Compile; write objects and ``build.json`` as results come in.

    Raises:
        HipportError: no compiler, or the output cannot be written (full disk): what was finished stays recorded.
    """
    return add_jobs(jobs, workshop, ())


def add_host_objects(
    result: BuildResult, units: Sequence[Unit], workshop: Workshop, settings: BuildSettings, torch: Headers | None
) -> BuildResult:
    """Compile host objects of the units whose device passes all succeeded, embedding their code objects."""
    jobs = []
    for unit in units:
        mine = [o for o in result.outcomes if o.unit == unit.path and o.kind is Pass.DEVICE]
        if all(outcome.ok for outcome in mine):
            binary = _fat_binary(mine, workshop) if mine else None
            jobs.append(host_job(unit, workshop.sdk, settings, torch, binary))
    return add_jobs(jobs, workshop, result.outcomes)


def link(result: BuildResult, units: Sequence[Unit], name: str, workshop: Workshop) -> BuildResult:
    """Link the host objects of units to ``NAME.so``, or to a program when the name has no suffix.

    Raises:
        HipportError: a host object is missing, or the linker fails: with its first message.
    """
    wanted = {unit.path for unit in units}
    objects = [o.output for o in result.outcomes if o.kind is Pass.HOST and o.ok and o.unit in wanted]
    if len(objects) < len(wanted):
        missing = sorted(wanted - {o.unit for o in result.outcomes if o.kind is Pass.HOST and o.ok})
        raise HipportError(f"cannot link {name}: {missing[0]} has no host object", "fix its errors first")
    shared = ["-shared"] if name.endswith(".so") else []
    command = [str(workshop.sdk.clang), *shared, "-fPIC", *objects, "-o", name, *workshop.sdk.link_flags()]
    done = subprocess.run(command, cwd=workshop.out, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        message = (lines or [done.stderr.strip()])[0]
        step = f"a library is --link {name}.so" if message.endswith("`main'") else "see the linker's message"
        raise HipportError(f"linking {name} failed: {message}", step)
    return BuildResult(result.outcomes, result.checks, (*result.libraries, name))


def demangler(sdk: Sdk) -> Callable[[Iterable[str]], dict[str, str]]:
    """A function from mangled names to readable ones; names stay as they are where the tool is missing."""
    try:
        tool: Path | None = sdk.tool("llvm-cxxfilt")
    except ToolchainError:
        tool = None

    def demangle(names: Iterable[str]) -> dict[str, str]:
        mangled = list(names)
        if tool is None or not mangled:
            return {name: name for name in mangled}
        done = subprocess.run([str(tool)], input="\n".join(mangled), capture_output=True, text=True, check=False)
        readable = done.stdout.splitlines()
        return dict(zip(mangled, readable if len(readable) == len(mangled) else mangled, strict=True))

    return demangle


def add_jobs(
    jobs: Sequence[Job], workshop: Workshop, before: Sequence[Outcome], bitcode: Bitcode | None = None
) -> BuildResult:
    """Run jobs and add their outcomes to earlier ones; arguments and errors as `run_plan` and `run_jobs`."""
    outcomes = list(before)
    total = len(outcomes) + len(jobs)
    recorded = time.monotonic()

    def done(job: Job, compiled: Compiled) -> None:
        outcome = outcome_of(job, compiled, workshop.sources, lambda data: _bitcode_facts(data, workshop))
        if outcome.output:
            target = workshop.out / outcome.output
            if not (target.is_file() and target.read_bytes() == compiled.output):
                write_atomic(target, compiled.output)
        elif job.output:
            (workshop.out / job.output).unlink(missing_ok=True)  # never leave an object of an older source
        nonlocal recorded
        outcomes.append(outcome)
        if time.monotonic() - recorded > _RECORD_EVERY_S:
            record()
            recorded = time.monotonic()
        workshop.finished(outcome)

    def record() -> None:
        write_atomic(workshop.out / RECORD, record_bytes(outcomes, total - len(outcomes)))

    try:
        run_jobs(
            jobs,
            workshop.sdk.clang,
            workshop.tree.root,
            workshop.cache,
            workshop.limits,
            done,
            workshop.started,
            workshop.fresh,
            bitcode,
        )
    finally:
        record()
    return BuildResult(_sorted(outcomes), _checks(outcomes, workshop))


def _bitcode_facts(data: bytes, workshop: Workshop) -> BitcodeFacts:
    sha256 = hashlib.sha256(data).hexdigest()

    def find() -> dict[str, Any]:
        with tempfile.NamedTemporaryFile(prefix="hipport-", suffix=".bc") as file:
            file.write(data)
            file.flush()
            return asdict(read_bitcode(Path(file.name), sha256, workshop.sdk.tool("llvm-dis")))

    row = workshop.cache.remembered("bitcode-facts-2", sha256, find)
    return BitcodeFacts(sha256, *(tuple(row[name]) for name in ("kernels", "variables", "statics", "assembly")))


def _sorted(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    return tuple(sorted(outcomes, key=lambda o: (o.unit, o.kind, o.target, o.symbol)))


def _checks(outcomes: Sequence[Outcome], workshop: Workshop) -> tuple[Diagnostic, ...]:
    registered = {o.unit: o.registered for o in outcomes if o.kind is Pass.STUBS and o.ok}
    demangle = demangler(workshop.sdk)
    found: list[Diagnostic] = []
    for outcome in _sorted(outcomes):
        # Kernels that are left out of a build on purpose are in the bitcode all the same.
        names = outcome.bitcode.kernels if outcome.bitcode else [kernel.name for kernel in outcome.kernels]
        if outcome.kind in (Pass.DEVICE, Pass.FRONT_END) and outcome.ok and outcome.unit in registered:
            source, _ = workshop.sources.source(outcome.unit, 0)
            found += compare(source, outcome.target, names, registered[outcome.unit], demangle)
    found += _cut_statics(outcomes, workshop, demangle)
    for name in workshop.cache.damaged:
        found.append(
            Diagnostic(
                CACHE_DAMAGED,
                Severity.NOTE,
                f"a damaged cache entry was dropped and made again: {name}",
                next_step="nothing to do; if it happens often, check the disk",
            )
        )
    return tuple(found)


def _cut_statics(
    outcomes: Sequence[Outcome], workshop: Workshop, demangle: Callable[[Iterable[str]], dict[str, str]]
) -> list[Diagnostic]:
    """Units whose kernels share variables that no symbol connects, where not all of the kernels were compiled."""
    taken = {(o.unit, o.target) for o in outcomes if o.kind is Pass.KERNEL}
    found = []
    for outcome in _sorted(outcomes):
        if outcome.bitcode is None or not outcome.bitcode.statics or (outcome.unit, outcome.target) not in taken:
            continue
        names = demangle(outcome.bitcode.statics)
        source, _ = workshop.sources.source(outcome.unit, 0)
        found.append(
            Diagnostic(
                STATICS,
                Severity.WARNING,
                f"{outcome.target}: kernels of this unit share {', '.join(sorted(names.values()))}: a kernel compiled "
                "on its own has a copy, and takes the initial value for the value where it only reads",
                source,
                next_step="build the whole unit to run these kernels; figures of those that only read may differ",
                subject=outcome.bitcode.statics[0],
            )
        )
    return found


def _fat_binary(outcomes: Sequence[Outcome], workshop: Workshop) -> Path:
    """Bundle code objects as HIP's runtime expects them (LLVM, "Clang Offload Bundler"); named by its contents."""
    digest = hashlib.sha256("".join(f"{o.target}{o.sha256}" for o in outcomes).encode()).hexdigest()
    path = workshop.cache.folder / "bundles" / f"{digest}.hipfb"
    if path.is_file():
        return path
    targets = ["host-x86_64-unknown-linux-gnu-", *(f"hipv4-amdgcn-amd-amdhsa--{o.target}" for o in outcomes)]
    inputs = ["/dev/null", *(str(workshop.out / o.output) for o in outcomes)]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    command = [
        str(workshop.sdk.tool("clang-offload-bundler")),
        "-type=o",
        "-bundle-align=4096",
        f"-targets={','.join(targets)}",
        *(f"-input={name}" for name in inputs),
        f"-output={part}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolchainError(f"clang-offload-bundler failed: {done.stderr.strip()[:200]}", "run: hipport doctor")
    part.replace(path)
    return path
