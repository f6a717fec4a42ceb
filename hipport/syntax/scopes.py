"""Names that the text declares inside its own classes, enumerations and namespaces, told from the syntax tree alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tree_sitter import Node

from hipport.core import Span

_DECLARATORS = frozenset(
    (
        "pointer_declarator", "reference_declarator", "function_declarator", "init_declarator", "array_declarator",
        "attributed_declarator", "parenthesized_declarator",
    )
)  # fmt: skip
_DECLARATIONS = frozenset(("field_declaration", "declaration", "function_definition", "type_definition"))
_TYPES = frozenset(("class_specifier", "struct_specifier", "union_specifier", "enum_specifier"))
# Bytes before a declared name: the end of its type, or of a pointer's or reference's sign. An enumerator has others.
_TYPE_END = re.compile(rb"[\w*&>{,]\s*\Z")
_OWNER_OF_BODY = re.compile(rb"(\w+)\s*::\s*~?\w+\s*\Z")


@dataclass(frozen=True, slots=True)
class OwnScope:
    """A scope in which a name means the program's own declaration.

    Attributes:
        declared: offset of the name in its declaration.
        statement: offset of the declaration; a type before the name is still looked up outside.
        body: from brace to brace.
        owner: name of the class; empty for a namespace or an enumeration.
        namespace: name of the namespace; empty for a class or an enumeration.
    """

    declared: int
    statement: int
    body: Span
    owner: bytes = b""
    namespace: bytes = b""

    def holds(self, offset: int) -> bool:
        """Whether an unqualified use at ``offset`` finds this declaration: in a class also before it."""
        if not self.body.start <= offset < self.body.end:
            return False
        return offset >= self.declared or (bool(self.owner) and offset < self.statement)


def own_scopes(root: Node, data: bytes, places: Sequence[int], length: int) -> tuple[OwnScope, ...]:
    """Scopes below ``root`` that declare the name which stands at ``places`` and is ``length`` bytes long."""
    found = (
        _scope(root.descendant_for_byte_range(start, start + length), data, start)
        for start in places
        if _TYPE_END.search(data, max(0, start - 40), start)
    )
    return tuple(scope for scope in found if scope is not None)


def continued(root: Node, data: bytes, offset: int, scopes: Sequence[OwnScope]) -> bool:
    """Whether one of ``scopes`` goes on at ``offset``: a member function outside its class, a namespace once more."""
    owners = {scope.owner for scope in scopes if scope.owner}
    namespaces = {scope.namespace for scope in scopes if scope.namespace and scope.declared < offset}
    node = root.descendant_for_byte_range(offset, offset)
    while node is not None:
        if node.type == "function_definition":
            body, declarator = node.child_by_field_name("body"), node.child_by_field_name("declarator")
            while declarator is not None and declarator.type != "qualified_identifier":
                declarator = declarator.child_by_field_name("declarator")
            if body is not None and declarator is not None and body.start_byte <= offset:
                owner = _OWNER_OF_BODY.search(data[declarator.start_byte : declarator.end_byte])
                if owner is not None and owner[1] in owners:
                    return True
        elif node.type == "namespace_definition" and (name := node.child_by_field_name("name")) is not None:
            again = data[name.start_byte : name.end_byte] in namespaces
            if again:
                return True
        node = node.parent
    return False


def _scope(node: Node | None, data: bytes, start: int) -> OwnScope | None:
    if node is None or node.start_byte != start or node.parent is None:
        return None
    parent: Node = node.parent
    if parent.type == "enumerator" and parent.child_by_field_name("name") == node:
        enumeration = parent.parent.parent if parent.parent is not None else None
        if enumeration is None:
            return None
        if any(child.type in ("class", "struct") for child in enumeration.children):
            body = enumeration.child_by_field_name("body")
            return None if body is None else OwnScope(start, start, Span(body.start_byte, body.end_byte))
        return _container(enumeration, data, start)
    if parent.type in _TYPES or parent.type == "alias_declaration":
        named = parent.child_by_field_name("name") == node
        whole = parent.type == "alias_declaration" or parent.child_by_field_name("body") is not None
        return _container(parent, data, start) if named and whole else None
    while parent.type in _DECLARATORS:
        if parent.child_by_field_name("declarator") not in (node, None) or parent.parent is None:
            return None
        node, parent = parent, parent.parent
    if parent.type not in _DECLARATIONS or node not in parent.children_by_field_name("declarator"):
        return None
    return _container(parent, data, start)


def _container(declaration: Node, data: bytes, start: int) -> OwnScope | None:
    """The class or namespace right around a declaration; None for the file, a function, ``extern "C"``, a friend."""
    node = declaration.parent
    while node is not None and (
        node.type in ("template_declaration", "declaration", "field_declaration") or node.type.startswith("preproc_")
    ):
        node = node.parent
    if node is None or node.parent is None:
        return None
    owner = node.parent
    body = Span(node.start_byte, node.end_byte)
    if node.type == "field_declaration_list":
        name = owner.child_by_field_name("name")
        text = data[name.start_byte : name.end_byte] if name is not None else b"?"
        return OwnScope(start, declaration.start_byte, body, text)
    if node.type == "declaration_list" and owner.type == "namespace_definition":
        name = owner.child_by_field_name("name")
        if name is None:  # what is in it is seen around it too
            outer = owner.parent
            body = Span(0, len(data)) if outer is None else Span(outer.start_byte, outer.end_byte)
        text = data[name.start_byte : name.end_byte] if name is not None else b""
        return OwnScope(start, declaration.start_byte, body, namespace=text)
    return None
