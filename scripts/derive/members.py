"""Struct members: which of CUDA's a paired HIP struct lacks, and rows for those whose names say whose they are.

A member access is renamed or reported by the member's name alone, so only names long and peculiar enough get a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from derive.declarations import Declaration, Declarations
from derive.rows import Row

_PECULIAR = re.compile(r"(?=.{10,})[a-z]+[A-Z]\w*")
_PLAIN = re.compile(r"reserved\d*|\w*reserved|[xyz]|flags|event|usage")


def missing_members(cuda: Declaration, hip: Declaration) -> tuple[str, ...]:
    """Members of a CUDA struct that its HIP partner lacks, in order; filler and what every struct has are left out."""
    if not cuda.fields or not hip.fields:
        return ()
    return tuple(dict.fromkeys(f for f in cuda.fields if f not in hip.fields and not _PLAIN.fullmatch(f)))


def member_rows(pairs: Iterable[tuple[Declaration, Declaration]], hip: Iterable[Declarations]) -> list[Row]:
    """Rows of kind ``field`` for members that no HIP struct has.

    Args:
        pairs: CUDA structs with their HIP partners.
        hip: everything HIP declares.
    """
    everywhere = {f for declarations in hip for entry in declarations.values() for f in entry.fields}
    rows: dict[str, Row] = {}
    for cuda, partner in pairs:
        ours = _by_key(partner.fields)
        for name in missing_members(cuda, partner):
            if name in everywhere or name in rows or not _PECULIAR.fullmatch(name):
                continue
            found = ours.get(_key(name), "")
            if found:
                rows[name] = Row(name, found, "field", "ok", note=f"member of {cuda.name}")
            else:
                note = f"member of {cuda.name}; {partner.name} has no such member"
                rows[name] = Row(name, "", "field", "none", "HP106", note=note)
    return [rows[name] for name in sorted(rows)]


def _key(name: str) -> str:
    return name.lower().replace("cuda", "hip")


def _by_key(names: Iterable[str]) -> Mapping[str, str]:
    return {_key(name): name for name in names}
