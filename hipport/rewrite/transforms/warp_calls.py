"""Calls found on tokens: arguments of a call whose name stands somewhere, also in macro bodies and broken code."""

from __future__ import annotations

import re

from hipport.core import Span
from hipport.rewrite.renames import code_before
from hipport.syntax import ParsedFile

_OPEN, _CLOSE = b"([{", b")]}"
_SKIP = re.compile(rb"(?:\s|\\\r?\n|//[^\n]*|/\*.*?\*/)+|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'", re.DOTALL)
_BLANK = re.compile(rb"(?:\s|\\\r?\n|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_MAX_BYTES = 20_000


def call_arguments(parsed: ParsedFile, after_name: int) -> list[Span] | None:
    """Arguments of the call whose name ends at ``after_name``; None when no balanced list follows.

    Spans lie between the separators, blanks included. Template arguments may be between name and list. Commas inside
    brackets do not separate; those in template argument lists do not either when the list looks like one.
    """
    data = parsed.data
    at = _blank(data, after_name)
    if data[at : at + 1] != b"(":
        return None
    at += 1
    start, depth, arguments = at, 0, []
    limit = min(len(data), at + _MAX_BYTES)
    while at < limit:
        skipped = _SKIP.match(data, at)
        if skipped and skipped.end() > at:
            at = skipped.end()
            continue
        mark = data[at : at + 1]
        if mark in (b"(", b"[", b"{"):
            depth += 1
        elif mark == b"<" and (end := _template_list(data, at)):
            at = end
            continue
        elif depth == 0 and mark == b")":
            if arguments or data[start:at].strip():
                arguments.append(Span(start, at))
            return arguments
        elif mark in (b")", b"]", b"}"):
            depth -= 1
        elif depth == 0 and mark == b",":
            arguments.append(Span(start, at))
            start = at + 1
        at += 1
    return None


_TEMPLATE = re.compile(rb"<(?:[\w\s:,*&]|<[\w\s:,*&]*>)*>(?=\s*(?:\(|::|\{|>|,|\)))")


def _template_list(data: bytes, at: int) -> int:
    """End of a template argument list at ``<``, 0 when it is a comparison or shift."""
    if not re.search(rb"[A-Za-z_]\w*\s*\Z", data[max(0, at - 80) : at]):
        return 0
    match = _TEMPLATE.match(data, at)
    return match.end() if match else 0


def _blank(data: bytes, at: int) -> int:
    match = _BLANK.match(data, at)
    return match.end() if match else at


def qualified(parsed: ParsedFile, start: int) -> bool:
    """True when the name at ``start`` is a member or belongs to a namespace (``x.name``, ``p->name``, ``n::name``)."""
    before = code_before(parsed, start)
    if before.endswith((b".", b"->")):
        return True
    return bool(re.search(rb"[\w>]\s*::\Z", before))
