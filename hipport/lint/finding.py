"""What the wave linter reports."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What becomes of a construct on 64-lane wavefronts."""

    SAFE = "safe on both"  # the same result for 32 and 64 lanes, as it is written
    LOGICAL32 = "safe on logical32 only"  # right while a warp is an aligned half of 32 lanes, wrong for a warp of 64
    WRONG = "wrong on wave64"  # a wrong result, a fault or no build where a wavefront has 64 lanes
    UNKNOWN = "cannot tell"  # depends on a value that these files do not fix

    @property
    def slug(self) -> str:
        """The verdict as one word for the command line."""
        return self.value.replace(" ", "-")

    @property
    def rank(self) -> int:
        """0 for the best, 3 for the worst."""
        return (Verdict.SAFE, Verdict.LOGICAL32, Verdict.UNKNOWN, Verdict.WRONG).index(self)


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a data flow: where, and what the text there says."""

    path: str
    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One construct whose meaning depends on the warp size.

    Attributes:
        id: stable id, ``HP2nn``.
        verdict: see `Verdict`.
        path: file relative to the root, forward slashes.
        line: 1-based line.
        column: 1-based byte column.
        subject: the construct as it is written, one line.
        reason: why the verdict, one line.
        fix: what to do, one line; empty when nothing is to be done.
        trace: where the value comes from, source first.
    """

    id: str
    verdict: Verdict
    path: str
    line: int
    column: int
    subject: str
    reason: str
    fix: str = ""
    trace: tuple[Step, ...] = ()

    @property
    def fingerprint(self) -> str:
        """Hex hash of what it is, without numbers of lines: it survives edits elsewhere in the file."""
        reason = re.sub(r"\bline \d+", "line", self.reason)
        text = "\0".join((self.id, self.verdict, self.path, " ".join(self.subject.split()), reason))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def sort_key(finding: Finding) -> tuple[str, int, int, str]:
    """Order of findings: by place, then id."""
    return finding.path, finding.line, finding.column, finding.id
