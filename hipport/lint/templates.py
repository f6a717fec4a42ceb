"""Template parameters: the template around a node, its arguments, and bounds that a static_assert gives."""

from __future__ import annotations

import re

from tree_sitter import Node

from hipport.lint.project import Function, declared_name
from hipport.lint.values import Role, Value, step_at


def template_of(function: Function, node: Node, name: bytes) -> tuple[Node, int] | None:
    """The template around a node that has ``name`` as a parameter, and its position."""
    current: Node | None = node
    while current is not None:
        listed = current.child_by_field_name("parameters") if current.type == "template_declaration" else None
        for index, parameter in enumerate(listed.named_children if listed is not None else ()):
            if parameter.type == "parameter_declaration" or parameter.type == "optional_parameter_declaration":
                declarator = parameter.child_by_field_name("declarator")
                if declarator is not None and function.source(declarator) == name:
                    return current, index
        current = current.parent
    return None


def templated_name(function: Function, template: Node) -> bytes:
    """Name of the function or class that a template declaration declares."""
    for child in template.named_children:
        if child.type in ("function_definition", "declaration"):
            declarator = child.child_by_field_name("declarator")
            return declared_name(None, function.parsed, function.fragment, declarator)
        if child.type in ("struct_specifier", "class_specifier"):
            name = child.child_by_field_name("name")
            return function.source(name).split(b"<")[0] if name is not None else b""
    return b""


def template_arguments(data: bytes, at: int) -> list[bytes]:
    """Template arguments written behind a name; empty when none are, or when it may be a comparison."""
    if data[at : at + 1] != b"<":
        return []
    depth = 0
    start = at + 1
    parts = []
    for here in range(at, min(len(data), at + 2000)):
        byte = data[here : here + 1]
        if byte in (b"<", b"(", b"["):
            depth += 1
        elif byte in (b";", b"{"):
            return []
        elif byte == b"," and depth == 1:
            parts.append(data[start:here].strip())
            start = here + 1
        elif byte in (b">", b")", b"]"):
            depth -= 1
            if depth == 0:
                return [*parts, data[start:here].strip()]
    return []


def template_bound(function: Function, node: Node, name: bytes) -> Value | None:
    """Upper bound that a static_assert around the node gives a template parameter."""
    current = node.parent
    while current is not None:
        if current.type in ("field_declaration_list", "compound_statement"):
            for child in current.named_children:
                if child.type != "static_assert_declaration":
                    continue
                text = function.source(child)
                if not re.search(rb"\b%s\b" % re.escape(name), text):
                    continue
                equal = re.findall(rb"\b%s\s*==\s*(\d+)" % re.escape(name), text)
                below = re.findall(rb"\b%s\s*<=\s*(\d+)" % re.escape(name), text)
                only = re.fullmatch(
                    rb"static_assert\s*\(\s*(?:\|\||\s|\b%s\s*(?:==|<=)\s*\d+)+(?:,.*)?\)\s*;" % re.escape(name),
                    text,
                    re.DOTALL,
                )
                if only and (equal or below):
                    highest = max(int(n) for n in (*equal, *below))
                    step = step_at(function.parsed, function.offset(child), text)
                    return Value(Role.NUMBER, None, highest, literal=True, trace=(step,))
        current = current.parent
    return None


def after_template(data: bytes, at: int) -> int:
    """Offset behind a template argument list that may follow a name."""
    match = re.compile(rb"\s*<[\w\s,:*]*>").match(data, at)
    return match.end() if match else at
