"""``--facts``: what a compiler front end knows about the files of a tree, unit by unit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from hipport.core import Diagnostic, HipportError, Severity
from hipport.core.facts import UnitFacts, merged
from hipport.pipeline.kinds import Kind, kind_of
from hipport.semantics import Command, cuda_flags, find_cuda, front_end_flags, read_database, tree_facts

NO_FACTS = "HP917"
_MAIN = (".cu", ".cpp", ".cc", ".cxx")
_UNIT_BYTES = 1_500_000_000  # what a unit of a large extension takes


@dataclass(frozen=True, slots=True)
class FactsRequest:
    """Where flags come from.

    Attributes:
        database: a ``compile_commands.json``; None: every unit is read with ``flags``.
        flags: for all units, before those of the database; include paths are relative to ``folder``.
        cuda: root of the CUDA toolkit; None: look for one.
        folder: that relative paths start in.
        clang: clang++ whose own headers are used.
    """

    database: Path | None = None
    flags: tuple[str, ...] = ()
    cuda: Path | None = None
    folder: Path = Path()
    clang: str = "clang++-22"


@dataclass(frozen=True, slots=True)
class Known:
    """Facts by path in the tree, and what is to be said about files without."""

    files: dict[str, UnitFacts]
    diagnostics: tuple[Diagnostic, ...]


def facts_of_tree(root: Path, paths: Sequence[tuple[str, bytes | None]], request: FactsRequest, jobs: int = 0) -> Known:
    """Facts about the CUDA and C++ files of a tree. A header has those that the units which include it agree on.

    Args:
        root: the tree.
        paths: files that are translated: path relative to ``root``, bytes.
        request: where flags come from.
        jobs: front ends at a time, 0 for as many as processors and memory allow.

    Raises:
        HipportError: the database cannot be read, or there are no CUDA headers.
    """
    tree = os.path.realpath(root)
    sources = {path: data for path, data in paths if data is not None and kind_of(path, data) is Kind.SOURCE}
    commands = _commands(tree, sources, request)
    cuda = request.cuda or find_cuda(command.compiler for command in commands.values())
    jobs_of = {path: cuda_flags(cuda, command.flags) for path, command in commands.items()}
    with ThreadPoolExecutor(jobs or _front_ends()) as pool:
        done = list(pool.map(lambda item: _unit(tree, item[0], item[1], request.clang), sorted(jobs_of.items())))
    parts: dict[str, list[UnitFacts]] = {}
    diagnostics = []
    for path, found in done:
        if isinstance(found, HipportError):
            diagnostics.append(_without(path, found.message))
            continue
        for name, facts in found.items():
            parts.setdefault(os.path.relpath(name, tree).replace(os.sep, "/"), []).append(facts)
        if errors := found[f"{tree}/{path}"].errors:
            diagnostics.append(_doubtful(path, errors))
    failed = {diagnostic.path for diagnostic in diagnostics}
    for path, data in sources.items():
        if path not in parts and path not in failed and b"cuda" in data.lower():
            diagnostics.append(_without(path, "no unit whose flags are known reads this file"))
    return Known({path: merged(found) for path, found in parts.items()}, tuple(diagnostics))


def _commands(tree: str, sources: Iterable[str], request: FactsRequest) -> dict[str, Command]:
    """Units of the tree by path."""
    shared = tuple(front_end_flags(request.flags, request.folder))
    if request.database is None:
        return {path: Command(path, "", shared) for path in sources if path.endswith(_MAIN)}
    known = read_database(request.database)
    found = {}
    for path in sources:
        command = known.get(f"{tree}/{path}")
        if command is not None:
            found[path] = Command(path, command.compiler, (*shared, *command.flags))
    return found


def _unit(tree: str, path: str, flags: Sequence[str], clang: str) -> tuple[str, dict[str, UnitFacts] | HipportError]:
    try:
        return path, tree_facts(Path(tree, path), flags, root=Path(tree), clang=clang)
    except HipportError as error:
        return path, error


def _front_ends() -> int:
    memory = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(len(os.sched_getaffinity(0)), memory // _UNIT_BYTES))


def _without(path: str, why: str) -> Diagnostic:
    return Diagnostic(
        NO_FACTS, Severity.NOTE, f"translated without facts: {why}", path,
        next_step="give the unit flags with which it compiles; rules decided as they do without --facts",
        subject="facts",
    )  # fmt: skip


def _doubtful(path: str, errors: Sequence[str]) -> Diagnostic:
    first = " ".join(errors[0].split())
    count = "one error" if len(errors) == 1 else f"{len(errors)} errors"
    return Diagnostic(
        NO_FACTS, Severity.NOTE, f"facts may be missing: the front end reports {count}, first: {first}", path,
        next_step="add the missing include paths or macros to the flags", subject="facts",
    )  # fmt: skip
