"""Kernels that are compiled on their own: what there is after the front end, and the jobs for what was chosen.

The front end of a unit costs most of its time where templates are deep, and the rest can be had kernel by kernel. So it
runs once for each target; each kernel that is asked for is cut out of its result, optimised and generated alone: jobs
are short, need little memory, run side by side, and are kept in the cache one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from hipport.build.bitcode import BitcodeFacts
from hipport.build.instantiations import Instantiation, choose, instantiation, template_parameters
from hipport.build.plan import Cut, Job, Pass, kernel_job
from hipport.build.queue import Bitcode
from hipport.build.run import BuildResult, Workshop, add_jobs, demangler
from hipport.build.settings import BuildSettings
from hipport.build.units import Unit
from hipport.core import HipportError

Listing = dict[tuple[str, str], tuple[Instantiation, ...]]  # (unit, target) -> its kernels


def chosen_instantiations(
    result: BuildResult, patterns: Sequence[str], workshop: Workshop, units: Sequence[Unit], *, strict: bool = True
) -> Listing:
    """The kernels of each unit and target that patterns choose, sorted by unit, target and readable form.

    Args:
        result: of `run_plan` with jobs of pass ``front-end``.
        patterns: see `hipport.build.instantiations`; without any, all kernels.
        workshop: see `Workshop`.
        units: the units of the jobs.
        strict: every pattern has to match a kernel; otherwise one of them has to.

    Raises:
        HipportError: patterns match nothing though every front end succeeded.
    """
    listing = _everything(result, workshop, units)
    everything = [what for kernels in listing.values() for what in kernels]
    chosen = set(choose(patterns, everything, strict=strict and not result.failed))
    if patterns and not chosen and not result.failed:
        raise HipportError(f"no kernel matches {' or '.join(patterns)}", "list them with: hipport build --list")
    return {key: tuple(what for what in kernels if what in chosen) for key, kernels in sorted(listing.items())}


def _everything(result: BuildResult, workshop: Workshop, units: Sequence[Unit]) -> Listing:
    found = {(o.unit, o.target): o.bitcode.kernels for o in result.outcomes if o.bitcode is not None}
    names = demangler(workshop.sdk)(sorted({symbol for symbols in found.values() for symbol in symbols}))
    parameters = {
        unit.path: template_parameters(workshop.tree, unit.reached)
        for unit in units
        if any(p == unit.path for p, _ in found)
    }
    return {
        (path, target): tuple(
            sorted((instantiation(s, names[s], parameters[path]) for s in symbols), key=lambda what: what.readable)
        )
        for (path, target), symbols in found.items()
    }


def add_kernels(
    result: BuildResult,
    front_ends: Sequence[Job],
    workshop: Workshop,
    settings: BuildSettings,
    units: Sequence[Unit],
    *,
    strict: bool = True,
) -> BuildResult:
    """Compile the kernels that ``settings.instantiations`` choose, each on its own, from what the front ends made.

    Args:
        result: of `run_plan` with `front_ends`.
        front_ends: jobs, of which those of pass ``front-end`` count.
        workshop: see `Workshop`.
        settings: patterns and flags.
        units: the units of the jobs.
        strict: as for `chosen_instantiations`.

    Raises:
        HipportError: as `chosen_instantiations` and `run_plan`.
        ToolchainError: LLVM's ``opt`` is not installed.
    """
    opt = workshop.sdk.tool("opt")
    facts = {(o.unit, o.target): o.bitcode for o in result.outcomes if o.bitcode is not None}
    chosen = chosen_instantiations(result, settings.instantiations, workshop, units, strict=strict)
    unit_of = {unit.path: unit for unit in units}
    jobs = [
        kernel_job(unit_of[path], target, _cut(what, facts[path, target]), settings)
        for (path, target), kernels in chosen.items()
        for what in kernels
    ]
    source = {(job.unit.path, job.target): job for job in front_ends if job.kind is Pass.FRONT_END}

    def bitcode(job: Job) -> bytes:
        found = workshop.cache.look_up(source[job.unit.path, job.target])
        if found is None or job.cut is None or hashlib.sha256(found.output).hexdigest() != job.cut.bitcode_sha256:
            raise HipportError(f"{job.unit.path} or a header changed during the build", "run the same command again")
        return found.output

    workshop.planned(len(jobs))
    return add_jobs(jobs, workshop, result.outcomes, Bitcode(opt, bitcode))


def _cut(what: Instantiation, unit: BitcodeFacts) -> Cut:
    return Cut(what.symbol, what.short, unit.sha256, unit.variables)
