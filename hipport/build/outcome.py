"""What a build produced, as frozen records, and their JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hipport.build.bitcode import BitcodeFacts
from hipport.build.cache import Compiled, Cost
from hipport.build.messages import KILLED, categorise, to_diagnostics
from hipport.build.plan import Job, Pass
from hipport.build.registration import registered_kernels
from hipport.build.resources import KernelUsage, read_kernels
from hipport.build.sourcemap import SourceMap
from hipport.codeobject import CodeObject
from hipport.core import Diagnostic, Severity

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """One job's result.

    Attributes:
        unit: path relative to the tree root.
        kind: see `Pass`.
        target: LLVM processor name, empty for host passes.
        ok: the compiler succeeded.
        output: where the result lies, relative to the output folder; empty when nothing was written.
        sha256: of the result.
        size_bytes: of the result.
        kernels: of a code object.
        symbol: mangled name of the kernel that it was made for (pass ``kernel``).
        readable: the same for people.
        bitcode: what the front end made of the device side (pass ``front-end``).
        registered: mangled names of the kernels that the host side registers (pass ``stubs``).
        diagnostics: at CUDA source lines.
        cost: of the compilation, also when it came from the cache.
        cached: it came from the cache.
    """

    unit: str
    kind: Pass
    target: str
    ok: bool
    output: str
    sha256: str
    size_bytes: int
    kernels: tuple[KernelUsage, ...]
    registered: tuple[str, ...]
    diagnostics: tuple[Diagnostic, ...]
    cost: Cost
    cached: bool
    symbol: str = ""
    readable: str = ""
    bitcode: BitcodeFacts | None = None


def outcome_of(
    job: Job, compiled: Compiled, sources: SourceMap, read_bitcode: Callable[[bytes], BitcodeFacts]
) -> Outcome:
    """Read a compilation: resources, registered kernels, diagnostics."""
    diagnostics = to_diagnostics(compiled.messages, job.unit.path, sources)
    if not compiled.ok and not any(d.severity is Severity.ERROR for d in diagnostics):
        diagnostics += (_died(job, compiled.messages, sources),)
    stubs = compiled.ok and job.kind is Pass.STUBS
    code = compiled.ok and job.kind in (Pass.DEVICE, Pass.KERNEL)
    bitcode = read_bitcode(compiled.output) if compiled.ok and job.kind is Pass.FRONT_END else None
    return Outcome(
        unit=job.unit.path,
        kind=job.kind,
        target=job.target,
        ok=compiled.ok,
        output=job.output if compiled.ok else "",
        sha256=hashlib.sha256(compiled.output).hexdigest() if compiled.ok and job.output else "",
        size_bytes=len(compiled.output) if job.output else 0,
        kernels=read_kernels(CodeObject.parse(compiled.output, job.output)) if code else (),
        registered=tuple(sorted(registered_kernels(compiled.output))) if stubs else (),
        diagnostics=diagnostics,
        cost=compiled.cost,
        cached=compiled.cached,
        symbol=job.cut.symbol if job.cut else "",
        readable=job.cut.readable if job.cut else "",
        bitcode=bitcode,
    )


def _died(job: Job, messages: str, sources: SourceMap) -> Diagnostic:
    """For a compiler that ended without an error message of its own: a crash, a kill, a full disk."""
    lines = [line.strip() for line in messages.splitlines() if line.strip()]
    text = next((line for line in reversed(lines) if "error" in line.lower()), lines[-1] if lines else "no message")
    path, _ = sources.source(job.unit.path, 0)
    return Diagnostic(
        KILLED,
        Severity.ERROR,
        f"the compiler ended without a result: {text}",
        path,
        next_step="check memory and disk (try -j 1), then the compiler's own message with: hipport build --plan",
    )


def category_of(diagnostic: Diagnostic) -> str:
    """Category name of a build error, for grouping."""
    return categorise(diagnostic.message.partition(": ")[2])[0].name if diagnostic.id.startswith("HP80") else ""


# --- JSON ---


def diagnostic_row(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic without its empty fields."""
    row = asdict(diagnostic)
    return {name: value for name, value in row.items() if value not in ("", 0) and (name, value) != ("count", 1)}


def outcome_row(outcome: Outcome) -> dict[str, Any]:
    """The reproducible part of an outcome: what depends on the inputs only."""
    row: dict[str, Any] = {"unit": outcome.unit, "pass": outcome.kind.value, "ok": outcome.ok}
    if outcome.target:
        row["target"] = outcome.target
    if outcome.output:
        row |= {"output": outcome.output, "sha256": outcome.sha256, "size_bytes": outcome.size_bytes}
    if outcome.symbol:
        row["kernel"] = outcome.symbol
    if outcome.bitcode is not None:
        row["bitcode"] = asdict(outcome.bitcode)
    if outcome.kernels:
        row["kernels"] = [asdict(kernel) for kernel in outcome.kernels]
    if outcome.kind is Pass.STUBS:
        row["registered"] = list(outcome.registered)
    if outcome.diagnostics:
        row["diagnostics"] = [diagnostic_row(d) for d in outcome.diagnostics]
    return row


def record_bytes(outcomes: Sequence[Outcome], waiting: int) -> bytes:
    """``build.json``: sorted, without times or absolute paths.

    Args:
        outcomes: what is there so far.
        waiting: jobs of the plan without an outcome; 0 when the build is complete.
    """
    rows = sorted(
        (outcome_row(o) for o in outcomes),
        key=lambda r: (r["unit"], r["pass"], r.get("target", ""), r.get("kernel", "")),
    )
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=True) for row in rows)
    body = f"[\n  {lines}\n ]" if rows else "[]"
    return f'{{\n "schema": {SCHEMA},\n "waiting": {waiting},\n "outcomes": {body}\n}}\n'.encode()
