"""Assembles rows: pair, compare, apply exceptions, add version ranges."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from derive.comparison import Names, difference, missing_overloads, other_number
from derive.declarations import Declaration, Declarations
from derive.families import DISTINCTIVE, FAMILIES, LIBRARIES, Family
from derive.members import member_rows, missing_members
from derive.pairing import Pairing
from derive.rows import Fact, Row, read_rows
from derive.sources import HeaderSet

EXCEPTIONS = Path(__file__).parent / "exceptions"


@dataclass(frozen=True)
class Read:
    """Declarations of every family on both sides: ``[label][table]``."""

    cuda: dict[str, dict[str, Declarations]]
    hip: dict[str, dict[str, Declarations]]


def read_all(cuda: Iterable[HeaderSet], hip: Iterable[HeaderSet]) -> Read:
    """Parse everything once. Labels are kept in the order given, oldest first."""
    families = (*FAMILIES, *LIBRARIES)
    return Read(
        {s.label: {f.table: s.read_cuda(f) for f in families} for s in cuda},
        {s.label: {f.table: s.read_hip(f) for f in families} for s in hip},
    )


def derive(read: Read) -> dict[str, list[Row]]:
    """Rows of every table, keyed by its path below ``rules/``."""
    exceptions = load_exceptions()
    tables: dict[str, list[Row]] = {}
    families = (*FAMILIES, *LIBRARIES)
    # Types and enumerators first: functions are told apart by parameter types, whatever table those are in.
    names = Names({name: row.hip for name, row in exceptions.items() if row.hip}, _typedefs(read))
    pairs: dict[str, dict[str, str]] = {family.table: {} for family in families}
    for functions in (False, True):
        for family in families:
            found = _pair(family, read, exceptions, names, functions)
            pairs[family.table].update(found)
            names.hip_of.update({cuda: hip for cuda, hip in found.items() if hip})
    claimed: set[str] = set()
    for family in families:
        rows = []
        for name in sorted(pairs[family.table]):
            if name not in claimed:
                rows.append(_row(family, name, pairs[family.table][name], read, exceptions.get(name), names))
                claimed.add(name)
        tables[family.table] = rows
    for family in families:
        if family.device:
            rows = tables[family.table]
            tables[family.table] = [r for r in rows if r.state != "none" or re.match(DISTINCTIVE, r.cuda)]
    for family in families[:2]:
        known = {row.cuda for rows in tables.values() for row in rows if row.kind == "field"}
        rows = _members(read, tables[family.table], family.table)
        tables[family.table] += [row for row in rows if row.cuda not in known]
    for stem, extra in _additions(exceptions, claimed).items():
        tables.setdefault(stem, []).extend(extra)
    return tables


def _members(read: Read, rows: list[Row], table: str) -> list[Row]:
    cuda, hip = list(read.cuda.values())[-1][table], [tables[table] for tables in read.hip.values()]
    types = [row for row in rows if row.kind == "type" and row.cuda in cuda and row.hip in hip[-1]]
    return member_rows(((cuda[row.cuda], hip[-1][row.hip]) for row in types), hip)


def facts(read: Read, tables: dict[str, list[Row]]) -> list[Fact]:
    """Where each derived name is declared on both sides, sorted by CUDA name."""
    out = []
    for family in (*FAMILIES, *LIBRARIES):
        for row in tables[family.table]:
            cuda = _declared(row.cuda, {label: t[family.table] for label, t in read.cuda.items()})
            hip = _declared(row.hip, {label: t[family.table] for label, t in read.hip.items()})
            if cuda[0]:
                out.append(Fact(row.cuda, *cuda, *hip))
    return sorted(out, key=lambda fact: fact.cuda)


def _declared(name: str, versions: dict[str, Declarations]) -> tuple[str, str, str]:
    """Header, versions and parameter counts of a name, from the newest version that has it."""
    seen = [label for label, declarations in versions.items() if name in declarations]
    if not seen:
        return "", "", ""
    entry = versions[seen[-1]][name]
    counts = sorted({len(s.parameters) for s in entry.signatures})
    return entry.header, " ".join(seen), " ".join(map(str, counts))


def with_exceptions(rows: list[Row], table: str) -> list[Row]:
    """Rows of a table with its hand rows, which replace rows of the same name."""
    path = EXCEPTIONS / table
    extra = read_rows(path) if path.is_file() else []
    named = {row.cuda for row in extra}
    return [row for row in rows if row.cuda not in named] + extra


def load_exceptions() -> dict[str, Row]:
    """Every hand row by CUDA name.

    Raises:
        ValueError: a name occurs twice or a row has no source.
    """
    out: dict[str, Row] = {}
    for path in sorted(EXCEPTIONS.glob("*/*.tsv")):
        for row in read_rows(path):
            if row.cuda in out:
                raise ValueError(f"{path.name}: {row.cuda} occurs twice")
            if not row.source:
                raise ValueError(f"{path.name}: {row.cuda} has no source")
            out[row.cuda] = row
    return out


def _additions(exceptions: dict[str, Row], claimed: set[str]) -> dict[str, list[Row]]:
    """Exceptions about names that no header set declares, by table: the exception file's path is the table's."""
    out: dict[str, list[Row]] = {}
    for path in sorted(EXCEPTIONS.glob("*/*.tsv")):
        table = path.relative_to(EXCEPTIONS).as_posix()
        for row in read_rows(path):
            if row.cuda not in claimed and not row.kind:
                raise ValueError(f"{path.name}: {row.cuda} is in no header that was read: state its kind, or remove it")
            if row.cuda not in claimed:
                out.setdefault(table, []).append(exceptions[row.cuda])
    return out


def _owned(family: Family, declarations: Declarations) -> dict[str, Declaration]:
    owns = re.compile(family.owns)
    return {
        name: entry
        for name, entry in declarations.items()
        if owns.match(entry.header) and family.is_api(name) and "::" not in name
    }


def _typedefs(read: Read) -> dict[str, str]:
    out = {}
    for tables in read.hip.values():
        for declarations in tables.values():
            out.update({name: d.canonical for name, d in declarations.items() if d.canonical and d.canonical != name})
    return out


def _pair(family: Family, read: Read, exceptions: dict[str, Row], names: Names, functions: bool) -> dict[str, str]:
    newest_first = [read.hip[label][family.table] for label in reversed(read.hip)]
    indexes = [(Pairing(declarations), declarations) for declarations in newest_first]
    out: dict[str, str] = {}
    for label in read.cuda:
        for name, entry in _owned(family, read.cuda[label][family.table]).items():
            if (entry.kind == "function") is not functions:
                continue
            if name in exceptions:
                out[name] = exceptions[name].hip
                continue
            for index, declarations in indexes:
                found = sorted(index.find(entry), key=lambda hip: sum(hip not in d for _, d in indexes))
                fitting = [hip for hip in found if not difference(entry, declarations[hip], names, True)]
                if found and (fitting or not out.get(name)):
                    out[name] = (fitting or found)[0]
                    break
            out.setdefault(name, "")
    return out


def _row(family: Family, name: str, hip: str, read: Read, exception: Row | None, names: Names) -> Row:
    seen = [label for label in read.cuda if name in read.cuda[label][family.table]]
    entry = read.cuda[seen[-1]][family.table][name]
    kind = "device_function" if family.device and entry.kind == "function" else entry.kind
    removed = _removed(seen, list(read.cuda), family, read)
    if exception is not None and exception.state == "none":
        return replace(exception, kind=exception.kind or kind)
    there = [label for label in read.hip if hip and hip in read.hip[label][family.table]]
    if not hip or (not there and exception is None):
        source, reason = _reason(name)
        reason = reason or f"no counterpart in the headers of HIP {' and '.join(read.hip)}"
        note = "; ".join(filter(None, (reason, removed)))
        return Row(name, "", kind, "none", family.missing, source=source or "derived", note=note)
    minimum, maximum = _range(there, [label for label in read.hip if read.hip[label][family.table]])
    if exception is not None:
        if exception.source.startswith("hipport/"):
            return replace(exception, kind=exception.kind or kind)  # supplied for every version
        if not there and hip != "int":
            raise ValueError(f"exception for {name}: no HIP header read for {family.table} declares {hip}")
        return replace(
            exception,
            kind=exception.kind or kind,
            rocm_min=exception.rocm_min or minimum,
            rocm_max=exception.rocm_max or maximum,
        )
    found = [read.hip[label][family.table][hip] for label in there]
    notes = [difference(entry, declaration, names, family.device) for declaration in found]
    note = next(filter(None, reversed(notes)), "")
    if note and "" in notes:
        note = f"HIP {next(label for label, text in zip(there, notes, strict=True) if text)}: {note}"
    state = "review" if note else "same" if hip == name else "ok"
    diag = family.differs if note else ""
    extra = ""
    if not note:
        extra = missing_overloads(entry, found[-1], names)
        extra = extra or _stricter(entry, dict(zip(there, found, strict=True)), names, family.device)
    extra = extra or other_number(entry, found[-1])
    if lacking := missing_members(entry, found[-1]):
        extra = f"HIP lacks the members {', '.join(lacking)}"
    if found[-1].deprecated:
        extra = "; ".join(filter(None, (extra, f"deprecated in HIP {there[-1]}")))
    agreeing = _agreeing(family, name, hip, read, names) if note else ""
    note = "; ".join(filter(None, (note, agreeing, extra, removed)))
    return Row(name, hip, kind, state, diag, minimum, maximum, note=note)


def _stricter(cuda: Declaration, hip: dict[str, Declaration], names: Names, any_overload: bool) -> str:
    """Words for a parameter that is ``const`` in CUDA only."""
    notes = {label: difference(cuda, d, names, any_overload, ignore_const=False) for label, d in hip.items()}
    return next((f"HIP {label}: {note}" for label, note in notes.items() if note), "")


def _agreeing(family: Family, name: str, hip: str, read: Read, names: Names) -> str:
    """Words for the CUDA versions whose declaration the newest HIP one does accept."""
    newest = next(
        read.hip[label][family.table][hip] for label in reversed(read.hip) if hip in read.hip[label][family.table]
    )
    versions = [
        label
        for label in read.cuda
        if name in read.cuda[label][family.table]
        and not difference(read.cuda[label][family.table][name], newest, names, family.device)
    ]
    return f"calls written for CUDA {', '.join(versions)} fit" if versions else ""


@functools.cache
def _reasons() -> list[tuple[re.Pattern[str], str, str]]:
    lines = (EXCEPTIONS / "reasons.tsv").read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if line and not line.startswith("#")][1:]
    return [(re.compile(pattern), source, reason) for pattern, source, reason in cells]


def _reason(name: str) -> tuple[str, str]:
    """Source and words for why a name has no counterpart; empty when only its absence is known."""
    return next(((source, reason) for pattern, source, reason in _reasons() if pattern.search(name)), ("", ""))


def _removed(seen: list[str], labels: list[str], family: Family, read: Read) -> str:
    """Words for a name that newer CUDA headers lack."""
    newest = next((label for label in reversed(labels) if read.cuda[label][family.table]), "")
    return "" if newest in seen else f"CUDA: in {seen[-1]}, gone in {newest}"


def _range(there: list[str], labels: list[str]) -> tuple[str, str]:
    """Oldest and newest HIP version that has a name; empty where it is not limited by what was read."""
    if not there or len(there) == len(labels):
        return "", ""
    return ("" if there[0] == labels[0] else there[0], "" if there[-1] == labels[-1] else there[-1])
