"""Source text as bytes, and places in it."""

from __future__ import annotations

import bisect
import hashlib
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open byte range ``[start, end)`` of one file."""

    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """True when both ranges share a byte, or an insertion point lies strictly inside the other."""
        if self.start == self.end or other.start == other.end:
            return self.start < other.end and other.start < self.end
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Place:
    """A position a person can find: 1-based line, 1-based column in bytes."""

    line: int
    column: int


@dataclass(frozen=True)
class SourceFile:
    """One input file: path relative to the tree root with forward slashes, and its bytes, unchanged."""

    path: str
    data: bytes = field(repr=False)

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        find = self.data.find
        at = find(b"\n")
        while at >= 0:
            starts.append(at + 1)
            at = find(b"\n", at + 1)
        return starts

    def place(self, offset: int) -> Place:
        """Line and column of a byte offset."""
        line = bisect.bisect_right(self._line_starts, offset)
        return Place(line, offset - self._line_starts[line - 1] + 1)

    def line_text(self, line: int) -> str:
        """Text of a 1-based line without its line end, undecodable bytes replaced."""
        start = self._line_starts[line - 1]
        end = self._line_starts[line] if line < len(self._line_starts) else len(self.data)
        return self.data[start:end].rstrip(b"\r\n").decode("utf-8", "replace")
