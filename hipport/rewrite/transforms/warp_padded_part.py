"""Padding some kernels of a file: which device functions go with them.

A function that counts threads is right either for padded kernels or for the others. It goes with the padded ones when
only they can call it; whatever cannot be told from the file's text is an obstacle.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from hipport.rewrite.transforms.warp_hazards import Function, functions
from hipport.syntax import ParsedFile

_COUNTS = frozenset((b"threadIdx", b"blockDim"))
_OPAQUE = re.compile(rb"(?:asm|__asm|__asm__|__barrier_sync\w*|hip(?:ThreadIdx|BlockDim)_[xyz])\Z")
_LIBRARIES = re.compile(rb"\b(?:cooperative_groups\b|hipport\s*::)|(?<![\w:])cuda\s*::\s*(?!std\b)")
_DECLARED = re.compile(rb"__device__[^;{}()]*?\b(\w+)\s*\([^;{}]*\)\s*;")


def part(parsed: ParsedFile, kernels: frozenset[bytes], others: frozenset[bytes]) -> tuple[frozenset[bytes], str]:
    """Functions to pad, ``kernels`` among them, where the kernels ``others`` stay; or why that cannot be."""
    obstacle = _outside(parsed, kernels & others)
    if obstacle:
        return frozenset(), obstacle
    text = _Text(parsed)
    padded = text.reached(kernels)
    # Not from ``others`` alone: kernels that a macro hides, or of other files, may call device functions too.
    rest = text.reached(frozenset(f.name for f in text.functions if _on_device(f)) - padded)
    counting: set[bytes] = set()
    for start, name in parsed.scan.identifiers:
        if not (name in _COUNTS or _OPAQUE.match(name)) or parsed.data[:start].rstrip().endswith((b"::", b".", b"->")):
            continue
        function = text.function_at(start)
        place = f"line {parsed.source.place(start).line}"
        if function is None or text.in_macro(start):
            return frozenset(), f"'{name.decode()}' stands outside functions or in a macro ({place})"
        if name not in _COUNTS:
            if function.name in padded or _is_member(function):
                return frozenset(), f"'{name.decode()}' in '{_shown(function)}' may count threads ({place})"
        elif not _on_device(function) or _is_member(function):
            return frozenset(), f"'{_shown(function)}', whose callers are not seen, counts threads ({place})"
        elif function.name in padded & rest:
            return frozenset(), f"'{_shown(function)}' counts threads for padded kernels and for others ({place})"
        else:
            counting.add(function.name)
    obstacle = _mentions(parsed, text, counting | kernels, padded)
    return frozenset(kernels | (counting & padded)), obstacle


class _Text:
    """Which function a place belongs to, and what functions mention."""

    def __init__(self, parsed: ParsedFile) -> None:
        self.parsed = parsed
        self.functions = sorted(functions(parsed), key=lambda f: f.offset(f.node))
        self.starts = [signature_start(f) for f in self.functions]
        self.names = frozenset(f.name for f in self.functions)
        self.kernels = {f.name for f in self.functions if b"__global__" in _head(f)}
        self.uses: dict[bytes, set[bytes]] = {}
        for start, name in parsed.scan.identifiers:
            function = self.function_at(start)
            if function is not None:
                self.uses.setdefault(function.name, set()).add(name)

    def function_at(self, offset: int) -> Function | None:
        """The function whose signature or body holds the offset."""
        at = bisect_right(self.starts, offset) - 1
        if at < 0 or offset >= self.functions[at].offset(self.functions[at].node) + len(self.functions[at].text):
            return None
        return self.functions[at]

    def reached(self, names: frozenset[bytes]) -> frozenset[bytes]:
        """Functions that these can call, by name, and these; a kernel is launched, not called."""
        found, rest = set(names), list(names)
        while rest:
            new = (self.uses.get(rest.pop(), set()) & self.names) - self.kernels - found
            found |= new
            rest.extend(new)
        return frozenset(found)

    def in_macro(self, offset: int) -> bool:
        """The place is part of a preprocessor directive."""
        data = self.parsed.data
        start = data.rfind(b"\n", 0, offset) + 1
        while start and data[:start].rstrip(b"\r\n").endswith(b"\\"):
            start = data.rfind(b"\n", 0, start - 1) + 1
        return data[start:offset].lstrip().startswith(b"#")


def signature_start(function: Function) -> int:
    """Where a function starts, with a template head."""
    top = function.node.parent
    return function.offset(top if top is not None and top.type == "template_declaration" else function.node)


def _outside(parsed: ParsedFile, overloads: frozenset[bytes]) -> str:
    """What the file uses that may count threads where we do not see it."""
    if overloads:
        return f"other kernels have the name '{min(overloads).decode()}' too"
    if any(i.path.startswith('"') or ".cuh" in i.path for i in parsed.scan.includes):
        return "it includes files whose functions may count threads"
    if _LIBRARIES.search(parsed.data):
        return "it uses library code that counts threads itself"
    return ""


def _mentions(parsed: ParsedFile, text: _Text, counting: set[bytes], padded: frozenset[bytes]) -> str:
    """A function that counts threads is named where not only a call can be meant."""
    elsewhere = set(_DECLARED.findall(parsed.data)) - text.names
    for start, name in parsed.scan.identifiers:
        function = text.function_at(start)
        place = f"line {parsed.source.place(start).line}"
        if name in elsewhere and function is not None and function.name in padded:
            return f"'{name.decode()}', which another file defines, may count threads ({place})"
        if name not in counting:
            continue
        if text.in_macro(start):
            return f"a macro names '{name.decode()}' ({place})"
        follows = parsed.data[start + len(name) : start + len(name) + 40].lstrip()[:1]
        is_kernel = name in text.kernels
        if not is_kernel and (follows not in (b"(", b"<") or (function is not None and not _on_device(function))):
            return f"'{name.decode()}' is handed on, so that its callers are not seen ({place})"
    return ""


def _head(function: Function) -> bytes:
    """A function's signature with what stands before it, which the parser does not always take for a part of it."""
    top = function.node.parent
    outer = top if top is not None and top.type == "template_declaration" else function.node
    previous, body = outer.prev_sibling, function.node.child_by_field_name("body")
    begin = function.offset(outer) if previous is None else previous.end_byte + function.fragment.base
    return function.parsed.data[begin : function.offset(body) if body is not None else function.offset(outer)]


def _on_device(function: Function) -> bool:
    head = _head(function)
    return b"__device__" in head or b"__global__" in head


def _is_member(function: Function) -> bool:
    """A method, or an operator: called without its name, or through an object."""
    node = function.node.parent
    while node is not None:
        if node.type in ("class_specifier", "struct_specifier", "union_specifier"):
            return True
        node = node.parent
    return not function.name or b"operator" in function.text.split(b"{")[0] or b"::" in _declarator(function)


def _declarator(function: Function) -> bytes:
    """The function's declarator up to its parameters."""
    node = function.node.child_by_field_name("declarator")
    text = b"" if node is None else function.parsed.node_text(function.fragment, node)
    return text.split(b"(")[0]


def _shown(function: Function) -> str:
    return function.name.decode("utf-8", "replace") or _declarator(function).decode("utf-8", "replace")
