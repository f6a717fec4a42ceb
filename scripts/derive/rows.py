"""Rows of a table and the text form they are stored in."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

HEADER = ("cuda", "hip", "kind", "state", "diag", "rocm_min", "rocm_max", "source", "note")


@dataclass(frozen=True)
class Row:
    """One line of a rename table (see ``docs/api-tables.md``)."""

    cuda: str
    hip: str
    kind: str
    state: str
    diag: str = ""
    rocm_min: str = ""
    rocm_max: str = ""
    source: str = "derived"
    note: str = ""


@dataclass(frozen=True)
class Fact:
    """Where both vendors declare a name. Versions and parameter counts are space-separated, empty for none."""

    cuda: str
    cuda_header: str
    cuda_versions: str
    cuda_parameters: str
    hip_header: str
    hip_versions: str
    hip_parameters: str


def facts_text(provenance: list[str], found: list[Fact]) -> str:
    """Text of the declaration facts: like a table, under another name because it renames nothing."""
    names = [f.name for f in fields(Fact)]
    lines = ["# Where both vendors declare each name", *(f"# {line}" for line in provenance), "\t".join(names)]
    return "\n".join([*lines, *("\t".join(getattr(f, n) for n in names) for f in found)]) + "\n"


def read_rows(path: Path) -> list[Row]:
    """Rows of a table; comment lines and the header line are skipped, missing columns are empty.

    Raises:
        ValueError: a line has too many columns, or the header names an unknown column.
    """
    names: list[str] = []
    out = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.split("\t")
        if not names:
            names = cells
            unknown = set(names) - {f.name for f in fields(Row)}
            if unknown:
                raise ValueError(f"{path.name}:{number}: unknown columns {sorted(unknown)}")
            continue
        if len(cells) > len(names):
            raise ValueError(f"{path.name}:{number}: {len(cells)} columns, {len(names)} expected")
        values = dict.fromkeys(HEADER, "") | {"source": ""} | dict(zip(names, cells, strict=False))
        out.append(Row(**values))
    return out


def table_text(title: str, provenance: list[str], rows: list[Row]) -> str:
    """Text of a table: comments, header line, rows sorted by CUDA name."""
    lines = [f"# {title}", *(f"# {line}" for line in provenance), "\t".join(HEADER)]
    lines += ["\t".join(getattr(row, name) for name in HEADER) for row in sorted(rows, key=lambda r: (r.cuda, r.kind))]
    return "\n".join(lines) + "\n"
