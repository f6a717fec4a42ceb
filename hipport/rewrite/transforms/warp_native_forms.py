"""What an expression or statement of a function means to the warp model `native64`: forms that proofs are made of.

Everything here answers "is provably so" or "cannot tell"; a name that is declared twice, written after its declaration,
or handed to an unknown function is never taken for its first value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from tree_sitter import Node

from hipport.rewrite.transforms.warp import is_full_mask
from hipport.rewrite.transforms.warp_hazards import Function
from hipport.syntax.constants import fold

# Integer types as wide as they are written; narrower ones are promoted and stay out.
INTEGERS: dict[bytes, tuple[int, bool]] = {
    b"int": (32, True), b"signed": (32, True), b"signed int": (32, True), b"int32_t": (32, True),
    b"unsigned": (32, False), b"unsigned int": (32, False), b"uint32_t": (32, False), b"uint": (32, False),
    b"long long": (64, True), b"long long int": (64, True), b"int64_t": (64, True),
    b"unsigned long long": (64, False), b"unsigned long long int": (64, False), b"uint64_t": (64, False),
}  # fmt: skip
_CALLED_BY_VALUE = re.compile(rb"__\w+\Z|atomic\w+\Z|min\Z|max\Z|abs\Z|hipport::\w+\Z")
_JUMPS = ("return_statement", "goto_statement", "break_statement", "continue_statement")
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")


class Form(Enum):
    """Thread-dependent values that matter to reductions."""

    THREAD = "threadIdx.x"
    LANE = "threadIdx.x % 32"
    WARP = "threadIdx.x / 32"
    BLOCK = "blockDim.x"
    WARPS = "warps of the block"


@dataclass(frozen=True)
class Name:
    """A variable or parameter of the function."""

    type: bytes  # normalised, without qualifiers, pointers or arrays
    declarator: Node
    value: Node | None
    is_parameter: bool = False
    is_pointer: bool = False
    is_shared: bool = False
    is_const: bool = False
    extent: Node | None = None
    dimensions: int = 0


class Body:
    """Names, writes and forms of one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.parsed = function.parsed
        self.node = function.node
        self.text = function.text
        self.is_kernel = b"__global__" in self.head

    @cached_property
    def head(self) -> bytes:
        """Text before the function's body."""
        body = self.node.child_by_field_name("body")
        return self.of(self.node)[: body.start_byte - self.node.start_byte] if body is not None else b""

    def of(self, node: Node) -> bytes:
        """Source of a node."""
        return self.parsed.node_text(self.function.fragment, node)

    # -- names -------------------------------------------------------------------------------------------------------
    @cached_property
    def template_types(self) -> frozenset[bytes]:
        """Type parameters of the function's template."""
        parent = self.node.parent
        parameters = parent.child_by_field_name("parameters") if parent is not None else None
        if parent is None or parent.type != "template_declaration" or parameters is None:
            return frozenset()
        return frozenset(
            self.of(child.named_children[0])
            for child in parameters.named_children
            if child.type == "type_parameter_declaration" and child.named_children
        )

    @cached_property
    def names(self) -> dict[bytes, list[Name]]:
        """Every declaration of every name of the function."""
        found: dict[bytes, list[Name]] = {}
        for node in self.function.walk("declaration", "parameter_declaration", "optional_parameter_declaration"):
            kind = node.child_by_field_name("type")
            if kind is None:
                continue
            words = {self.of(c) for c in node.children if c.type in ("type_qualifier", "storage_class_specifier")}
            for declarator in node.children_by_field_name("declarator"):
                inner: Node | None = declarator
                value, extent, dimensions, pointer = None, None, 0, False
                while inner is not None and inner.type != "identifier":
                    if inner.type == "init_declarator":
                        value = inner.child_by_field_name("value")
                    elif inner.type == "array_declarator":
                        extent, dimensions = inner.child_by_field_name("size"), dimensions + 1
                    elif inner.type in ("pointer_declarator", "reference_declarator"):
                        pointer = True
                    inner = inner.child_by_field_name("declarator") or (
                        inner.named_children[0] if inner.named_children else None
                    )
                if inner is not None:
                    name = Name(
                        b" ".join(self.of(kind).split()), inner, value, node.type != "declaration", pointer,
                        b"__shared__" in words, b"const" in words or b"constexpr" in words, extent, dimensions,
                    )  # fmt: skip
                    found.setdefault(self.of(inner), []).append(name)
        return found

    def name(self, text: bytes) -> Name | None:
        """The only declaration of a name; None when there are more or none."""
        declared = self.names.get(text, [])
        return declared[0] if len(declared) == 1 else None

    def uses(self, name: bytes) -> list[Node]:
        """Identifiers of that name, its declarator aside, in source order."""
        declared = {n.declarator.start_byte for n in self.names.get(name, [])}
        return [
            node
            for node in self.function.walk("identifier")
            if self.of(node) == name and node.start_byte not in declared
        ]

    @cached_property
    def writes(self) -> dict[bytes, list[Node]]:
        """Places where a name may change after its declaration: assignments, steps, addresses, unknown calls, asm."""
        found: dict[bytes, list[Node]] = {}
        for node in self.function.walk(
            "assignment_expression", "update_expression", "pointer_expression", "call_expression", "gnu_asm_expression",
            "lambda_expression",
        ):  # fmt: skip
            for target in self._changed(node):
                found.setdefault(self.of(target), []).append(node)
        return found

    def _changed(self, node: Node) -> Iterator[Node]:
        if node.type in ("gnu_asm_expression", "lambda_expression"):
            yield from (n for n in _descendants(node) if n.type == "identifier")
        elif node.type == "assignment_expression":
            left = node.child_by_field_name("left")
            while left is not None and left.type in ("field_expression", "parenthesized_expression"):
                left = left.child_by_field_name("argument") or left.named_children[0]
            if left is not None and left.type == "identifier":
                yield left
        elif node.type == "call_expression":
            callee, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            if arguments is not None and not (callee is not None and _CALLED_BY_VALUE.match(self.of(callee))):
                yield from (bare for a in arguments.named_children if (bare := stripped(a)).type == "identifier")
        elif node.type != "pointer_expression" or self.of(node).startswith(b"&"):
            argument = node.child_by_field_name("argument")
            if argument is not None and (bare := stripped(argument)).type == "identifier":
                yield bare

    def aliased(self, text: bytes) -> bool:
        """A pointer, reference or lambda may see the variable."""
        if any(w.type in ("pointer_expression", "lambda_expression") for w in self.writes.get(text, [])):
            return True
        bound = (name.value for names in self.names.values() for name in names if name.is_pointer)
        return any(value is not None and self.of(stripped(value)) == text for value in bound)

    def fixed(self, text: bytes) -> Node | None:
        """Initial value of a local variable that never changes."""
        name = self.name(text)
        if name is None or name.value is None or name.is_pointer or (not name.is_const and text in self.writes):
            return None
        return name.value

    # -- values ------------------------------------------------------------------------------------------------------
    def number(self, node: Node) -> int | None:
        """Value of a constant expression; ``warpSize`` is 32."""
        if any(self.of(n) in self.names for n in _descendants(node) if n.type == "identifier"):
            bare = stripped(node)
            value = self.fixed(self.of(bare)) if bare.type == "identifier" else None
            return self.number(value) if value is not None else None
        text = re.sub(rb"\bwarpSize\b", b"32", self.of(stripped(node)))
        sign = -1 if text.startswith(b"-") else 1
        folded = fold(self.parsed, text.removeprefix(b"-"))
        return None if folded is None or (sign < 0 and not text[1:].strip().isdigit()) else sign * folded

    def form(self, node: Node) -> Form | None:
        """Which of the thread-dependent forms an expression is; names that never change stand for their value."""
        node = stripped(node)
        text = self.of(node)
        if text in (b"threadIdx.x", b"blockDim.x"):
            return Form.THREAD if text == b"threadIdx.x" else Form.BLOCK
        if node.type == "identifier":
            value = self.fixed(text)
            return self.form(value) if value is not None else None
        if node.type != "binary_expression":
            return None
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        operator, number = operator_of(self, node), self.number(right)
        divides = (operator, number) in ((b"/", 32), (b">>", 5))
        base = self.form(left)
        if base is Form.THREAD:
            if divides:
                return Form.WARP
            return Form.LANE if (operator, number) in ((b"%", 32), (b"&", 31)) else None
        if divides and (base is Form.BLOCK or self._rounded_up(stripped(left))):
            return Form.WARPS
        return None

    def rounds_up(self, node: Node) -> bool:
        """A number of warps counts a last one that is not whole."""
        node = stripped(node)
        if node.type == "identifier":
            value = self.fixed(self.of(node))
            return value is not None and self.rounds_up(value)
        left = node.child_by_field_name("left")
        return left is not None and self._rounded_up(stripped(left))

    @property
    def in_anonymous_namespace(self) -> bool:
        """No other file can name the function."""
        return any(
            outer.type == "namespace_definition" and outer.child_by_field_name("name") is None
            for outer in _ancestors(self.node, self.function.fragment.root)
        )

    def _rounded_up(self, node: Node) -> bool:
        """``blockDim.x + 31``."""
        text = re.sub(rb"[\s()]|(?:int|unsigned)(?=\()", b"", re.sub(rb"\bwarpSize\b", b"32", self.of(node)))
        return text in (b"blockDim.x+31", b"blockDim.x+32-1", b"31+blockDim.x", b"blockDim.x+31u", b"blockDim.x-1+32")

    def is_zero_test(self, node: Node, form: Form) -> bool:
        """The condition is true for exactly the threads whose ``form`` is 0."""
        node = stripped(node)
        if node.type == "unary_expression" and self.of(node).startswith(b"!"):
            argument = node.child_by_field_name("argument")
            return argument is not None and self.form(argument) is form
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type != "binary_expression" or left is None or right is None or operator_of(self, node) != b"==":
            return False
        return any(self.form(a) is form and self.number(b) == 0 for a, b in ((left, right), (right, left)))

    def is_first_warp(self, node: Node) -> bool:
        """The condition is true for exactly the first 32 threads."""
        if self.is_zero_test(node, Form.WARP):
            return True
        node = stripped(node)
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type != "binary_expression" or left is None or right is None:
            return False
        return operator_of(self, node) == b"<" and self.form(left) is Form.THREAD and self.number(right) == 32

    def only_first_thread(self, node: Node) -> bool:
        """Only the first thread of the block gets to ``node``."""
        lane = warp = False
        for condition, holds in self.conditions(node):
            for part in _conjuncts(self, condition) if holds else ():
                if self.is_zero_test(part, Form.THREAD):
                    return True
                lane |= self.is_zero_test(part, Form.LANE)
                warp |= self.is_first_warp(part)
        return lane and warp

    def conditions(self, node: Node) -> Iterator[tuple[Node, bool]]:
        """Conditions of the ``if`` statements around a node, and whether they hold there."""
        child, parent = node, node.parent
        while parent is not None and child != self.node:
            if parent.type == "if_statement" and child.type != "condition_clause":
                condition = parent.child_by_field_name("condition")
                if condition is not None:
                    yield condition, child == parent.child_by_field_name("consequence")
            child, parent = parent, parent.parent

    # -- the whole block ---------------------------------------------------------------------------------------------
    def uniform(self, node: Node, seen: frozenset[bytes] = frozenset()) -> bool:
        """All threads of the block see the same value: only constants, kernel parameters and block numbers flow in."""
        node = stripped(node)
        if node.type == "number_literal" or self.of(node) in (b"true", b"false", b"warpSize"):
            return True
        if node.type == "field_expression":
            if re.fullmatch(rb"(?:blockIdx|blockDim|gridDim)\.[xyz]", self.of(node)):
                return True
            owner = node.child_by_field_name("argument")  # a member of a kernel's parameter
            return owner is not None and owner.type == "identifier" and self._uniform_name(self.of(owner), seen)
        if node.type == "identifier":
            return self._uniform_name(self.of(node), seen)
        if node.type in ("binary_expression", "unary_expression", "conditional_expression"):
            return all(self.uniform(child, seen) for child in node.named_children)
        return False

    def _uniform_name(self, text: bytes, seen: frozenset[bytes]) -> bool:
        if text in seen:
            return True  # by induction over the assignments
        if text not in self.names:
            return text in self.function.constants or fold(self.parsed, text) is not None
        name = self.name(text)
        if name is None or name.is_pointer or name.is_shared or name.dimensions:
            return False
        if name.is_parameter and not self.is_kernel:
            return False
        seen |= {text}
        values: list[Node | None] = [] if name.is_parameter and name.value is None else [name.value]
        for write in self.writes.get(text, []):
            if write.type == "update_expression":
                values.append(write.child_by_field_name("argument"))
            elif write.type == "assignment_expression":
                values.append(write.child_by_field_name("right"))
            else:
                return False
            if not self._together(write, seen):
                return False
        return all(value is not None and self.uniform(value, seen) for value in values)

    def _together(self, node: Node, seen: frozenset[bytes]) -> bool:
        """Every branch around a node is one that all threads of the block take together."""
        child, parent = node, node.parent
        while parent is not None and child != self.node:
            condition = parent.child_by_field_name("condition")
            if parent.type in ("if_statement", *_LOOPS) and child != condition:
                initial = parent.child_by_field_name("initializer")
                if child != initial and (condition is None or not self.uniform(condition, seen)):
                    return False
            elif parent.type in ("switch_statement", "lambda_expression", "conditional_expression", "for_range_loop"):
                return False
            child, parent = parent, parent.parent
        return True

    def convergent(self, node: Node) -> bool:
        """All threads of the block get to ``node`` together, none having left before."""
        if not self._together(node, frozenset()):
            return False
        loops = [outer for outer in _ancestors(node, self.node) if outer.type in _LOOPS]
        end = max((loop.end_byte for loop in loops), default=node.start_byte)
        for jump in self.function.walk(*_JUMPS):
            if jump.start_byte >= end:
                continue
            if jump.type in ("break_statement", "continue_statement"):
                inside = next((o for o in _ancestors(jump, self.node) if o.type in (*_LOOPS, "switch_statement")), None)
                if inside not in loops:
                    continue
            if not self._together(jump, frozenset()):
                return False
        return not any(self.of(label) for label in self.function.walk("labeled_statement"))


def stripped(node: Node) -> Node:
    """The expression without parentheses and casts between integer types."""
    while True:
        inner: Node | None = None
        if node.type in ("parenthesized_expression", "condition_clause"):
            inner = node.child_by_field_name("value") or (
                node.named_children[0] if node.named_child_count == 1 else None
            )
        elif node.type == "cast_expression":
            kind = node.child_by_field_name("type")
            if kind is not None and (kind.text or b"").strip() in (b"int", b"unsigned", b"unsigned int", b"size_t"):
                inner = node.child_by_field_name("value")
        if inner is None:
            return node
        node = inner


def operator_of(body: Body, node: Node) -> bytes:
    """Operator of a binary expression or assignment."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return b""
    return next((body.of(c) for c in node.children if not c.is_named and left.end_byte <= c.start_byte), b"")


def full_mask(body: Body, node: Node) -> bool:
    """The argument names all 32 lanes."""
    span = body.function.fragment.span(node)
    return is_full_mask(body.parsed, span) or body.number(node) == 0xFFFFFFFF


def only_statement(node: Node | None) -> Node | None:
    """The one statement of a block, or the statement itself."""
    if node is not None and node.type == "compound_statement":
        inner = [child for child in node.named_children if child.type != "comment"]
        return inner[0] if len(inner) == 1 else None
    return node


def _conjuncts(body: Body, condition: Node) -> Iterator[Node]:
    node = stripped(condition)
    if node.type == "binary_expression" and operator_of(body, node) == b"&&":
        for child in node.named_children:
            yield from _conjuncts(body, child)
    else:
        yield node


def _descendants(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def _ancestors(node: Node, top: Node) -> Iterator[Node]:
    current = node.parent
    while current is not None and current != top:
        yield current
        current = current.parent
