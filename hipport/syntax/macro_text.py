"""Macros that stand for string literals, expanded by the rules of the C++ preprocessor ([cpp.replace])."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SPLICE = re.compile(rb"\\[ \t]*\r?\n")
_BLANKS = re.compile(rb"(?:\s|\\[ \t]*\r?\n|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_LITERAL = (
    rb'(?:u8|[uUL])?R"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"'
    rb'|(?:u8|[uUL])?"(?:[^"\\]|\\.)*"'
    rb"|'(?:[^'\\\n]|\\.)+'|//[^\n]*|/\*.*?\*/"
)
_TOKEN = re.compile(_LITERAL + rb"|\.?\d[\w.]*|(?P<word>[A-Za-z_$][\w$]*)|[(),]", re.DOTALL)
_REPLACED = re.compile(
    _LITERAL + rb"|\.?\d[\w.]*|(?P<before>(?:##|\#)\s*)?(?P<word>[A-Za-z_$][\w$]*)(?P<after>\s*##)?", re.DOTALL
)
_HEAD = re.compile(rb"\s*([A-Za-z_$][\w$]*)(?:\(([^()]*)\))?")
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class TextMacro:
    """A macro.

    Attributes:
        body: replacement text.
        parameters: names of its parameters; None for an object-like macro.
    """

    body: bytes
    parameters: tuple[bytes, ...] | None = None


def read_macro(definition: bytes) -> tuple[bytes, TextMacro] | None:
    """Name and macro of the text behind ``#define``; None for a variadic macro."""
    match = _HEAD.match(definition)
    if match is None or (match[2] is not None and b"..." in match[2]):
        return None
    body = _TOKEN.sub(_without_comment, _SPLICE.sub(b" ", definition[match.end() :]))
    if match[2] is None:
        return match[1], TextMacro(body)
    return match[1], TextMacro(body, tuple(part.strip() for part in match[2].split(b",") if part.strip()))


def _without_comment(match: re.Match[bytes]) -> bytes:
    return b" " if match[0][:2] in (b"//", b"/*") else match[0]


def call_end(data: bytes, at: int, macro: TextMacro) -> int:
    """Where the use of ``macro`` ends whose name ends at ``at``: behind its arguments, or ``at`` without any."""
    found = _arguments(data, at) if macro.parameters is not None else None
    return at if found is None else found[1]


def expand(text: bytes, macros: Mapping[bytes, TextMacro], hidden: frozenset[bytes] = frozenset()) -> bytes:
    """``text`` with every macro of it replaced. Names in ``hidden`` stay, as those of macros being replaced do."""
    out: list[bytes] = []
    at = 0
    for match in _TOKEN.finditer(text):
        if match.start() < at:
            continue  # in the arguments of a macro
        name = match["word"]
        macro = macros.get(name) if name and name not in hidden and len(hidden) < _DEEPEST else None
        if macro is None:
            continue
        body, end = macro.body, match.end()
        if macro.parameters is not None:
            found = _arguments(text, end)
            if found is not None and not macro.parameters and found[0] == [b""]:
                found = [], found[1]
            if found is None or len(found[0]) != len(macro.parameters):
                continue
            body, end = (
                _replaced(macro.body, dict(zip(macro.parameters, found[0], strict=True)), macros, hidden),
                found[1],
            )
        out += [text[at : match.start()], expand(body, macros, hidden | {name})]
        at = end
    return b"".join((*out, text[at:]))


def _replaced(
    body: bytes, values: Mapping[bytes, bytes], macros: Mapping[bytes, TextMacro], hidden: frozenset[bytes]
) -> bytes:
    """A macro's body with its parameters replaced: expanded first, except beside ``#`` and ``##``."""

    def value(match: re.Match[bytes]) -> bytes:
        name, before, after = match["word"], (match["before"] or b"").strip(), match["after"] or b""
        if name is None or name not in values:
            return match[0]
        if before == b"#":
            text = b" ".join(values[name].split())
            return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"' + after
        if before or after:
            return before + values[name] + after
        return expand(values[name], macros, hidden)

    return re.sub(rb"\s*##\s*", b"", _REPLACED.sub(value, body))


def _arguments(data: bytes, at: int) -> tuple[list[bytes], int] | None:
    """Arguments of the list that starts at or after ``at``, and where it ends."""
    blanks = _BLANKS.match(data, at)
    at = blanks.end() if blanks else at
    if data[at : at + 1] != b"(":
        return None
    depth, start, parts = 0, at + 1, []
    for match in _TOKEN.finditer(data, at):
        mark = match[0]
        if mark == b"(":
            depth += 1
        elif mark == b")":
            depth -= 1
        if (mark == b"," and depth == 1) or (mark == b")" and depth == 0):
            parts.append(_SPLICE.sub(b" ", data[start : match.start()]).strip())
            start = match.end()
        if depth == 0:
            return parts, match.end()
    return None
