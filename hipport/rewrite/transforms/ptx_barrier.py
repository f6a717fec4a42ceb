"""Named barriers live in LDS, whose contents are unknown at first: kernels that use them prepare them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.core import Span
from hipport.rewrite.change import Change, Context, Finding
from hipport.syntax import Fragment, ParsedFile

_USE = re.compile(rb"\bhipport::named_barrier_(?:sync|arrive)\b")
_INIT = b"named_barrier_init"
_WORD = re.compile(rb"[A-Za-z_]\w*")


def initialise(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Insert ``hipport::named_barrier_init()`` at the start of every kernel that reaches a named barrier."""
    functions = list(_functions(parsed))
    reaching = _reaching(functions, parsed)
    for name, node, fragment in functions:
        body = node.child_by_field_name("body")
        if body is None or name not in reaching or not _is_kernel(parsed, fragment, node, body):
            continue
        text = parsed.data[body.start_byte + fragment.base : body.end_byte + fragment.base]
        at = body.start_byte + fragment.base + 1
        if _INIT in text or not text.startswith(b"{") or not context.shared(at):
            continue
        indent = re.match(rb"[ \t]*\r?\n([ \t]*)", text[1:])
        lead = b"\n" + indent[1] if indent else b" "
        yield context.change([context.edit(Span(at, at), lead + b"hipport::named_barrier_init();")])


def _functions(parsed: ParsedFile) -> Iterator[tuple[bytes, Node, Fragment]]:
    for fragment in parsed.fragments():
        if fragment.macro:
            continue
        stack = [fragment.root]
        while stack:
            node = stack.pop()
            if node.type == "function_definition":
                name = _name(node)
                if name:
                    yield name, node, fragment
            else:
                stack.extend(reversed(node.children))


def _name(node: Node) -> bytes:
    current = node.child_by_field_name("declarator")
    while current is not None and current.type not in ("identifier", "field_identifier"):
        current = current.child_by_field_name("declarator") or current.child_by_field_name("name")
    return (current.text or b"") if current is not None else b""


def _reaching(functions: list[tuple[bytes, Node, Fragment]], parsed: ParsedFile) -> set[bytes]:
    """Names of functions whose body names a named barrier, directly or through functions of this file."""
    words: dict[bytes, set[bytes]] = {}
    found: set[bytes] = set()
    for name, node, fragment in functions:
        text = parsed.data[node.start_byte + fragment.base : node.end_byte + fragment.base]
        words.setdefault(name, set()).update(_WORD.findall(text))
        if _USE.search(text):
            found.add(name)
    while True:
        more = {name for name, used in words.items() if name not in found and used & found}
        if not more:
            return found
        found |= more


def _is_kernel(parsed: ParsedFile, fragment: Fragment, node: Node, body: Node) -> bool:
    previous = node.prev_sibling
    begin = previous.end_byte if previous is not None else 0
    if node.parent is not None and node.parent.type == "template_declaration":
        begin = min(begin, node.parent.start_byte)
        outer = node.parent.prev_sibling
        begin = outer.end_byte if outer is not None else 0
    return b"__global__" in parsed.data[begin + fragment.base : body.start_byte + fragment.base]
