"""Fold integer expressions whose value the file itself fixes."""

from __future__ import annotations

import re

from hipport.syntax.tree import ParsedFile

_TOKEN = re.compile(rb"\s*(?:(0[xX][0-9a-fA-F']+|\d[\d']*)[uUlLzZ]*(?![\w.])|([A-Za-z_]\w*)|(<<|>>|[-+*/%()]))")
_SIZES = {
    b"char": 1, b"int8_t": 1, b"uint8_t": 1, b"bool": 1, b"half": 2, b"__half": 2, b"__nv_bfloat16": 2, b"short": 2,
    b"int16_t": 2, b"uint16_t": 2, b"float": 4, b"int": 4, b"int32_t": 4, b"uint32_t": 4, b"unsigned": 4, b"half2": 4,
    b"double": 8, b"int64_t": 8, b"uint64_t": 8, b"size_t": 8, b"float2": 8, b"float4": 16, b"int4": 16, b"uint4": 16,
}  # fmt: skip


def fold(parsed: ParsedFile, text: bytes, depth: int = 0) -> int | None:
    """Value of an integer expression made of literals, ``sizeof`` and names that the file sets exactly once.

    Returns:
        The value, None when it cannot be known from this file.
    """
    if depth > 8 or len(text) > 400:
        return None
    try:
        return _Expression(parsed, text, depth).value()
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _initial(parsed: ParsedFile, name: bytes) -> bytes | None:
    """Text that a name is set to, when the file sets it exactly once."""
    define = re.findall(rb"^[ \t]*#[ \t]*define[ \t]+%s[ \t]+([^\n\\]+)$" % name, parsed.data, re.MULTILINE)
    if define:
        return bytes(define[0].split(b"//")[0].strip()) if len(define) == 1 else None
    sets = list(re.finditer(rb"\b%s\s*(?:([-+*/%%&|^]|<<|>>)?=(?!=)|\+\+|--)\s*([^;,{}]*)" % name, parsed.data))
    if (
        len(sets) != 1
        or sets[0][1]
        or not sets[0][2]
        or re.search(rb"&\s*%s\b|(?:\+\+|--)\s*%s\b" % (name, name), parsed.data)
    ):
        return None
    # A parameter or loop variable of that name elsewhere could mean another thing: only declared-and-set names count.
    declared = rb"\b(?:int|unsigned|size_t|auto|long|short|constexpr|const|u?int\d+_t)\s+%s\s*=" % name
    return bytes(sets[0][2].strip()) if re.search(declared, parsed.data) else None


class _Expression:
    def __init__(self, parsed: ParsedFile, text: bytes, depth: int) -> None:
        self.parsed = parsed
        self.depth = depth
        self.tokens: list[tuple[str, bytes]] = []
        at = 0
        text = text.strip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError
            kind = "number" if match[1] else "name" if match[2] else "operator"
            self.tokens.append((kind, match[1] or match[2] or match[3]))
            at = match.end()
            while text[at : at + 1].isspace():
                at += 1
        self.at = 0

    def value(self) -> int:
        result = self._shift()
        if self.at != len(self.tokens):
            raise ValueError
        return result

    def _peek(self) -> bytes:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else b""

    def _take(self, wanted: bytes = b"") -> bytes:
        token = self._peek()
        if not token or (wanted and token != wanted):
            raise ValueError
        self.at += 1
        return token

    def _shift(self) -> int:
        result = self._sum()
        while self._peek() in (b"<<", b">>"):
            operator = self._take()
            right = self._sum()
            if not 0 <= right < 64:
                raise ValueError
            result = result << right if operator == b"<<" else result >> right
        return result

    def _sum(self) -> int:
        result = self._product()
        while self._peek() in (b"+", b"-"):
            result = result + self._product() if self._take() == b"+" else result - self._product()
        return result

    def _product(self) -> int:
        result = self._factor()
        while self._peek() in (b"*", b"/", b"%"):
            operator = self._take()
            right = self._factor()
            result = result * right if operator == b"*" else result // right if operator == b"/" else result % right
        return result

    def _factor(self) -> int:
        kind, token = self.tokens[self.at] if self.at < len(self.tokens) else ("", b"")
        self._take()
        if token == b"(":
            result = self._shift()
            self._take(b")")
            return result
        if token in (b"-", b"+"):
            return -self._factor() if token == b"-" else self._factor()
        if kind == "number":
            text = token.replace(b"'", b"")
            return int(text, 16 if text[:2].lower() == b"0x" else 8 if text[:1] == b"0" and len(text) > 1 else 10)
        if token == b"sizeof":
            self._take(b"(")
            size = _SIZES.get(self._take())
            self._take(b")")
            if size is None:
                raise ValueError
            return size
        if kind == "name":
            initial = _initial(self.parsed, token)
            found = fold(self.parsed, initial, self.depth + 1) if initial else None
            if found is not None:
                return found
        raise ValueError
