"""Lint files: every check over every function, then what the sources suppress."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hipport.core import SourceFile
from hipport.lint.finding import Finding, Verdict, sort_key
from hipport.lint.groups import groups, multiprocessor
from hipport.lint.hazards import hazard_rules, hazards
from hipport.lint.numbers import mixed, numbers
from hipport.lint.project import Project, project_of
from hipport.lint.provenance import Provenance
from hipport.lint.shuffles import shuffles
from hipport.lint.site import Site
from hipport.lint.sizes import arrays, host, launches
from hipport.lint.suppression import suppressions
from hipport.lint.votes import assembly, bits, votes
from hipport.rulebook import EMPTY, Rulebook
from hipport.syntax import ParsedFile, Reach

SUFFIXES = frozenset((".cu", ".cuh", ".hip", ".h", ".hpp", ".hh", ".hxx", ".cpp", ".cc", ".cxx", ".c", ".inl", ".inc"))
_CHECKS: tuple[Callable[[Site], Iterator[Finding]], ...] = (
    shuffles,
    votes,
    bits,
    assembly,
    numbers,
    mixed,
    arrays,
    launches,
    host,
    groups,
    multiprocessor,
)
# A file without any of these words has nothing to report.
_WORDS = re.compile(
    rb"shfl|ballot|activemask|_sync\b|syncwarp|warpSize|threadIdx|blockDim|<<<|LaunchKernel|smid|\basm\b|tiled_partition|coalesced"
    rb"|thread_block_tile|popc|\bffs|clz|atomicCAS|volatile|<<\s*\(?\w|(?i:warp_?size|lane|tidx?\b)"
)
_EMPTY_SYNC = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+__syncwarp\([^)\n]*\)[ \t]*(?://.*)?\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Report:
    """Findings by place, and how many the sources suppress."""

    findings: tuple[Finding, ...]
    n_suppressed: int
    n_files: int


def lint(sources: Sequence[SourceFile], book: Rulebook = EMPTY) -> Report:
    """Lint files together: constants and functions of one are known in the others.

    Args:
        sources: C++, CUDA or HIP texts.
        book: rulebook whose hazard rules are applied as well.
    """
    project = project_of([ParsedFile(source) for source in sources if b"\0" not in source.data])
    provenance = Provenance(project)
    rules = hazard_rules(book)
    findings: list[Finding] = []
    n_suppressed = 0
    for parsed in project.files:
        silenced, found = suppressions(parsed)
        if _WORDS.search(parsed.data):
            found += [*_checked(project, provenance, parsed), *hazards(parsed, rules), *_emptied(parsed)]
        for finding in found:
            if any(s.line == finding.line and finding.id in s.ids for s in silenced):
                n_suppressed += 1
            else:
                findings.append(finding)
    return Report(tuple(sorted(findings, key=sort_key)), n_suppressed, len(project.files))


def _checked(project: Project, provenance: Provenance, parsed: ParsedFile) -> Iterator[Finding]:
    seen: set[tuple[str, int, int]] = set()
    for function in project.functions[parsed.source.path]:
        if not _WORDS.search(function.text):
            continue
        site = Site(project, provenance, function)
        for check in _CHECKS:
            for finding in check(site):
                key = (finding.id, finding.line, finding.column)
                if key not in seen and _reached(parsed, finding):
                    seen.add(key)
                    yield finding


def _reached(parsed: ParsedFile, finding: Finding) -> bool:
    """Some AMD build sees the line."""
    if not parsed.foreign:
        return True
    start = sum(len(line) for line in parsed.data.splitlines(keepends=True)[: finding.line - 1])
    return parsed.reach(start + finding.column - 1) is not Reach.CUDA


def _emptied(parsed: ParsedFile) -> Iterator[Finding]:
    for match in _EMPTY_SYNC.finditer(parsed.data):
        place = parsed.source.place(match.start())
        if parsed.reach(match.start()) is Reach.CUDA:
            continue
        yield Finding(
            "HP229",
            Verdict.WRONG,
            parsed.source.path,
            place.line,
            place.column,
            match[0].decode("utf-8", "replace").strip(),
            "__syncwarp becomes nothing: the compiler may move accesses of lanes past each other",
            'use __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront") and __builtin_amdgcn_wave_barrier()',
        )
