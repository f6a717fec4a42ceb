"""Proof obligations of the warp model `native64`: what becomes of a reduction's result."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.core import Edit
from hipport.rewrite.change import Context
from hipport.rewrite.transforms.warp_native_forms import (
    INTEGERS,
    Body,
    Form,
    Name,
    only_statement,
    operator_of,
    stripped,
)
from hipport.rewrite.transforms.warp_native_trees import CALLS, OPERATORS, Reduction, callee, other_operand
from hipport.syntax import ParsedFile, compile_query, matches
from hipport.syntax.constants import fold

_EXTREMES = {
    (32, True): (b"INT_MIN", b"INT_MAX"),
    (32, False): (b"0", b"UINT_MAX"),
    (64, True): (b"LLONG_MIN", b"LLONG_MAX"),
    (64, False): (b"0", b"ULLONG_MAX"),
}
_LOOPS = ("for_statement", "while_statement", "do_statement", "for_range_loop")
_COUNTS = frozenset((b"int", b"unsigned", b"size_t", b"uint32_t", b"int32_t", b"long", b"short"))
_LAUNCH = """
(call_expression
  function: (_) @kernel
  (kernel_call_syntax) @configuration
  arguments: (argument_list) @arguments) @root
"""
_CODE = re.compile(rb'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)  # comments and strings
_EXIT = re.compile(rb'"[^"\n]*\bexit\s*;')
_ATOMIC = re.compile(rb"atomic(Add|Min|Max|And|Or|Xor)\Z")


class UnprovedError(Exception):
    """An obligation that could not be proved; its text says which."""


def handed_on(
    body: Body, context: Context, tree: Reduction, trees: list[Reduction], bodies: list[Body]
) -> tuple[list[Edit], Reduction | None]:
    """Edits of a reduction whose result leaves each warp through its first lane, and the second stage's tree.

    Raises:
        UnprovedError: an obligation does not hold, or cannot be seen to hold.
    """
    if tree.type not in INTEGERS and tree.type not in body.template_types:
        raise UnprovedError(f"'{tree.variable.decode()}' is no integer, so its sum depends on the order of the steps")
    if tree.type not in INTEGERS and tree.op in ("min", "max"):
        raise UnprovedError(f"'{tree.type.decode()}' may be a float, whose extremes depend on the order for NaN")
    if _EXIT.search(body.parsed.data):
        raise UnprovedError("a thread of the file may leave through PTX exit")
    if not body.convergent(tree.statement):
        raise UnprovedError("not every thread of the block gets there together, or that cannot be seen")
    use = _only_use(body, tree)
    guard = _guarded_statement(body, tree, use)
    condition = guard.child_by_field_name("condition")
    statement = only_statement(guard.child_by_field_name("consequence"))
    expression = statement.named_children[0] if statement is not None and statement.named_children else None
    assert condition is not None
    kind = tree.type
    edits = [
        context.edit(tree.span, tree.text("native")),
        context.edit(body.function.fragment.span(condition), b"(hipport::native_lane<" + kind + b">() == 0)"),
    ]
    edits += [context.edit(body.function.fragment.span(node), text) for node, text in tree.extra]
    if expression is not None and expression.type == "call_expression":
        _check_atomic(body, tree, expression)
        _check_callers(body, None, bodies)
        return edits, None
    if expression is None or expression.type != "assignment_expression" or operator_of(body, expression) != b"=":
        raise UnprovedError("the first lane does something else than to store or add its result")
    left, right = expression.child_by_field_name("left"), expression.child_by_field_name("right")
    if right is None or not _is_result(body, tree, right):
        raise UnprovedError("the first lane does something else than to store or add its result")
    array, index = _subscript(body, left)
    if index is None or body.form(index) is not Form.WARP:
        raise UnprovedError("the result is stored elsewhere than in an array with one element per warp")
    partial = body.name(array)
    if partial is None or not partial.is_shared or partial.dimensions != 1 or partial.type != kind:
        raise UnprovedError(f"'{array.decode()}' is no shared array of {kind.decode()} in this function")
    if partial.extent is None and len(re.findall(rb"\bextern\s+__shared__|__shared__\s+extern\b", body.text)) != 1:
        raise UnprovedError(f"'{array.decode()}' shares its memory with another array")
    edits.append(context.edit(body.function.fragment.span(index), b"hipport::native_warp<" + kind + b">()"))
    more, second = _second_stage(body, context, tree, array, partial, guard, trees, bodies)
    if partial.extent is not None:
        edits.append(_bound_edit(body, context, kind, partial.extent))
    return edits + more, second


def _only_use(body: Body, tree: Reduction) -> Node:
    """The only use of the result before the variable gets another value."""
    if body.aliased(tree.variable):
        raise UnprovedError(f"'{tree.variable.decode()}' may be reached by another name")
    uses = list(_reached(body, tree))
    if len(uses) != 1:
        raise UnprovedError(f"'{tree.variable.decode()}' is used in {len(uses)} places after the reduction")
    name = body.name(tree.variable)
    loop = next((n for n in _outer(tree.statement, body.node) if n.type in _LOOPS), None)
    if loop is not None and name is not None and name.declarator.start_byte < loop.start_byte:
        raise UnprovedError(f"'{tree.variable.decode()}' lives on in the next round of a loop")
    return uses[0]


def _outer(node: Node, top: Node) -> Iterator[Node]:
    current = node.parent
    while current is not None and current != top:
        yield current
        current = current.parent


def _reached(body: Body, tree: Reduction) -> Iterator[Node]:
    """Uses of the variable that may see the reduction's result."""
    end = tree.span.end - body.function.fragment.base
    pattern = re.compile(rb"\b" + tree.variable + rb"\b")
    overwriting: list[tuple[Node, Node]] = []  # an assignment that does not depend on the value, and its target
    for statement in body.function.walk("expression_statement"):
        inner = statement.named_children[0] if statement.named_children else None
        if statement.start_byte < end or inner is None or inner.type != "assignment_expression":
            continue
        left, right = inner.child_by_field_name("left"), inner.child_by_field_name("right")
        if left is None or right is None or operator_of(body, inner) != b"=" or body.of(left) != tree.variable:
            continue
        if not pattern.search(body.of(right)):
            overwriting.append((statement, left))
    for use in body.uses(tree.variable):
        if use.start_byte < end or any(use == left for _, left in overwriting):
            continue
        around = set(_outer(use, body.node))
        if not any(s.end_byte <= use.start_byte and s.parent in around for s, _ in overwriting):
            yield use


def _guarded_statement(body: Body, tree: Reduction, use: Node) -> Node:
    """The ``if`` beside the reduction that lets only first lanes use its result."""
    guard = next((n for n in _outer(use, body.node) if n.type == "if_statement"), None)
    condition = guard.child_by_field_name("condition") if guard is not None else None
    if guard is None or condition is None or guard.parent != tree.statement.parent:
        raise UnprovedError(f"'{tree.variable.decode()}' is used by other lanes than the first of each warp")
    if not body.is_zero_test(condition, Form.LANE) or guard.child_by_field_name("alternative") is not None:
        raise UnprovedError(f"'{tree.variable.decode()}' is used by other lanes than the first of each warp")
    if only_statement(guard.child_by_field_name("consequence")) is None:
        raise UnprovedError("the first lane of each warp does more than to hand on its result")
    return guard


def _subscript(body: Body, node: Node | None) -> tuple[bytes, Node | None]:
    if node is None or node.type != "subscript_expression":
        return b"", None
    base, indices = node.child_by_field_name("argument"), node.child_by_field_name("indices")
    if base is None or indices is None or base.type != "identifier" or indices.named_child_count != 1:
        return b"", None
    return body.of(base), indices.named_children[0]


def _is_result(body: Body, tree: Reduction, node: Node) -> bool:
    """The expression is the result as it is: the variable, or the count of a ballot in it."""
    if tree.extra:
        return node == tree.extra[0][0]
    return body.of(node) == tree.variable


def _check_atomic(body: Body, tree: Reduction, call: Node) -> None:
    """``atomicAdd(address, v)`` whose address is the same in the whole block."""
    match, arguments = _ATOMIC.match(callee(body, call)), call.child_by_field_name("arguments")
    values = arguments.named_children if arguments is not None else []
    if match is None or len(values) != 2 or match[1].decode().lower() != tree.op:
        raise UnprovedError("the first lane calls something else than the atomic of the same operation")
    if re.search(rb"\b" + tree.variable + rb"\b", body.of(values[0])):
        raise UnprovedError("the atomic's address depends on the result")
    if not _is_result(body, tree, values[1]):
        raise UnprovedError("the atomic does not take the result as it is")
    target, width = _address(body, values[0]), INTEGERS.get(tree.type, (0, False))[0]
    if target is None or target.type not in INTEGERS:
        raise UnprovedError("the atomic's address is not seen to be one integer for the whole block")
    if tree.op in ("min", "max") and INTEGERS[target.type] != INTEGERS.get(tree.type):
        raise UnprovedError("the atomic compares another type than the reduction")
    if not tree.counts and INTEGERS[target.type][0] > width:
        raise UnprovedError("the atomic is wider than the sums that it gets, which may wrap around")


def _address(body: Body, node: Node) -> Name | None:
    """Variable that an address means one uniform element of."""
    node = stripped(node)
    if node.type == "identifier":
        name = body.name(body.of(node))
        return name if name is not None and name.is_pointer and name.is_parameter and body.is_kernel else None
    if node.type == "binary_expression" and operator_of(body, node) == b"+":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        return _address(body, left) if left is not None and right is not None and body.uniform(right) else None
    if node.type == "pointer_expression" and body.of(node).startswith(b"&"):
        inner = node.child_by_field_name("argument")
        array, index = _subscript(body, inner)
        if inner is not None and inner.type == "identifier":
            name = body.name(body.of(inner))
            return name if name is not None and name.is_shared and not name.dimensions else None
        name = body.name(array)
        if name is None or index is None or not body.uniform(index):
            return None
        if body.of(stripped(index)) and name.is_shared and name.dimensions == 1:
            return name
        return name if name.is_pointer and name.is_parameter and body.is_kernel else None
    return None


def _second_stage(
    body: Body,
    context: Context,
    tree: Reduction,
    array: bytes,
    partial: Name,
    guard: Node,
    trees: list[Reduction],
    bodies: list[Body],
) -> tuple[list[Edit], Reduction | None]:
    """Edits where the partial results are read, all of them combined by the same operation."""
    reads = [use for use in body.uses(array) if not guard.start_byte <= use.start_byte < guard.end_byte]
    if not reads or reads[0].start_byte < guard.end_byte:
        raise UnprovedError(f"'{array.decode()}' is used before the partial results are in it")
    _barrier_between(body, guard, reads[0])
    found = _guarded_read(body, tree, array, partial, reads[0])
    if found is None:
        bound = _serial_sum(body, tree, array, partial, reads)
        _check_callers(body, None, bodies)
        return [_bound_edit(body, context, tree.type, bound)], None
    bound, variable, statement = found
    second = next((t for t in trees if t.variable == variable and t.statement.start_byte >= statement.end_byte), None)
    if second is None or second.op != tree.op or second.type != tree.type:
        raise UnprovedError("the partial results are not seen to be combined by the same operation")
    _same_warp(body, statement, second)
    between = [u for u in body.uses(variable) if statement.end_byte <= u.start_byte < _start(body, second)]
    if between:
        raise UnprovedError(f"'{variable.decode()}' is used before the second reduction")
    _later_reads(body, array, reads[1:], second)
    returned = _check_result(body, second)
    _check_callers(body, None if second.everywhere or not returned else second, bodies)
    edits = [_bound_edit(body, context, tree.type, bound), context.edit(second.span, second.text("warp"))]
    return edits, second


def _start(body: Body, tree: Reduction) -> int:
    return min(tree.span.start - body.function.fragment.base, tree.statement.start_byte)


def _bound_edit(body: Body, context: Context, kind: bytes, bound: Node) -> Edit:
    text = b"hipport::native_warps<" + kind + b">(" + body.of(bound) + b")"
    return context.edit(body.function.fragment.span(bound), text)


def _barrier_between(body: Body, guard: Node, read: Node) -> None:
    for call in body.function.walk("call_expression"):
        if (
            guard.end_byte <= call.start_byte
            and call.end_byte <= read.start_byte
            and body.of(call) == b"__syncthreads()"
        ):
            statement = call.parent
            if statement is not None and statement.parent == guard.parent:
                return
    raise UnprovedError("no __syncthreads() is seen between the partial results and their use")


def _guarded_read(
    body: Body, tree: Reduction, array: bytes, partial: Name, read: Node
) -> tuple[Node, bytes, Node] | None:
    """``x = thread < warps ? array[thread] : neutral``: the bound, x and the statement."""
    choice = next((n for n in _outer(read, body.node) if n.type == "conditional_expression"), None)
    if choice is None:
        return None
    condition, yes = choice.child_by_field_name("condition"), choice.child_by_field_name("consequence")
    no, owner = choice.child_by_field_name("alternative"), choice.parent
    if condition is None or yes is None or no is None or owner is None:
        return None
    test, (found, index) = stripped(condition), _subscript(body, stripped(yes))
    if found != array or index is None or test.type != "binary_expression" or operator_of(body, test) != b"<":
        raise UnprovedError("the partial results are read in an unknown way")
    left, bound = test.child_by_field_name("left"), test.child_by_field_name("right")
    if left is None or bound is None:
        raise UnprovedError("the partial results are read in an unknown way")
    forms = body.form(left), body.form(index)
    if forms not in ((Form.THREAD, Form.THREAD), (Form.THREAD, Form.LANE), (Form.LANE, Form.LANE)):
        raise UnprovedError("the partial results are not read by the first threads in order")
    _check_bound(body, tree, bound, partial)
    if not _neutral(body, tree, no):
        raise UnprovedError(f"'{body.of(no).decode()}' is not seen to be neutral for the operation")
    while owner is not None and owner.type == "parenthesized_expression":
        owner = owner.parent
    target = None
    if owner is not None and owner.type == "init_declarator":
        target = owner.child_by_field_name("declarator")
    elif owner is not None and owner.type == "assignment_expression" and operator_of(body, owner) == b"=":
        target = owner.child_by_field_name("left")
    name = body.name(body.of(target)) if target is not None and target.type == "identifier" else None
    if target is None or name is None or name.type != tree.type or owner is None or owner.parent is None:
        raise UnprovedError("the partial results go elsewhere than to a variable of their type")
    return bound, body.of(target), owner.parent


def _check_bound(body: Body, tree: Reduction, bound: Node, partial: Name) -> None:
    """The bound is the number of warps: computed from blockDim, or the extent of the array.

    A constant that is also the array's extent is the number of warps in every correct run: with more warps they would
    store out of bounds, with fewer an element would be read that nobody wrote. blockDim.x / 32 rounds down:
    a last warp that is not whole is then left out, which matters where the reduction is defined for such a warp.
    """
    if body.form(bound) is Form.WARPS:
        if not tree.exact or body.rounds_up(bound):
            return
        raise UnprovedError("a last warp that is not whole would be left out of the partial results")
    if partial.extent is not None and _same_constant(body, bound, partial.extent):
        return
    number = body.number(bound)
    if number is None or partial.extent is None or number != body.number(partial.extent):
        raise UnprovedError(f"'{body.of(bound).decode()}' is not seen to be the number of warps")


def _same_constant(body: Body, bound: Node, extent: Node) -> bool:
    """The bound is written like the array's extent, of names from outside the function."""
    one, other = (b"".join(body.of(stripped(node)).split()) for node in (bound, extent))
    return one == other and not any(name in body.names for name in re.findall(rb"[A-Za-z_]\w*", one))


def _neutral(body: Body, tree: Reduction, node: Node) -> bool:
    node = stripped(node)
    text = re.sub(rb"\s", b"", body.of(node))
    constructed = re.fullmatch(rb"(\w+)[({](-?\w*)[)}]", text)
    if constructed and constructed[1] == tree.type:
        text = constructed[2] or b"0"
    width, signed = INTEGERS.get(tree.type, (0, False))
    if tree.op in ("add", "or", "xor"):
        return bool(re.fullmatch(rb"0(?:x0+)?[uUlL]*", text))
    if tree.op == "and":
        return text in (b"-1", b"~0", b"~0u", b"~0U") or (
            width == 32 and bool(re.fullmatch(rb"0[xX][fF]{8}[uU]?", text))
        )
    if not width:
        return False
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if signed else (0, (1 << width) - 1)
    if text == _EXTREMES[(width, signed)][tree.op == "min"]:
        return True
    if tree.op == "max" and signed and width == 32 and text in (b"-2147483647-1", b"-2147483648", b"0x80000000"):
        return True
    return body.number(node) == (low if tree.op == "max" else high)


def _same_warp(body: Body, statement: Node, second: Reduction) -> None:
    """Around the read and the second reduction stand no branches but those of the first warp."""
    for node in (statement, second.statement):
        for outer in _outer(node, body.node):
            condition = outer.child_by_field_name("condition")
            if outer.type != "if_statement" or condition is None:
                continue
            if not body.is_first_warp(condition) and not body.uniform(condition):
                raise UnprovedError("not the first warp as a whole does the second reduction")


def _later_reads(body: Body, array: bytes, reads: list[Node], second: Reduction) -> None:
    """Later uses of the array see only what the first thread stored there after the second reduction."""
    stored = False
    for read in reads:
        owner = read.parent
        found, index = _subscript(body, owner)
        if read.start_byte < second.statement.end_byte or found != array or index is None or body.number(index) != 0:
            raise UnprovedError(f"'{array.decode()}' is read in another place too")
        parent = owner.parent if owner is not None else None
        stores = parent is not None and parent.type == "assignment_expression" and (
            parent.child_by_field_name("left") == owner and operator_of(body, parent) == b"="
        )  # fmt: skip
        if stores and body.only_first_thread(read):
            stored = True
        elif not stored or stores:
            raise UnprovedError(f"'{array.decode()}' is read in another place too")


def _check_result(body: Body, second: Reduction) -> bool:
    """Lanes that do not get the result do not use it; returns whether the function returns it."""
    returned = False
    end = second.statement.end_byte
    for use in body.uses(second.variable):
        if use.start_byte < end or second.everywhere:
            continue
        if use.parent is not None and use.parent.type == "return_statement":
            returned = True
        elif not body.only_first_thread(use):
            raise UnprovedError(
                f"'{second.variable.decode()}' is used by lanes that get no result from the second reduction"
            )
    return returned


def _serial_sum(body: Body, tree: Reduction, array: bytes, partial: Name, reads: list[Node]) -> Node:
    """``for (int i = 0; i < warps; ++i) acc += array[i];``, or from 1 with ``acc = array[0]`` before: the bound."""
    loop = next((n for n in _outer(reads[-1], body.node) if n.type == "for_statement"), None)
    if loop is None:
        raise UnprovedError(f"'{array.decode()}' is read in an unknown way")
    initial, condition = loop.child_by_field_name("initializer"), loop.child_by_field_name("condition")
    update, inner = loop.child_by_field_name("update"), only_statement(loop.child_by_field_name("body"))
    declared = initial.child_by_field_name("declarator") if initial is not None else None
    counter = declared.child_by_field_name("declarator") if declared is not None else None
    start = declared.child_by_field_name("value") if declared is not None else None
    expression = inner.named_children[0] if inner is not None and inner.named_children else None
    if counter is None or start is None or condition is None or update is None or expression is None:
        raise UnprovedError(f"'{array.decode()}' is read in an unknown way")
    name, test = body.of(counter), stripped(condition)
    bound, first = test.child_by_field_name("right"), body.number(start)
    left = test.child_by_field_name("left")
    if bound is None or left is None or operator_of(body, test) != b"<" or body.of(stripped(left)) != name:
        raise UnprovedError(f"'{array.decode()}' is read in an unknown way")
    if re.sub(rb"\s", b"", body.of(update)) not in (b"++" + name, name + b"++", name + b"+=1"):
        raise UnprovedError(f"'{array.decode()}' is read in an unknown way")
    target, element = _accumulation(body, expression, tree.op)
    found, index = _subscript(body, element)
    if found != array or index is None or body.of(index) != name or target is None:
        raise UnprovedError("the partial results are not seen to be combined by the same operation")
    accumulator = body.name(target)
    if accumulator is None or accumulator.type != tree.type or accumulator.is_pointer or accumulator.dimensions:
        raise UnprovedError("the partial results go elsewhere than to a variable of their type")
    expected = 1 if first == 0 else 2
    if first not in (0, 1) or len(reads) != expected:
        raise UnprovedError(f"'{array.decode()}' is read in another place too")
    if first == 1:
        _first_element(body, array, reads[0], target, loop)
    _check_bound(body, tree, bound, partial)
    return bound


def _accumulation(body: Body, expression: Node, op: str) -> tuple[bytes | None, Node | None]:
    """Variable and operand of ``acc += x``, ``acc = max(acc, x)`` and the like."""
    left, right = expression.child_by_field_name("left"), expression.child_by_field_name("right")
    if expression.type != "assignment_expression" or left is None or right is None or left.type != "identifier":
        return None, None
    operator, name = operator_of(body, expression), body.of(left)
    if operator != b"=":
        return (name, right) if OPERATORS.get(operator.removesuffix(b"=")) == op else (None, None)
    arguments = right.child_by_field_name("arguments")
    if right.type == "call_expression" and CALLS.get(callee(body, right)) == op and arguments is not None:
        return name, other_operand(body, arguments.named_children, name)
    if right.type == "binary_expression" and OPERATORS.get(operator_of(body, right)) == op:
        return name, other_operand(body, right.named_children, name)
    return None, None


def _first_element(body: Body, array: bytes, read: Node, target: bytes, loop: Node) -> None:
    """``acc = array[0];`` right before the loop."""
    element = read.parent
    found, index = _subscript(body, element)
    owner = element.parent if element is not None else None
    if found != array or index is None or body.number(index) != 0 or owner is None:
        raise UnprovedError(f"'{array.decode()}' is read in another place too")
    left = owner.child_by_field_name("declarator") or owner.child_by_field_name("left")
    value = owner.child_by_field_name("value") or owner.child_by_field_name("right")
    statement = owner.parent
    beside = statement is not None and statement.next_named_sibling == loop
    if left is None or body.of(left) != target or value != element or not beside:
        raise UnprovedError(f"'{array.decode()}' is read in another place too")


def _check_callers(body: Body, result: Reduction | None, bodies: list[Body]) -> None:
    """A device function: all threads of the block call it together, and only the first thread uses a result.

    ``result``: the second stage that leaves its result in the first lane only and is returned.
    """
    if body.is_kernel:
        check_launches(body)
        return
    name = body.function.name
    if not body.parsed.source.path.endswith((".cu", ".hip")):
        raise UnprovedError("other files may call this function")
    calls = 0
    for caller in bodies:
        for use in caller.function.walk("identifier"):
            if caller.of(use) != name or use.start_byte == _declarator(caller):
                continue
            call = use.parent
            while call is not None and call.type == "template_function":
                call = call.parent
            if call is None or call.type != "call_expression" or not caller.is_kernel:
                raise UnprovedError(f"'{name.decode()}' is used in a way that is not followed")
            if not caller.convergent(call):
                raise UnprovedError(f"not every thread of the block calls '{name.decode()}' together")
            check_launches(caller)
            calls += 1
            if result is not None:
                _first_thread_uses(caller, call)
    mentions = len(re.findall(rb"(?<!\w)" + name + rb"\b", _CODE.sub(b"", body.parsed.data)))
    if calls == 0 or mentions != calls + 1:
        raise UnprovedError(f"not every use of '{name.decode()}' is followed")


def check_launches(kernel: Body) -> None:
    """The kernel is launched in this file only, with one-dimensional blocks.

    Raises:
        UnprovedError: it may be launched elsewhere, or a launch cannot be followed.
    """
    parsed, name = kernel.parsed, kernel.function.name
    text = name.decode()
    if not parsed.source.path.endswith((".cu", ".hip")):
        raise UnprovedError(f"other files may launch '{text}'")
    local = b"static" in kernel.head or kernel.template_types or kernel.in_anonymous_namespace
    if not local and any(include.path.startswith('"') for include in parsed.scan.includes):
        raise UnprovedError(f"other files may launch '{text}', which is not static")
    launches = 0
    for fragment in parsed.fragments():
        for _, found in matches(compile_query(_LAUNCH), fragment.root):
            callee_text = parsed.node_text(fragment, found["kernel"][0])
            if not re.fullmatch(rb"(?:\w+::)*" + name + rb"(?:\s*<.*>)?", callee_text, re.DOTALL):
                continue
            values = [child for child in found["configuration"][0].named_children if child.type != "comment"]
            if len(values) < 2 or not _one_dimensional(parsed, parsed.node_text(fragment, values[1]), values[1]):
                raise UnprovedError(f"a launch of '{text}' is not seen to have one-dimensional blocks")
            launches += 1
    mentions = len(re.findall(rb"(?<!\w)" + name + rb"\b", _CODE.sub(b"", parsed.data)))
    if launches == 0 or mentions != launches + 1:
        raise UnprovedError(f"not every launch of '{text}' is seen in this file")


def _one_dimensional(parsed: ParsedFile, text: bytes, node: Node) -> bool:
    text = text.strip()
    if node.type in ("number_literal", "binary_expression"):
        return True
    built = re.fullmatch(rb"dim3\s*[({]([^(){}]*)[)}]", text)
    if built is None and re.fullmatch(rb"\w+", text):
        declared = re.findall(
            rb"\b([\w:]+)\s+(?:const\s+)?" + text + rb"\s*(?:([({])([^;]*?)[)}]\s*[,;]|=|[,;)])", parsed.data
        )
        kinds = {kind for kind, _, _ in declared} - {b"return"}
        if kinds and kinds <= _COUNTS:
            return True
        if kinds == {b"dim3"} and not re.search(rb"\b" + text + rb"\s*(?:\.\s*[yz]\s*=|=)", parsed.data):
            return all(bracket and _single(arguments) for _, bracket, arguments in declared)
        return fold(parsed, text) is not None and not kinds
    return built is not None and _single(built[1])


def _single(arguments: bytes) -> bool:
    return all(part.strip() in (b"1", b"1u") for part in arguments.split(b",")[1:])


def _declarator(body: Body) -> int:
    node = body.node.child_by_field_name("declarator")
    while node is not None and node.type != "identifier":
        node = node.child_by_field_name("declarator")
    return node.start_byte if node is not None else -1


def _first_thread_uses(caller: Body, call: Node) -> None:
    """The value of the call goes to a variable that only the first thread reads."""
    owner = call.parent
    target = None
    if owner is not None and owner.type == "init_declarator":
        target = owner.child_by_field_name("declarator")
    elif owner is not None and owner.type == "assignment_expression" and operator_of(caller, owner) == b"=":
        target = owner.child_by_field_name("left")
    elif owner is not None and owner.type == "expression_statement":
        return
    if target is None or target.type != "identifier" or caller.name(caller.of(target)) is None:
        raise UnprovedError("a result that only the first thread has is used at once")
    variable = caller.of(target)
    if any(outer.type in _LOOPS for outer in _outer(call, caller.node)):
        raise UnprovedError("a result that only the first thread has lives on in a loop")
    for use in caller.uses(variable):
        if use.start_byte >= call.end_byte and not caller.only_first_thread(use):
            raise UnprovedError(f"'{variable.decode()}' is used by threads that get no result")
