"""Reductions over the 32 lanes of a warp, in every spelling that the warp model `native64` knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tree_sitter import Node

from hipport.core import Span
from hipport.rewrite.transforms.warp_native_forms import (
    INTEGERS,
    Body,
    full_mask,
    only_statement,
    operator_of,
    stripped,
)

OPERATORS = {b"+": "add", b"&": "and", b"|": "or", b"^": "xor"}
CALLS = {b"max": "max", b"min": "min", b"::max": "max", b"::min": "min"}
_REDUCE_SYNC = re.compile(rb"__reduce_(add|min|max|and|or|xor)_sync\Z")
_SHUFFLE = re.compile(rb"__shfl_(down|xor)_sync\Z")


@dataclass(frozen=True)
class Reduction:
    """A statement or call after which lanes hold a value reduced over their warp.

    Attributes:
        span: what the call of `hipport/native.h` replaces.
        statement: statement that holds it.
        variable: gets the result.
        type: declared type of the variable.
        op: ``add``, ``min``, ``max``, ``and``, ``or`` or ``xor``.
        everywhere: all 32 lanes get the result; otherwise only the first.
        before, after: text around the function's name in the replacement.
        counts: it counts true predicates.
        exact: CUDA defines it for a warp that is not whole, which shuffles are not.
        extra: further replacements.
    """

    span: Span
    statement: Node
    variable: bytes
    type: bytes
    op: str
    everywhere: bool
    before: bytes
    after: bytes
    counts: bool = False
    exact: bool = False
    extra: tuple[tuple[Node, bytes], ...] = ()

    def text(self, function: str) -> bytes:
        """The replacement, with ``native`` (the wavefront) or ``warp`` (32 lanes)."""
        name = f"{function}_count" if self.counts else f"{function}_reduce_{self.op}"
        return self.before + b"hipport::" + name.encode() + self.after


def reductions(body: Body, helpers: dict[bytes, Reduction]) -> Iterator[Reduction]:
    """Reductions of a function in source order; ``helpers``: functions that only reduce (`warp_helpers`)."""
    skip_until = -1
    for node in body.function.walk("for_statement", "expression_statement", "init_declarator"):
        if node.start_byte < skip_until:
            continue
        found = _loop(body, node) or _unrolled(body, node) or _call(body, node, helpers)
        if found is not None:
            skip_until = found.span.end - body.function.fragment.base
            yield found


def _loop(body: Body, node: Node) -> Reduction | None:
    """``for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(full, v, o);``"""
    if node.type != "for_statement":
        return None
    initial, condition = node.child_by_field_name("initializer"), node.child_by_field_name("condition")
    update, inner = node.child_by_field_name("update"), only_statement(node.child_by_field_name("body"))
    declared = initial.child_by_field_name("declarator") if initial is not None else None
    if condition is None or update is None or inner is None or declared is None or declared.type != "init_declarator":
        return None
    name, start = declared.child_by_field_name("declarator"), declared.child_by_field_name("value")
    if name is None or start is None or body.number(start) != 16:
        return None
    offset = body.of(name)
    test = re.sub(rb"\s", b"", body.of(condition))
    step = re.sub(rb"\s", b"", body.of(update))
    if test not in (offset, offset + b">0", offset + b">=1", offset + b"!=0", b"0<" + offset):
        return None
    if step not in (offset + b">>=1", offset + b"/=2"):
        return None
    step_found = _step(body, inner)
    if step_found is None or body.of(stripped(step_found[3])) != offset:
        return None
    variable, op, kind, _ = step_found
    return _tree(body, node, node, variable, op, kind)


def _unrolled(body: Body, node: Node) -> Reduction | None:
    """Five steps with the offsets 16, 8, 4, 2, 1, one after the other."""
    if node.type != "expression_statement":
        return None
    first, last = _step(body, node), node
    if first is None or body.number(first[3]) != 16:
        return None
    for offset in (8, 4, 2, 1):
        following = last.next_named_sibling
        step = _step(body, following) if following is not None else None
        if following is None or step is None or step[:3] != first[:3] or body.number(step[3]) != offset:
            return None
        last = following
    return _tree(body, node, last, *first[:3])


def _step(body: Body, statement: Node) -> tuple[bytes, str, str, Node] | None:
    """Variable, operation, kind (``down`` or ``xor``) and offset of one step of a reduction tree."""
    node = (
        statement.named_children[0] if statement.type == "expression_statement" and statement.named_children else None
    )
    if node is None or node.type != "assignment_expression":
        return None
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "identifier":
        return None
    variable, right = body.of(left), stripped(right)
    operator = operator_of(body, node)
    shuffle: Node | None = None
    if operator != b"=":
        op, shuffle = OPERATORS.get(operator.removesuffix(b"=")), right
    elif right.type == "binary_expression":
        op = OPERATORS.get(operator_of(body, right))
        shuffle = other_operand(body, right.named_children, variable)
    else:
        arguments = right.child_by_field_name("arguments")
        op = CALLS.get(callee(body, right)) if right.type == "call_expression" else None
        shuffle = other_operand(body, arguments.named_children, variable) if arguments is not None else None
    if op is None or shuffle is None or shuffle.type != "call_expression":
        return None
    match = _SHUFFLE.match(callee(body, shuffle))
    arguments = shuffle.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    if match is None or len(values) not in (3, 4) or not full_mask(body, values[0]):
        return None
    if body.of(values[1]) != variable or (len(values) == 4 and body.number(values[3]) != 32):
        return None
    return variable, op, match[1].decode(), values[2]


def other_operand(body: Body, nodes: list[Node], variable: bytes) -> Node | None:
    """Of two operands the one that is not the variable."""
    if len(nodes) != 2:
        return None
    for mine, other in ((nodes[0], nodes[1]), (nodes[1], nodes[0])):
        if body.of(mine) == variable:
            return stripped(other)
    return None


def _tree(body: Body, first: Node, last: Node, variable: bytes, op: str, kind: str) -> Reduction | None:
    name = body.name(variable)
    if name is None or name.is_pointer or name.dimensions or name.is_shared:
        return None
    begin = first
    before = first.prev_named_sibling
    if before is not None and re.match(rb"#\s*pragma\s+unroll\b", body.of(before)):
        begin = before
    base = body.function.fragment.base
    indent = b" " * max(0, first.start_point.column - begin.start_point.column)
    return Reduction(
        Span(begin.start_byte + base, last.end_byte + base), last, variable, name.type, op, kind == "xor",
        indent + variable + b" = ", b"(" + variable + b");",
    )  # fmt: skip


def _call(body: Body, node: Node, helpers: dict[bytes, Reduction]) -> Reduction | None:
    """``T x = __reduce_add_sync(full, e)``, ``x = __popc(__ballot_sync(full, p))`` and calls of a helper."""
    if node.type == "init_declarator":
        left, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
    else:
        inner = node.named_children[0] if node.named_children else None
        if inner is None or inner.type != "assignment_expression" or operator_of(body, inner) != b"=":
            return None
        left, value = inner.child_by_field_name("left"), inner.child_by_field_name("right")
    if left is None or value is None or left.type != "identifier" or value.type != "call_expression":
        return None
    name = body.name(body.of(left))
    arguments = value.child_by_field_name("arguments")
    if name is None or arguments is None or name.is_pointer or name.dimensions:
        return None
    values, called = arguments.named_children, callee(body, value)
    statement = node.parent if node.type == "init_declarator" and node.parent is not None else node
    found = Reduction(
        body.function.fragment.span(value), statement, body.of(left), name.type, "", True, b"", b"",
    )  # fmt: skip
    reduces = _REDUCE_SYNC.match(called)
    if reduces and len(values) == 2 and full_mask(body, values[0]) and INTEGERS.get(name.type, (0, False))[0] == 32:
        text = b"<" + name.type + b">(" + body.of(values[1]) + b")"
        return replace(found, op=reduces[1].decode(), after=text, exact=True)
    if called == b"__popc" and len(values) == 1 and name.type in INTEGERS:
        ballot = stripped(values[0])
        votes = ballot.child_by_field_name("arguments")
        if ballot.type == "call_expression" and callee(body, ballot) == b"__ballot_sync" and votes is not None:
            inner_values = votes.named_children
            if len(inner_values) == 2 and full_mask(body, inner_values[0]):
                text = b"<" + name.type + b">((" + body.of(inner_values[1]) + b") != 0)"
                return replace(found, op="add", after=text, counts=True, exact=True)
    if called == b"__ballot_sync" and len(values) == 2 and full_mask(body, values[0]) and name.type in INTEGERS:
        uses = body.uses(body.of(left))
        counted = [use.parent.parent for use in uses if use.parent is not None and use.parent.parent is not None]
        if (
            counted
            and len(counted) == len(uses)
            and all(n.type == "call_expression" and callee(body, n) == b"__popc" for n in counted)
        ):
            text = b"<" + name.type + b">((" + body.of(values[1]) + b") != 0)"
            return replace(
                found, op="add", after=text, counts=True, exact=True, extra=tuple((n, body.of(left)) for n in counted)
            )
    helper = helpers.get(called)
    if (
        helper is not None
        and len(values) == 1
        and helper.type == (name.type if helper.type in INTEGERS else helper.type)
    ):
        generic = helper.type not in INTEGERS
        if generic and body.of(stripped(values[0])) != body.of(left):
            return None
        kind = name.type if generic else helper.type
        text = b"<" + kind + b">(" + body.of(values[0]) + b")"
        return replace(found, op=helper.op, everywhere=helper.everywhere, after=text)
    return None


def warp_helpers(bodies: list[Body]) -> dict[bytes, Reduction]:
    """Functions that only reduce their parameter over the warp and return it."""
    found: dict[bytes, Reduction] = {}
    ambiguous: set[bytes] = set()
    for body in bodies:
        if body.function.name in found:
            ambiguous.add(body.function.name)
        block = body.node.child_by_field_name("body")
        statements = [
            c for c in block.named_children if c.type not in ("comment", "preproc_call")
        ] if block is not None else []  # fmt: skip
        trees = list(reductions(body, {}))
        if len(trees) != 1 or not statements or statements[-1].type != "return_statement":
            continue
        tree, value = trees[0], statements[-1].named_children
        base = body.function.fragment.base
        inside = [s for s in statements[:-1] if not tree.span.start <= s.start_byte + base < tree.span.end]
        name = body.name(tree.variable)
        returns_it = len(value) == 1 and body.of(stripped(value[0])) == tree.variable
        kind = body.node.child_by_field_name("type")
        same = kind is not None and b" ".join(body.of(kind).split()) == tree.type
        typed = tree.type in INTEGERS or tree.type in body.template_types
        if not inside and returns_it and same and typed and name is not None and name.is_parameter and tree.before:
            found[body.function.name] = tree
    return {name: tree for name, tree in found.items() if name not in ambiguous}


def callee(body: Body, call: Node) -> bytes:
    """Name of the called function without template arguments."""
    node = call.child_by_field_name("function")
    if node is None:
        return b""
    if node.type == "template_function":
        node = node.child_by_field_name("name") or node
    return body.of(node)
