"""One regular-expression pass over C++ bytes: what is code and what is a comment, a string or a directive.

The scan needs no tree, so it answers where tree-sitter has holes: renames and "every remaining CUDA name" rest on it.
"""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from functools import cached_property

from hipport.core import Span

# Lines are spliced by a backslash and a line end, with spaces between them (GCC and clang accept those).
_SPLICE = rb"\\[ \t]*\r?\n"
_TOKEN = re.compile(
    rb"""
    ([A-Za-z_$\x80-\xff][\w$\x80-\xff]*+(?!["']))                                 # 1 identifier
  | (//(?:[^\\\n]|%(splice)s|\\)*+ | /\*(?s:.*?)(?:\*/|\Z))                        # 2 comment
  | ((?:u8|[uUL])?R"(?P<delimiter>[^()\\\s"]{0,16})\((?s:.*?)(?:\)(?P=delimiter)"|\Z)
     |(?:u8|[uUL])?"(?:[^"\\\n]|%(splice)s|\\.)*+"
     |(?:u8|[uUL])?'(?:[^'\\\n]|\\.)++')                                          # 3 literal (4: its delimiter)
  | ((?:(?m:^)|(?<=\xef\xbb\xbf))[ \t]*\#(?:[ \t]|%(splice)s)*(?:
        (?:include|include_next|import)\b[ \t]*(?:<[^>\n]*>|"[^"\n]*")
       |(?:error|warning)\b(?:[^\\\n]|%(splice)s|\\)*+
       |[a-z_]+))                                                                # 5 directive
  | (\.?[0-9](?:[eEpP][+-]|[\w.]|'(?=\w))*+)                                      # 6 number
  | ([A-Za-z_$\x80-\xff][\w$\x80-\xff]*+)                                         # 7 identifier that touches a quote
    """
    % {b"splice": _SPLICE},
    re.VERBOSE,
)
_INCLUDE = re.compile(
    rb"""[ \t]*\#(?:[ \t]|%(splice)s)*(?:include|include_next|import)[ \t]*(<[^>\n]*>|"[^"\n]*")"""
    % {b"splice": _SPLICE},
    re.VERBOSE,
)
_KEYWORD = re.compile(rb"[ \t]*\#(?:[ \t]|%s)*([a-z_]+)" % _SPLICE)
_LOGICAL_LINE = re.compile(rb"(?:[^\\\n]|%s|\\)*+" % _SPLICE)


@dataclass(frozen=True, slots=True)
class Include:
    """An include directive. ``path`` has its delimiters (``<cuda.h>``, ``"flash.h"``), ``span`` is that of ``path``."""

    path: str
    span: Span
    directive: Span

    @property
    def name(self) -> str:
        """The path without delimiters."""
        return self.path[1:-1]


@dataclass(frozen=True, slots=True)
class Directive:
    """A preprocessor directive other than an include.

    Attributes:
        keyword: ``if``, ``ifdef``, ``define``, ``pragma``, ...
        span: from the ``#`` to the end of the logical line, line end excluded.
        rest: what follows the keyword, up to the end of ``span``.
    """

    keyword: str
    span: Span
    rest: Span


class Skipped:
    """Comments and literals by start offset."""

    def __init__(self, spans: list[Span]) -> None:
        self._spans = sorted(spans)
        self._starts = [span.start for span in self._spans]

    def end_of(self, at: int) -> int:
        """End of the comment or literal that starts at ``at``, 0 when none does."""
        index = bisect.bisect_left(self._starts, at)
        return self._spans[index].end if index < len(self._starts) and self._starts[index] == at else 0

    def blanks(self, data: bytes, at: int) -> int:
        """First offset from ``at`` that is neither blank nor in a comment."""
        while at < len(data):
            if data[at : at + 2] in (b"//", b"/*") and (end := self.end_of(at)):
                at = end
            elif data[at] in b" \t\r\n\\":
                at += 1
            else:
                return at
        return at


@dataclass(frozen=True)
class Scan:
    """Tokens of one text, in order of their offsets.

    Attributes:
        data: the scanned bytes.
        identifiers: ``(offset, name)`` of every identifier outside comments, literals and include paths.
        comments: spans of comments.
        literals: spans of string and character literals, prefixes and delimiters included.
        includes: include directives.
        directives: the other directives.
    """

    data: bytes = field(repr=False)
    identifiers: list[tuple[int, bytes]] = field(repr=False)
    comments: list[Span] = field(repr=False)
    literals: list[Span] = field(repr=False)
    includes: list[Include]
    directives: list[Directive]

    @cached_property
    def words(self) -> frozenset[bytes]:
        """Distinct identifier names, for the anchor test."""
        return frozenset(name for _, name in self.identifiers)

    @cached_property
    def skipped(self) -> Skipped:
        """Where comments and literals end."""
        return Skipped([*self.comments, *self.literals])


def scan(data: bytes) -> Scan:
    """Scan ``data``. Never fails: unterminated comments run to the end, lone quotes are skipped."""
    identifiers: list[tuple[int, bytes]] = []
    comments: list[Span] = []
    literals: list[Span] = []
    includes: list[Include] = []
    directives: list[Directive] = []
    add_identifier = identifiers.append
    directive_end = 0
    for match in _TOKEN.finditer(data, 3 if data.startswith(b"\xef\xbb\xbf") else 0):
        kind = match.lastindex
        if kind in (1, 7):
            add_identifier((match.start(), match[0]))
        elif kind == 2:
            comments.append(Span(*match.span()))
        elif kind == 3:
            literals.append(Span(*match.span()))
        elif kind == 5 and match.start() >= directive_end:
            # A "#" at the start of a spliced line belongs to the directive before it: not a directive.
            directive_end = _add_directive(data, match.start(), match.end(), includes, directives)
    return Scan(data, identifiers, comments, literals, includes, directives)


def _add_directive(data: bytes, at: int, end: int, includes: list[Include], directives: list[Directive]) -> int:
    hash_at = data.index(b"#", at)
    include = _INCLUDE.match(data, at)
    if include and include.end() == end:
        path = include[1].decode("utf-8", "surrogateescape")
        includes.append(Include(path, Span(*include.span(1)), Span(hash_at, end)))
        return end
    word = _KEYWORD.match(data, at)
    line = _LOGICAL_LINE.match(data, word.end() if word else end)
    if word is None or line is None:  # the token pattern guarantees both
        return end
    line_end = line.end()
    while line_end > word.end() and data[line_end - 1] in b"\r \t":
        line_end -= 1
    directives.append(Directive(word[1].decode("ascii"), Span(hash_at, line_end), Span(word.end(), line_end)))
    return line.end()
