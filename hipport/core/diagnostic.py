"""Diagnostics: what a person must know, with a stable id.

Ids: HP1xx api, 2xx warp, 3xx memory, 4xx launch, 5xx PTX, 6xx tensor cores, 7xx libraries, 8xx build and numerics,
9xx the engine itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """ERROR: the output is wrong or does not build there. WARNING: a person must look. NOTE: for information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def needs_person(self) -> bool:
        """True when translate exits with 1 because of it."""
        return self is not Severity.NOTE


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    Attributes:
        id: stable id, ``HP`` and three digits.
        severity: see `Severity`.
        message: what was found and why it matters, one line.
        path: file relative to the tree root, forward slashes; empty when it concerns no file.
        line: 1-based line in the *input* text, 0 when unknown.
        column: 1-based byte column, 0 when unknown.
        next_step: what to do about it, one line.
        subject: the construct itself (``cudaFoo``, ``wgmma.mma_async``), for grouping; may be empty.
        count: how many places this stands for (aggregated diagnostics), at least 1.
    """

    id: str
    severity: Severity
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    next_step: str = ""
    subject: str = ""
    count: int = 1

    def format(self) -> str:
        """``path:line:col: severity HPnnn: message`` and the next step on the same line."""
        place = ":".join(str(p) for p in (self.path, self.line, self.column) if p)
        head = f"{place}: " if place else ""
        times = f" ({self.count} places)" if self.count > 1 else ""
        tail = f" -> {self.next_step}" if self.next_step else ""
        return f"{head}{self.severity} {self.id}: {self.message}{times}{tail}"
