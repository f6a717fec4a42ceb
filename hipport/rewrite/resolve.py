"""Decide which changes of a pass stand, apply them, and find the way back to the original text.

Two changes that touch the same bytes:
- the same edit twice counts once;
- one edit inside another: the outer change stands in this pass, the inner one is found again in the next;
- both replace exactly the same bytes by different ones: the higher rank stands (a rule over a table row), equal ranks
  are a conflict;
- partial overlap: a conflict.
Of a conflict neither change is applied, and both are reported.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

from hipport.core import Edit, Span
from hipport.rewrite.change import Change


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two changes that cannot both be applied."""

    first: Change
    second: Change
    offset: int


def resolve(changes: Sequence[Change]) -> tuple[list[Change], list[Conflict]]:
    """Split changes into those that stand in this pass and conflicts; the rest is found again later."""
    flat = sorted(
        ((edit, index) for index, change in enumerate(changes) for edit in change.edits),
        key=lambda item: (item[0].span.start, -item[0].span.end, -changes[item[1]].rank, item[1]),
    )
    conflicts: list[Conflict] = []
    lost: set[int] = set()  # in a conflict
    waits: dict[int, set[int]] = {}  # inner -> outer
    duplicates: set[int] = set()
    active: list[tuple[Edit, int]] = []
    for edit, index in flat:
        active = [item for item in active if item[0].span.end > edit.span.start or item[0].span == edit.span]
        for other, other_index in active:
            if other_index == index or not _clash(other.span, edit.span):
                continue
            if other.span == edit.span and other.replacement == edit.replacement:
                if len(changes[index].edits) == 1:
                    duplicates.add(index)
                elif len(changes[other_index].edits) == 1:
                    duplicates.add(other_index)
                else:
                    waits.setdefault(index, set()).add(other_index)
            elif other.span == edit.span and changes[index].rank == changes[other_index].rank:
                lost |= {index, other_index}
                conflicts.append(Conflict(changes[other_index], changes[index], edit.span.start))
            elif other.span.start <= edit.span.start and edit.span.end <= other.span.end:
                waits.setdefault(index, set()).add(other_index)
            else:
                lost |= {index, other_index}
                conflicts.append(Conflict(changes[other_index], changes[index], edit.span.start))
        active.append((edit, index))
    standing: list[Change] = []
    kept: set[int] = set()
    order = sorted(
        range(len(changes)), key=lambda i: (changes[i].span.start, -changes[i].span.end, -changes[i].rank, i)
    )
    for index in order:
        if index in lost or index in duplicates:
            continue
        # An inner change waits only for an outer one that really happens.
        if waits.get(index, set()) & kept:
            continue
        kept.add(index)
        standing.append(changes[index])
    return _without_clashes(standing), conflicts


def _clash(first: Span, second: Span) -> bool:
    return first == second or first.overlaps(second)


def _without_clashes(changes: list[Change]) -> list[Change]:
    """Drop changes that still touch bytes of an earlier one (groups that interleave)."""
    taken: list[Span] = []
    standing = []
    for change in changes:
        spans = [edit.span for edit in change.edits]
        if any(_clash(span, other) for span in spans for other in _near(taken, span)):
            continue
        standing.append(change)
        for span in spans:
            bisect.insort(taken, span)
    return standing


def _near(taken: list[Span], span: Span) -> list[Span]:
    at = bisect.bisect_left(taken, span)
    return taken[max(0, at - 4) : at + 4]


class OffsetMap:
    """Way back from offsets after a set of edits to offsets before them."""

    def __init__(self, edits: Sequence[Edit]) -> None:
        """Build from edits sorted by start, not overlapping."""
        self._after: list[int] = []  # start of each replacement in the new text
        self._entries: list[tuple[int, int, int]] = []  # (old start, old end, new end)
        shift = 0
        for edit in edits:
            new_start = edit.span.start + shift
            shift += len(edit.replacement) - (edit.span.end - edit.span.start)
            self._after.append(new_start)
            self._entries.append((edit.span.start, edit.span.end, edit.span.end + shift))

    def back(self, offset: int) -> int:
        """Offset in the old text; a place inside a replacement is the start of what it replaced."""
        at = bisect.bisect_right(self._after, offset) - 1
        if at < 0:
            return offset
        old_start, old_end, new_end = self._entries[at]
        if offset < new_end:
            return old_start
        return offset - new_end + old_end


def moved(offset: int, edits: Sequence[Edit]) -> int:
    """Where ``offset``, which no edit touches, is after ``edits``; what is inserted there comes behind it."""
    return offset + sum(len(e.replacement) - (e.span.end - e.span.start) for e in edits if e.span.start < offset)


def apply(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The text with edits (sorted, not overlapping) applied."""
    pieces = []
    at = 0
    for edit in edits:
        pieces.append(data[at : edit.span.start])
        pieces.append(edit.replacement)
        at = edit.span.end
    pieces.append(data[at:])
    return b"".join(pieces)
