"""Turn a rewrite template into the smallest edits: captured text that is carried over is not edited."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from hipport.core import Span
from hipport.syntax import Scan
from hipport.syntax.tokens import scan

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")


class TemplateError(ValueError):
    """The template cannot be applied to this match; the message says why."""


def template_edits(
    data: bytes, target: Span, template: str, captures: Mapping[str, Span], values: Mapping[str, str]
) -> list[tuple[Span, bytes]]:
    """Edits that turn the bytes of ``target`` into the expanded ``template``.

    Where the captures it uses lie inside ``target`` in the template's order, only the text between them is replaced:
    other edits may then change the captured text in the same pass, and comments in it stay.

    Args:
        data: the text.
        target: bytes to replace.
        template: text with ``${name}``.
        captures: spans by capture name.
        values: variant values by key; they win over captures of the same name.

    Raises:
        TemplateError: the replaced text holds a preprocessor directive.
    """
    pieces = _pieces(template, captures, values)
    carried = [piece for piece in pieces if isinstance(piece, Span)]
    ordered = all(target.start <= piece.start and piece.end <= target.end for piece in carried) and all(
        a.end <= b.start for a, b in pairwise(carried)
    )
    if not ordered:
        whole = b"".join(data[p.start : p.end] if isinstance(p, Span) else p for p in pieces)
        return _gap(data, target, whole)
    edits: list[tuple[Span, bytes]] = []
    at = target.start
    literal = b""
    for piece in [*pieces, Span(target.end, target.end)]:
        if isinstance(piece, bytes):
            literal += piece
            continue
        edits += _gap(data, Span(at, piece.start), literal)
        literal = b""
        at = piece.end
    return edits


def _pieces(template: str, captures: Mapping[str, Span], values: Mapping[str, str]) -> list[Span | bytes]:
    pieces: list[Span | bytes] = []
    at = 0
    for match in _PLACEHOLDER.finditer(template):
        pieces.append(template[at : match.start()].encode())
        name = match[1]
        if name in values:
            pieces.append(values[name].encode())
        elif name in captures:
            pieces.append(captures[name])
        at = match.end()
    pieces.append(template[at:].encode())
    return [piece for piece in pieces if piece]


def _gap(data: bytes, span: Span, text: bytes) -> list[tuple[Span, bytes]]:
    """Replace ``span`` by ``text`` unless they are equal; comments in it are kept behind the new text."""
    old = data[span.start : span.end]
    if old == text:
        return []
    tokens: Scan = scan(old)
    if tokens.directives or tokens.includes:
        raise TemplateError("a preprocessor directive stands inside the construct")
    lead = 0
    for comment in tokens.comments:
        if not old[lead : comment.start].strip():
            lead = comment.end  # it belongs to the text before: it stays where it is
            continue
        body = old[comment.start : comment.end]
        if body not in text:
            text += body + (b"\n" if body.startswith(b"//") else b" ")
    old = old[lead:]
    span = Span(span.start + lead, span.end)
    # Common ends are not part of the edit: the reviewer sees what changes.
    head = 0
    while head < min(len(old), len(text)) and old[head] == text[head]:
        head += 1
    while head and (_wordy(old[head - 1 : head]) and (_wordy(old[head : head + 1]) or _wordy(text[head : head + 1]))):
        head -= 1
    tail = 0
    while tail < min(len(old), len(text)) - head and old[-1 - tail] == text[-1 - tail]:
        tail += 1
    while tail and (
        _wordy(old[len(old) - tail : len(old) - tail + 1])
        and (
            _wordy(old[len(old) - tail - 1 : len(old) - tail]) or _wordy(text[len(text) - tail - 1 : len(text) - tail])
        )
    ):
        tail -= 1
    return [(Span(span.start + head, span.end - tail), text[head : len(text) - tail])]


def _wordy(byte: bytes) -> bool:
    return bool(byte) and (byte.isalnum() or byte in b"_$" or byte >= b"\x80")
