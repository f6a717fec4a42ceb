"""Edits: what a rule changes, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hipport.core.source import Span


class Safety(StrEnum):
    """How far an edit may be trusted (after ruff's applicability)."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    ADVISE = "advise"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the bytes of ``span`` (in the text the pass started from) by ``replacement``.

    Attributes:
        span: bytes to replace; empty for an insertion.
        replacement: new bytes.
        rule: stable id of the rule or table row family that made it (``HP101``).
        reason: one line for the reviewer.
        safety: see `Safety`.
    """

    span: Span
    replacement: bytes
    rule: str
    reason: str
    safety: Safety = Safety.SAFE
