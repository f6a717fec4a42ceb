"""Add the includes that edits need, once, in the file's own line ends."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hipport.syntax import ParsedFile

_GUARD = re.compile(rb"\s*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*#[ \t]*define[ \t]+\1\b[^\n]*\n")
_PRAGMA_ONCE = re.compile(rb"[ \t]*#[ \t]*pragma[ \t]+once\b[^\n]*\n?")


def with_includes(parsed: ParsedFile, headers: Iterable[str], first_use: int) -> tuple[int, bytes]:
    """Where the missing ones of ``headers`` go and what to insert there; empty bytes when none is missing.

    The place is before the first include that no condition guards, else behind ``#pragma once`` or the include guard,
    else behind the leading comment. An edit at ``first_use`` (offset in the input) before all includes needs
    it earlier: then includes are not looked at.
    """
    present = {include.name for include in parsed.scan.includes}
    missing = sorted(set(headers) - present)
    if not missing:
        return 0, b""
    at = insertion_point(parsed)
    if at > first_use:
        at = insertion_point(parsed, before_includes=True)
        if at > first_use:
            at = 3 if parsed.data.startswith(b"\xef\xbb\xbf") else 0
    end = b"\r\n" if b"\r\n" in parsed.data[:4096] or b"\r\n" in parsed.data[-4096:] else b"\n"
    text = b"".join(b"#include <%s>%s" % (header.encode(), end) for header in missing)
    if at and parsed.data[at - 1 : at] not in (b"\n", b"") and not parsed.data[:at].endswith(b"\xef\xbb\xbf"):
        text = end + text
    return at, text


def insertion_point(parsed: ParsedFile, *, before_includes: bool = False) -> int:
    """Offset of a line start where a file-level include may stand."""
    data = parsed.data
    guard = _include_guard(parsed)
    conditions = [c for c in parsed.conditionals if guard is None or c.span.start != guard[0]]
    for include in () if before_includes else parsed.scan.includes:
        at = include.directive.start
        if not any(c.span.start <= at < c.span.end for c in conditions):
            return (
                data.rfind(b"\n", 0, at) + 1 if b"\n" in data[:at] else (3 if data.startswith(b"\xef\xbb\xbf") else 0)
            )
    for directive in parsed.scan.directives:
        if directive.keyword == "pragma" and data[directive.rest.start : directive.rest.end].split()[:1] == [b"once"]:
            return _next_line(data, directive.span.end)
    if guard is not None:
        return guard[1]
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    for comment in parsed.scan.comments:
        if data[at : comment.start].strip():
            break
        behind = _next_line(data, comment.end)
        if data[comment.end : behind].strip():
            break
        at = behind
    return at


def _include_guard(parsed: ParsedFile) -> tuple[int, int] | None:
    """Start of the guarding ``#ifndef`` and the offset behind its ``#define`` line."""
    if not parsed.conditionals:
        return None
    first = parsed.conditionals[0]
    before = parsed.data[: first.span.start]
    for comment in parsed.scan.comments:
        if comment.end <= first.span.start:
            before = before[: comment.start] + b" " * (comment.end - comment.start) + before[comment.end :]
    if before.removeprefix(b"\xef\xbb\xbf").strip():
        return None
    match = _GUARD.match(parsed.data, first.span.start)
    return (first.span.start, match.end()) if match else None


def _next_line(data: bytes, at: int) -> int:
    newline = data.find(b"\n", at)
    return len(data) if newline < 0 else newline + 1
