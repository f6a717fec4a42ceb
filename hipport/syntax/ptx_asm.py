"""asm statements in C++ text: where they are, their assembly text, operands and clobbers.

Works on tokens, not on a tree: asm statements sit in macro bodies and in files that no C++ grammar parses without
errors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from hipport.core import Span
from hipport.syntax.macro_text import TextMacro, call_end, expand


class AsmSyntaxError(ValueError):
    """An asm statement that cannot be understood. ``offset`` is a byte offset in the file."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Constraint:
    """``"=r"(expression)``.

    Attributes:
        text: constraint string (``=r``, ``+f``, ``n``).
        expression: C++ text, spliced lines joined.
        offset: byte offset of the constraint string.
    """

    text: str
    expression: str
    offset: int

    @property
    def letter(self) -> str:
        """The constraint without ``=``, ``+`` and ``&``."""
        return self.text.lstrip("=+&%")

    @property
    def written(self) -> bool:
        """An output."""
        return self.text[:1] in ("=", "+")

    @property
    def read(self) -> bool:
        """An input, or an output that is read as well."""
        return self.text[:1] != "="


@dataclass(frozen=True, slots=True)
class AsmStatement:
    """One asm statement.

    Attributes:
        span: from ``asm`` to the closing parenthesis.
        text: assembly text, escapes resolved, literals joined.
        extended: has operand lists, so that ``%%`` stands for ``%``.
        volatile: may not be moved or dropped.
        operands: outputs, then inputs: ``%0`` is the first.
        clobbers: clobber strings.
        offsets: file offset of each character of ``text``.
    """

    span: Span
    text: str
    extended: bool
    volatile: bool
    operands: tuple[Constraint, ...]
    clobbers: tuple[str, ...]
    offsets: tuple[int, ...]

    def place(self, offset: int) -> int:
        """File offset of a character of ``text`` (its end when out of range)."""
        return self.offsets[offset] if offset < len(self.offsets) else self.span.end - 1


_SPLICE = rb"\\[ \t]*\r?\n"
_SKIP = re.compile(rb"(?:\s|" + _SPLICE + rb"|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING = re.compile(rb'(?:u8|[uUL])?"((?:[^"\\\n]|\\(?:[ \t]*\r?\n|.))*)"', re.DOTALL)
_RAW = re.compile(rb'(?:u8|[uUL])?R"([^()\\\s"]{0,16})\((.*?)\)\1"', re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_$][\w$]*")
_QUALIFIERS = {b"volatile", b"__volatile__", b"__volatile", b"inline", b"__inline__", b"goto"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "v": "\v", "f": "\f", "a": "\a", "b": "\b", "0": "\0"}
_CONDITIONAL = re.compile(rb"#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b")
_OPEN, _CLOSE = b"([{", b")]}"


def parse_asm(
    data: bytes, start: int, macros: Mapping[bytes, TextMacro] | None = None, parameters: Collection[bytes] = ()
) -> AsmStatement:
    """Parse the asm statement that starts at ``start`` (the ``asm`` keyword).

    Args:
        data: the file.
        start: byte offset of the keyword.
        macros: macros that may stand for string literals, by name.
        parameters: of the macro in whose body the statement lies: their text is not known.

    Raises:
        AsmSyntaxError: not an asm statement, or one whose text depends on something unknown here.
    """
    return _AsmParser(data, start, macros or {}, parameters).parse()


class _AsmParser:
    def __init__(
        self, data: bytes, start: int, macros: Mapping[bytes, TextMacro], parameters: Collection[bytes]
    ) -> None:
        self._data = data
        self._start = start
        self._at = start
        self._macros = macros
        self._parameters = parameters

    def parse(self) -> AsmStatement:
        word = _WORD.match(self._data, self._at)
        if word is None:
            raise AsmSyntaxError("not an asm statement", self._at)
        self._at = word.end()
        volatile = False
        while True:
            self._skip()
            word = _WORD.match(self._data, self._at)
            if word is None:
                break
            if word[0] not in _QUALIFIERS:
                raise AsmSyntaxError(f"unexpected {word[0].decode('utf-8', 'replace')!r} after asm", self._at)
            if word[0] == b"goto":
                raise AsmSyntaxError("asm goto is not understood", self._at)
            volatile |= b"volatile" in word[0]
            self._at = word.end()
        self._expect(b"(")
        text, offsets = self._literals("the assembly text")
        operands: list[Constraint] = []
        clobbers: list[str] = []
        section = 0
        extended = False
        while not self._peek(b")"):
            self._expect(b":")
            extended = True
            section += 1
            if section > 3:
                raise AsmSyntaxError("asm goto is not understood", self._at)
            while not (self._peek(b":") or self._peek(b")")):
                if section == 3:
                    clobbers.append(self._literals("a clobber")[0])
                else:
                    operands.append(self._operand(output=section == 1))
                if not self._peek(b","):
                    break
                self._expect(b",")
        self._expect(b")")
        return AsmStatement(
            Span(self._start, self._at), text, extended, volatile, tuple(operands), tuple(clobbers), tuple(offsets)
        )

    def _skip(self) -> None:
        match = _SKIP.match(self._data, self._at)
        if match:
            self._at = match.end()

    def _peek(self, mark: bytes) -> bool:
        self._skip()
        if mark == b":" and self._data[self._at : self._at + 2] == b"::":
            return True  # "::" is two section marks
        return self._data[self._at : self._at + 1] == mark

    def _expect(self, mark: bytes) -> None:
        if not self._peek(mark):
            found = self._data[self._at : self._at + 12].decode("utf-8", "replace")
            raise AsmSyntaxError(f"expected {mark.decode()!r} in an asm statement, found {found!r}", self._at)
        self._at += 1

    def _literals(self, what: str) -> tuple[str, list[int]]:
        """Adjacent string literals and macros that stand for some, joined."""
        text: list[str] = []
        offsets: list[int] = []
        found = False
        while True:
            self._skip()
            piece = self._literal(self._data, self._at)
            if piece is not None:
                end, characters = piece
                for character, offset in characters:
                    text.append(character)
                    offsets.append(offset)
                self._at = end
                found = True
                continue
            word = _WORD.match(self._data, self._at)
            if word is not None:
                expanded, end = self._expand(word, what)
                text.extend(expanded)
                offsets.extend([self._at] * len(expanded))
                self._at = end
                found = True
                continue
            if _CONDITIONAL.match(self._data, self._at):
                raise AsmSyntaxError(f"{what} differs between preprocessor branches inside the statement", self._at)
            if self._data[self._at : self._at + 1] == b"#":
                raise AsmSyntaxError(f"{what} is built from a macro parameter", self._at)
            break
        if not found:
            raise AsmSyntaxError(f"expected a string literal for {what}", self._at)
        return "".join(text), offsets

    def _expand(self, word: re.Match[bytes], what: str) -> tuple[str, int]:
        """The literals that a macro stands for, joined, and where its use ends."""
        macro = self._macros.get(word[0])
        end = call_end(self._data, word.end(), macro) if macro else word.end()
        use = self._data[word.start() : end]
        names = _WORD.findall(_STRING.sub(b"", use))
        unknown = next((name for name in names if name in self._parameters), None if macro else word[0])
        body, at, text = b"" if unknown else expand(use, self._macros), 0, ""
        while at < len(body) and unknown is None:
            skipped = _SKIP.match(body, at)
            piece = self._literal(body, at)
            if skipped:
                at = skipped.end()
            elif piece is not None:
                at, characters = piece
                text += "".join(character for character, _ in characters)
            else:
                unknown = word[0]
        if unknown is not None:
            name = unknown.decode("utf-8", "replace")
            raise AsmSyntaxError(f"{what} depends on {name!r}, whose text is not known here", self._at)
        return text, end

    @staticmethod
    def _literal(data: bytes, at: int) -> tuple[int, list[tuple[str, int]]] | None:
        raw = _RAW.match(data, at)
        if raw:
            start = raw.start(2)
            return raw.end(), [(chr(byte), start + i) for i, byte in enumerate(raw[2])]
        match = _STRING.match(data, at)
        if match is None:
            return None
        body, start = match[1], match.start(1)
        characters: list[tuple[str, int]] = []
        i = 0
        while i < len(body):
            if body[i : i + 1] != b"\\":
                characters.append((chr(body[i]), start + i))
                i += 1
                continue
            splice = re.compile(_SPLICE).match(body, i)
            if splice:
                i = splice.end()
                continue
            escape = chr(body[i + 1])
            characters.append((_ESCAPES.get(escape, escape), start + i))
            i += 2
        return match.end(), characters

    def _operand(self, *, output: bool) -> Constraint:
        self._skip()
        offset = self._at
        if self._data[offset : offset + 1] == b"[":
            raise AsmSyntaxError("symbolic operand names are not understood", offset)
        constraint, _ = self._literals("a constraint")
        if output != (constraint[:1] in ("=", "+")):
            kind = "an output" if output else "an input"
            raise AsmSyntaxError(f"constraint {constraint!r} does not fit {kind}", offset)
        self._expect(b"(")
        start = self._at
        depth = 1
        while depth:
            if self._at >= len(self._data):
                raise AsmSyntaxError("unbalanced parentheses in an asm operand", offset)
            match = _RAW.match(self._data, self._at) or _STRING.match(self._data, self._at)
            if match:
                self._at = match.end()
                continue
            skipped = _SKIP.match(self._data, self._at)
            if skipped:
                self._at = skipped.end()
                continue
            mark = self._data[self._at : self._at + 1]
            if mark == b"#" and self._data[: self._at].rstrip(b" \t")[-1:] == b"\n":
                raise AsmSyntaxError("a preprocessor directive inside an asm operand", self._at)
            depth += (mark in _OPEN) - (mark in _CLOSE)
            self._at += 1
        raw = self._data[start : self._at - 1]
        joined = re.sub(_SPLICE, b" ", raw).strip()
        return Constraint(constraint, joined.decode("utf-8", "surrogateescape"), offset)
