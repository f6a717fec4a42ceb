"""Read rename tables: tab-separated rows ``cuda hip kind state diag rocm_min rocm_max source note``."""

from __future__ import annotations

import re
from pathlib import Path

from hipport.core import RuleError
from hipport.rulebook.records import KINDS, STATES, Row

HEADER = ("cuda", "hip", "kind", "state", "diag", "rocm_min", "rocm_max", "source", "note")
_VERSION = re.compile(r"(?:\d+(?:\.\d+)*)?\Z")


def read_table(path: Path, shown: str) -> list[Row]:
    """Read one table. ``#`` lines are comments; missing trailing columns are empty.

    Raises:
        RuleError: with file and line of what is wrong.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"cannot be read: {error}", shown) from error
    rows: list[Row] = []
    header = False
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if not header:
            if tuple(cells) != HEADER:
                raise RuleError(f"the first row must be {' '.join(HEADER)}", shown, number)
            header = True
            continue
        if len(cells) > len(HEADER):
            raise RuleError(f"{len(cells)} columns, {len(HEADER)} expected", shown, number)
        cells += [""] * (len(HEADER) - len(cells))
        rows.append(_row(cells, shown, number))
    if not header:
        raise RuleError("the table has no header row", shown)
    return rows


def _row(cells: list[str], shown: str, number: int) -> Row:
    cuda, hip, kind, state, diag, rocm_min, rocm_max, source, note = cells
    problem = ""
    if not cuda:
        problem = "empty CUDA name"
    elif kind not in KINDS:
        problem = f"unknown kind {kind!r}"
    elif state not in STATES:
        problem = f"unknown state {state!r}"
    elif state in ("ok", "review") and not hip:
        problem = f"{cuda}: state {state} needs a HIP name"
    elif state == "ok" and hip == cuda:
        problem = f"{cuda}: a name that stays has state same"
    elif state in ("review", "none") and not (diag and note):
        problem = f"{cuda}: state {state} needs a diagnostic id and a note"
    elif diag and not re.fullmatch(r"HP[1-9]\d\d", diag):
        problem = f"bad diagnostic id {diag!r}"
    elif not (_VERSION.match(rocm_min) and _VERSION.match(rocm_max)):
        problem = "a version is digits and dots"
    elif not source:
        problem = f"{cuda}: no source"
    if problem:
        raise RuleError(problem, shown, number)
    return Row(cuda, hip, kind, state, diag, rocm_min, rocm_max, source, note, shown, number)
