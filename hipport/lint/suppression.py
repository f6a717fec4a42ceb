"""``// hipport: ignore[HP2nn] reason`` in the sources."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hipport.lint.finding import Finding, Verdict
from hipport.syntax import ParsedFile

_IGNORE = re.compile(rb"hipport:\s*ignore\s*\[\s*([A-Z0-9, ]*?)\s*\]\s*([^\r\n]*?)\s*(?:\*/)?\s*\Z")


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment that silences ids on one line; ``reason`` says why."""

    ids: frozenset[str]
    line: int
    reason: str


def suppressions(parsed: ParsedFile) -> tuple[list[Suppression], list[Finding]]:
    """Suppressions of a file, and findings for those without a reason or an id, which silence nothing.

    A comment behind code concerns its own line, one that stands alone the next line.
    """
    found: list[Suppression] = []
    bad: list[Finding] = []
    for span in parsed.scan.comments:
        text = parsed.text(span)
        match = _IGNORE.search(text) if b"ignore" in text else None
        if match is None:
            continue
        place = parsed.source.place(span.start)
        ids = frozenset(part.strip() for part in match[1].decode().split(",") if part.strip())
        reason = match[2].decode("utf-8", "replace")
        alone = not parsed.source.line_text(place.line)[: place.column - 1].strip()
        if ids and reason:
            found.append(Suppression(ids, place.line + alone, reason))
        else:
            bad.append(
                Finding(
                    "HP231",
                    Verdict.UNKNOWN,
                    parsed.source.path,
                    place.line,
                    place.column,
                    " ".join(text.decode("utf-8", "replace").split()),
                    "a suppression needs ids and a reason: it silences nothing",
                    "// hipport: ignore[HP2nn] why it is right here",
                )
            )
    return found, bad
