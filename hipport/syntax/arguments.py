"""Argument lists read from tokens: works inside macros and in text that does not parse."""

from __future__ import annotations

from hipport.core import Span
from hipport.syntax.tokens import Scan

# Bounds for text that does not close its brackets.
_MAX_DEPTH = 64
_MAX_BYTES = 8000

_OPEN = b"([{"
_CLOSE = b")]}"
_BLANK = b" \t\r\n\\"


def call_arguments(scan: Scan, after: int) -> tuple[list[Span], Span] | None:
    """Arguments of the parenthesised list that starts at or after ``after`` (blanks and comments skipped).

    Commas inside brackets, literals, comments and balanced template argument lists do not separate.

    Returns:
        The trimmed span of each argument and the span of the list with its parentheses; None when no list follows or
        it is not closed.
    """
    data = scan.data
    skipped = scan.skipped
    at = skipped.blanks(data, after)
    if data[at : at + 1] != b"(":
        return None
    open_at = at
    depth = 0
    angle = 0
    start = at + 1
    parts: list[Span] = []
    limit = min(len(data), open_at + _MAX_BYTES)
    while at < limit:
        if end := skipped.end_of(at):
            at = end
            continue
        byte = data[at]
        if byte in _OPEN:
            depth += 1
            if depth > _MAX_DEPTH:
                return None
        elif byte in _CLOSE:
            depth -= 1
            if depth == 0:
                if parts or data[start:at].strip(_BLANK):
                    parts.append(Span(start, at))
                return [trimmed(data, part) for part in parts], Span(open_at, at + 1)
        elif byte == 0x3C and depth == 1 and _opens_template(data, at, limit):
            angle += 1
        elif byte == 0x3E and angle and data[at - 1 : at] != b"-":
            angle -= 1
        elif byte == 0x2C and depth == 1 and not angle:
            parts.append(Span(start, at))
            start = at + 1
        at += 1
    return None


def trimmed(data: bytes, span: Span) -> Span:
    """``span`` without blanks and line splices at its ends."""
    start, end = span.start, span.end
    while start < end and data[start] in _BLANK:
        start += 1
    while end > start and data[end - 1] in _BLANK:
        end -= 1
    return Span(start, end)


def has_open_comma(text: bytes) -> bool:
    """True when ``text`` as one macro argument would be taken apart: a comma outside parentheses."""
    depth = 0
    for byte in text:
        if byte == 0x28:
            depth += 1
        elif byte == 0x29:
            depth -= 1
        elif byte == 0x2C and depth == 0:
            return True
    return False


def _opens_template(data: bytes, at: int, limit: int) -> bool:
    """Whether ``<`` directly behind a name closes before the bracket around it does: a template argument list."""
    before = data[at - 1 : at]
    if not (before.isalnum() or before == b"_"):
        return False
    depth = 0
    angle = 0
    while at < limit:
        byte = data[at]
        if byte in _OPEN:
            depth += 1
        elif byte in _CLOSE:
            depth -= 1
            if depth < 0:
                return False
        elif depth == 0 and byte in b";&|=?":
            return False
        elif depth == 0 and byte == 0x3C:
            angle += 1
        elif depth == 0 and byte == 0x3E:
            angle -= 1
            if angle == 0:
                return True
        at += 1
    return False
