"""What commands have in common when they print: JSON, findings, diffs in colour."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import click

from hipport.core import Diagnostic, Severity

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
_SUBJECTS_SHOWN = 3
_MESSAGE_CHARACTERS = 160


def print_json(data: Any) -> None:
    """Write data to stdout as indented JSON (ASCII: names that are not text survive as escapes)."""
    click.echo(json.dumps(data, indent=1, ensure_ascii=True))


def plural(n: int, noun: str) -> str:
    """``1 file``, ``2 files``; thousands separated."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def by_severity(severities: dict[str, int]) -> str:
    """``2 errors, 3 warnings, no notes`` without the empty ones; ``none`` when there is nothing."""
    return ", ".join(plural(n, s) for s, n in severities.items() if n) or "none"


def print_findings(diagnostics: Sequence[Diagnostic], err: bool = False) -> None:
    """One line per id and severity: how often, what, about which names, where first."""
    groups: dict[tuple[Severity, str], list[Diagnostic]] = {}
    for d in diagnostics:
        groups.setdefault((d.severity, d.id), []).append(d)
    order = {s: n for n, s in enumerate(Severity)}
    for (severity, number), found in sorted(groups.items(), key=lambda g: (order[g[0][0]], g[0][1])):
        first = found[0]
        count = sum(d.count for d in found)
        where = f"{first.path}:{first.line}" if first.line else first.path
        label = click.style(f"{severity.value:7}", fg=_COLOURS[severity])
        click.echo(f"  {label} {number} {count:5}x {_short(_about(found))}  [{where}]", err=err)


def _short(text: str) -> str:
    return text if len(text) <= _MESSAGE_CHARACTERS else text[: _MESSAGE_CHARACTERS - 1] + "…"


def _about(found: list[Diagnostic]) -> str:
    subjects = Counter(dict.fromkeys((d.subject for d in found if d.subject), 0))
    for d in found:
        if d.subject:
            subjects[d.subject] += d.count
    if len(found) == 1 or not subjects:
        return found[0].message
    names = [name for name, _ in subjects.most_common(_SUBJECTS_SHOWN)]
    more = f" and {len(subjects) - len(names)} more names" if len(subjects) > len(names) else ""
    return f"{', '.join(names)}{more}; first: {found[0].message}" if len(subjects) > 1 else found[0].message


def print_diff(lines: bytes, colour: bool) -> None:
    """Write a unified diff as it is, byte for byte; coloured only for a terminal."""
    out = sys.stdout.buffer
    sys.stdout.flush()
    if not colour:
        out.write(lines)
        return
    for line in lines.splitlines(keepends=True):
        code = _diff_colour(line)
        out.write(code + line.rstrip(b"\n") + b"\x1b[0m\n" if code else line)


def _diff_colour(line: bytes) -> bytes:
    if line.startswith((b"+++", b"---")):
        return b"\x1b[1m"
    return {b"+": b"\x1b[32m", b"-": b"\x1b[31m", b"@": b"\x1b[36m"}.get(line[:1], b"")


def changed_lines(diff: bytes) -> tuple[int, int]:
    """Lines added and removed in a unified diff."""
    added = removed = 0
    for line in diff.split(b"\n"):
        if line.startswith(b"+") and not line.startswith(b"+++ "):
            added += 1
        elif line.startswith(b"-") and not line.startswith(b"--- "):
            removed += 1
    return added, removed


def print_list(title: str, rows: Iterable[str]) -> None:
    """A titled, indented list."""
    click.echo(title)
    for row in rows:
        click.echo(f"  {row}")
