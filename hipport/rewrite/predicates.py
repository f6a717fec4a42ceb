"""Preconditions of rules. Each answers yes, no or None for "cannot know"; None blocks the edit and is reported."""

from __future__ import annotations

import re
from collections.abc import Callable

from tree_sitter import Node

from hipport.core.facts import Side
from hipport.syntax import Fragment, ParsedFile
from hipport.syntax.blanking import DEVICE_AND_HOST, DEVICE_ONLY

Predicate = Callable[[ParsedFile, Fragment, Node], bool | None]

_FUNCTIONS = ("function_definition", "lambda_expression")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_DEVICE_WORDS = DEVICE_ONLY | DEVICE_AND_HOST | {b"__device__", b"__global__"}
_HOST_WORDS = frozenset([b"__host__"])
# Words before a function's name that say nothing about where it runs.
_PLAIN = frozenset(
    b"static inline constexpr consteval extern virtual explicit friend const volatile unsigned signed auto void int"
    b" bool float double char short long template typename class struct typedef noexcept override final operator"
    b" __forceinline__ __inline__ __inline __noinline__ __launch_bounds__ C decltype".split()
)


def enclosing_function(node: Node) -> Node | None:
    """Innermost function definition or lambda around ``node``."""
    current: Node | None = node
    while current is not None:
        if current.type in _FUNCTIONS:
            return current
        current = current.parent
    return None


def runs_on_device(parsed: ParsedFile, fragment: Fragment, node: Node) -> bool | None:
    """Whether the code around ``node`` is compiled for the device; None in a macro or behind an unknown macro."""
    function = enclosing_function(node)
    if function is not None and function.type == "function_definition" and not fragment.macro:
        side = parsed.facts.side_at(node.start_byte)
        if side is not None:
            return side is not Side.HOST
    while function is not None:
        verdict = _annotated(parsed, fragment, function)
        if verdict is not False:
            return verdict
        if function.type == "lambda_expression":  # an unannotated lambda runs where its function runs
            outer = function.parent
            function = enclosing_function(outer) if outer is not None else None
            continue
        if fragment.macro:
            return None
        return False
    return None if fragment.macro else False


def _annotated(parsed: ParsedFile, fragment: Fragment, function: Node) -> bool | None:
    """Device annotation of one function: True, False (none), or None (an unknown all-capitals macro stands there)."""
    body = function.child_by_field_name("body")
    end = body.start_byte if body is not None else function.end_byte
    start = function.start_byte
    previous = function.prev_sibling
    if function.type == "function_definition":
        # Annotations that were blanked for the parser lie before the node.
        start = previous.end_byte if previous is not None else 0
        if function.parent is not None and function.parent.type == "template_declaration":
            start = min(start, function.parent.start_byte)
    if fragment.macro and start + fragment.base < fragment.limits.start:
        if (
            function.parent is not None
            and function.parent.type == "translation_unit"
            and fragment.text.startswith(b"void f(){")
        ):
            return None  # the function we wrapped around a macro body
        start = fragment.limits.start - fragment.base
    head = parsed.data[start + fragment.base : end + fragment.base]
    words = set(_WORD.findall(head))
    if words & _DEVICE_WORDS:
        return True
    if words & _HOST_WORDS:
        return False
    declarator = function.child_by_field_name("declarator")
    before_name = parsed.data[start + fragment.base : (declarator.start_byte if declarator else start) + fragment.base]
    suspicious = [
        word
        for word in _WORD.findall(before_name)
        if word not in _PLAIN and re.search(rb"DEVICE|GLOBAL|KERNEL|INLINE|HD\b|FUNC", word) and word.upper() == word
    ]
    return None if suspicious else False


def _in_device_code(parsed: ParsedFile, fragment: Fragment, node: Node) -> bool | None:
    return runs_on_device(parsed, fragment, node)


def _in_host_code(parsed: ParsedFile, fragment: Fragment, node: Node) -> bool | None:
    device = runs_on_device(parsed, fragment, node)
    return None if device is None else not device


def _in_macro_body(parsed: ParsedFile, fragment: Fragment, node: Node) -> bool | None:
    return bool(fragment.macro)


def _not_in_macro_body(parsed: ParsedFile, fragment: Fragment, node: Node) -> bool | None:
    return not fragment.macro


def _in_function(parsed: ParsedFile, fragment: Fragment, node: Node) -> bool | None:
    if fragment.macro:
        return None
    return enclosing_function(node) is not None


def _at_file_scope(parsed: ParsedFile, fragment: Fragment, node: Node) -> bool | None:
    inside = _in_function(parsed, fragment, node)
    return None if inside is None else not inside


REGISTRY: dict[str, Predicate] = {
    "in_device_code": _in_device_code,
    "in_host_code": _in_host_code,
    "in_macro_body": _in_macro_body,
    "not_in_macro_body": _not_in_macro_body,
    "in_function": _in_function,
    "at_file_scope": _at_file_scope,
}
