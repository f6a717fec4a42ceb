"""Macros whose PTX text comes from their parameters: each use is expanded, so that the text is known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hipport.core import Span
from hipport.syntax import ParsedFile
from hipport.syntax.arguments import call_arguments

_HEAD = re.compile(rb"\s*([A-Za-z_]\w*)\(([^()]*)\)")
_SPLICE = re.compile(rb"[ \t]*\\[ \t]*(\r?\n)")
_TOKEN = re.compile(
    rb'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/|(?:#{1,2}\s*)?[A-Za-z_]\w*|##|\d\w*', re.DOTALL
)


@dataclass(frozen=True, slots=True)
class FunctionMacro:
    """A function-like macro of the file.

    Attributes:
        name: its name.
        parameters: names of its parameters.
        body: span of the replacement text.
        directive: span of the whole ``#define``.
    """

    name: bytes
    parameters: tuple[bytes, ...]
    body: Span
    directive: Span


def macro_around(parsed: ParsedFile, offset: int) -> FunctionMacro | None:
    """The function-like macro in whose body ``offset`` lies."""
    for directive in parsed.scan.directives:
        if directive.keyword == "define" and directive.span.start <= offset < directive.span.end:
            text = parsed.text(directive.rest)
            match = _HEAD.match(text)
            if match is None or b"..." in match[2]:
                return None
            parameters = tuple(part.strip() for part in match[2].split(b",") if part.strip())
            body = Span(directive.rest.start + match.end(), directive.span.end)
            return FunctionMacro(match[1], parameters, body, directive.span)
    return None


def uses(parsed: ParsedFile, macro: FunctionMacro) -> Iterator[tuple[Span, list[bytes]]]:
    """Calls of the macro outside its own definition: span and argument texts."""
    for start, name in parsed.scan.identifiers:
        if name != macro.name or macro.directive.start <= start < macro.directive.end:
            continue
        found = call_arguments(parsed.scan, start + len(name))
        if found is None:
            continue
        arguments, whole = found
        if len(arguments) == len(macro.parameters):
            yield Span(start, whole.end), [parsed.text(argument) for argument in arguments]


def expanded(parsed: ParsedFile, macro: FunctionMacro, arguments: list[bytes], *, one_line: bool) -> bytes:
    """The macro's body with its parameters replaced, ``#`` and ``##`` applied."""
    values = dict(zip(macro.parameters, arguments, strict=True))

    def replace(match: re.Match[bytes]) -> bytes:
        token = match[0]
        if token[:1] in b"\"'/" or token[:1].isdigit():
            return token
        name = token.lstrip(b"#").strip()
        if name not in values:
            return token
        if token.startswith(b"##"):
            return b"##" + values[name]
        if token.startswith(b"#"):
            text = re.sub(rb"\s+", b" ", values[name].strip())
            return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
        return values[name]

    text = _TOKEN.sub(replace, parsed.text(macro.body)).strip()
    text = re.sub(rb"\s*##\s*", b"", text)
    return text if one_line else _SPLICE.sub(rb"\1", text)
