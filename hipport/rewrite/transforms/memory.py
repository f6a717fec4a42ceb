"""Sizes and element types of memory: arrays sized by the warp, vectors of char."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.core import Span
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.renames import code_before
from hipport.rewrite.transforms.warp import declares_warp_size
from hipport.syntax import ParsedFile, compile_query, matches

# Where C++ wants a constant.
_CONSTANT_PLACES = frozenset(
    {"template_argument_list", "static_assert_declaration", "case_statement", "enumerator", "bitfield_clause"}
)
_BOUND = "(array_declarator size: (_) @size) @root"


def warp_size_constants(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """``warpSize`` where a constant is needed: HIP's is a constant no more since ROCm 7."""
    if declares_warp_size(parsed):
        return
    for start, name in parsed.scan.identifiers:
        if name != b"warpSize" or not context.shared(start) or _is_member(parsed, start):
            continue
        macro = _macro_around(parsed, start)
        if macro is None:
            node = parsed.tree.root.descendant_for_byte_range(start, start + len(name))
            if node is None or not _wants_constant(node):
                continue
        elif not _bounds_an_array(parsed, macro):
            continue
        yield context.change([context.edit(Span(start, start + len(name)), b"32")])


def _is_member(parsed: ParsedFile, start: int) -> bool:
    return code_before(parsed, start).endswith((b".", b"->"))


def _macro_around(parsed: ParsedFile, offset: int) -> bytes | None:
    """Name of the macro in whose body ``offset`` is."""
    for directive in parsed.scan.directives:
        if directive.keyword == "define" and directive.span.start <= offset < directive.span.end:
            words = re.match(rb"\s*(\w+)", parsed.text(directive.rest))
            return words[1] if words else None
    return None


def _wants_constant(node: Node) -> bool:
    current: Node | None = node
    while current is not None:
        parent = current.parent
        if parent is None or current.type in ("compound_statement", "argument_list"):
            return False
        if parent.type == "array_declarator" and parent.child_by_field_name("size") == current:
            return True
        if parent.type in _CONSTANT_PLACES:
            return True
        if parent.type == "init_declarator":
            declaration = parent.parent
            return declaration is not None and any(
                child.type == "type_qualifier" and child.text == b"constexpr" for child in declaration.children
            )
        current = parent
    return False


def _bounds_an_array(parsed: ParsedFile, macro: bytes) -> bool:
    query = compile_query(_BOUND)
    for fragment in parsed.fragments():
        for _, found in matches(query, fragment.root):
            if re.search(rb"\b%s\b" % macro, parsed.node_text(fragment, found["size"][0])):
                return True
    return False


_CHAR_VECTOR = re.compile(rb"\bchar([1-4])\b\s*(?:const\s*)?[&*]?\s*(?:const\s*)?\b([A-Za-z_]\w*)")
_SIGNED = re.compile(rb"\bsigned\s+char\s*(?:const\s*)?[&*]|\bint8_t\s*(?:const\s*)?[&*]")


def char_vector_elements(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """A reference or pointer to ``signed char`` bound to an element of ``char1`` .. ``char4``."""
    names = {match[2] for match in _CHAR_VECTOR.finditer(parsed.data)}
    if not names or not _SIGNED.search(parsed.data):
        return
    element = re.compile(
        rb"\b(?:%s)\s*(?:\[[^\]]*\]\s*)?(?:\.|->)\s*[xyzw]\b" % b"|".join(map(re.escape, sorted(names)))
    )
    query = compile_query("[(return_statement) (init_declarator)] @root")
    for fragment in parsed.fragments():
        for _, found in matches(query, fragment.root):
            node = found["root"][0]
            text = parsed.node_text(fragment, node)
            span = fragment.span(node)
            found_element = element.search(text)
            if found_element is None or not context.shared(span.start):
                continue
            owner = parsed.facts.field_owner(span.start + found_element.end() - 1)
            if owner is not None and not re.fullmatch("char[1-4]", owner):
                continue
            if _SIGNED.search(_declared_type(parsed, fragment.base, node)):
                yield context.report(
                    span.start,
                    "elements of CUDA's char vectors are signed char, of HIP's plain char: this reference or pointer"
                    " does not bind",
                    subject="char-vector",
                )


def _declared_type(parsed: ParsedFile, base: int, node: Node) -> bytes:
    """Text of the type that ``node`` initialises: the declaration's, or the enclosing function's return type."""
    if node.type == "init_declarator":
        outer = node.parent
        start = outer.start_byte if outer is not None else node.start_byte
        value = node.child_by_field_name("value")
        return parsed.data[base + start : base + (value.start_byte if value is not None else node.end_byte)]
    function = node.parent
    while function is not None and function.type not in ("function_definition", "lambda_expression"):
        function = function.parent
    if function is None or function.type == "lambda_expression":
        return b""
    body = function.child_by_field_name("body")
    head = parsed.data[base + function.start_byte : base + (body.start_byte if body is not None else function.end_byte)]
    return head.split(b"(")[0]
