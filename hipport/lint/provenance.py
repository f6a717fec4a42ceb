"""Where a value comes from: constants of a warp, thread numbers, lane numbers, lane masks.

A small forward evaluation of expressions over one function, its callers and the constants of the project. It answers
"unknown" where a value has several meanings; it never guesses a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from hipport.lint.finding import Step
from hipport.lint.project import Definition, Function, Project, declared_name
from hipport.lint.templates import after_template, template_arguments, template_bound, template_of, templated_name
from hipport.lint.values import (
    UNKNOWN,
    Role,
    Value,
    arithmetic,
    flags,
    is_wide_one,
    join,
    means_warp,
    step_at,
    warp_part,
)
from hipport.syntax import ParsedFile
from hipport.syntax.arguments import call_arguments

_THREAD_NAMES = re.compile(rb"(?:tidx|tid|t_?id_?x?|thread_?(?:id|idx|rank)(?:_?x)?)\Z", re.IGNORECASE)
_LANE_NAMES = re.compile(rb"(?:lane|lane_?(?:id|idx|index))\Z", re.IGNORECASE)
_NUMBER = re.compile(rb"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)[uUlLzZ]*\Z")
_LANE_CALLS = re.compile(rb"(?:__)?(?:lane_?id|builtin_amdgcn_mbcnt_(?:lo|hi))\Z|get_?lane_?id\Z|LaneId\Z")
MASK_CALLS = re.compile(
    rb"(?:__ballot|__ballot_sync|__activemask|__match_any_sync|__match_all_sync|__match_any|ballot)\Z"
)
_COPIES = re.compile(
    rb"(?:static_cast|reinterpret_cast|const_cast|int|unsigned|uint32_t|int32_t|u?int64_t|size_t|long|index_t|__builtin_expect"
    rb"|__ldg|readfirstlane|__builtin_amdgcn_readfirstlane|__brev)\Z"
)
_OWN_WARP_SIZE = re.compile(rb"(?:\b(?:int|unsigned|auto|size_t|uint32_t|int32_t)\b[\s*&]+|#\s*define\s+)warpSize\b")
_MAX_DEPTH = 14
_MAX_SITES = 40


@dataclass
class Provenance:
    """Evaluates expressions of a project's functions; results are kept by node."""

    project: Project
    _known: dict[tuple[str, int, bytes, int], Value] = field(default_factory=dict)
    _active: set[tuple[str, int, bytes]] = field(default_factory=set)
    _bindings: dict[int, dict[bytes, list[tuple[Node, Node | None, str]]]] = field(default_factory=dict)

    def value(self, function: Function, node: Node | None, depth: int = 0) -> Value:
        """Value of an expression in a function."""
        if node is None or depth > _MAX_DEPTH:
            return UNKNOWN
        kind = node.type
        if kind == "number_literal":
            return self._literal(function, node)
        if kind == "identifier":
            return self._name(function, node, depth)
        if kind in ("parenthesized_expression", "condition_clause"):
            return self.value(function, node.named_children[0] if node.named_children else None, depth + 1)
        if kind == "cast_expression":
            return self.value(function, node.child_by_field_name("value"), depth + 1)
        if kind == "unary_expression":
            return self._unary(function, node, depth)
        if kind == "binary_expression":
            return self._binary(function, node, depth)
        if kind == "field_expression":
            return self._field(function, node)
        if kind == "qualified_identifier":
            return self._qualified(function, node, depth)
        if kind == "call_expression":
            return self._call(function, node, depth)
        if kind == "conditional_expression":
            left = self.value(function, node.child_by_field_name("consequence"), depth + 1)
            right = self.value(function, node.child_by_field_name("alternative"), depth + 1)
            return join([left, right])
        return UNKNOWN

    def step(self, function: Function, node: Node) -> Step:
        """A trace step for a node."""
        return step_at(function.parsed, function.offset(node), function.source(node))

    def named(self, function: Function, name: bytes) -> Value:
        """Value of a constant or template parameter, as a function sees it."""
        return self._resolved(function, function.node, name.rsplit(b"::", 1)[-1], 0)

    # -- leaves ------------------------------------------------------------------------------------------------------
    def _literal(self, function: Function, node: Node) -> Value:
        match = _NUMBER.match(function.source(node))
        if match is None:
            return UNKNOWN
        number = _to_int(match[1])
        return Value(Role.NUMBER, number, number, literal=True, trace=(self.step(function, node),))

    def _name(self, function: Function, node: Node, depth: int) -> Value:
        name = function.source(node)
        if name == b"warpSize" and not _OWN_WARP_SIZE.search(function.parsed.data):
            return Value(Role.NUMBER, 32, None, wavefront=True, trace=(self.step(function, node),))
        key = (function.parsed.source.path, function.offset(function.node), name)
        if key in self._active:
            return UNKNOWN
        known = (*key, node.start_byte)
        if known in self._known:
            return self._known[known]
        self._active.add(key)
        try:
            found = self._resolved(function, node, name, depth)
        finally:
            self._active.discard(key)
        if not self._active:  # complete: nothing was cut short by recursion
            self._known[known] = found
        return found

    def _resolved(self, function: Function, node: Node, name: bytes, depth: int) -> Value:
        bound = self.bindings(function).get(name)
        if bound:
            scoped = [b for b in bound if b[2] != "asm" and _visible(b[0], node)] or bound
            found = self._bound(function, name, scoped, depth)
            if found is not None:
                return found
        if name in function.parameters:
            return self._parameter(function, name, depth)
        parameter = template_bound(function, node, name)
        if parameter is not None:
            return parameter
        template = template_of(function, node, name)
        if template is not None:
            return self._instantiated(function, template, name, depth)
        return self._constant(function.parsed, name, depth)

    def _instantiated(self, function: Function, template: tuple[Node, int], name: bytes, depth: int) -> Value:
        """Value of a template parameter, from every place of the project that names the template's arguments."""
        declared, index = template
        target = templated_name(function, declared)
        step = step_at(function.parsed, function.offset(declared), b"template parameter " + name)
        unknown = Value(name=name, trace=(step,))
        if not target or depth > 6:
            return unknown
        values: list[Value] = []
        sites = self.project.uses.get(target, ())
        if len(sites) > _MAX_SITES:
            return unknown
        for parsed, start in sites:
            listed = template_arguments(parsed.data, start + len(target))
            if index >= len(listed):
                continue
            alone = _expression(Definition(parsed, start, listed[index], False))
            value = self.value(alone, _only_expression(alone.node), depth + 2)
            if value.role is not Role.NUMBER:
                return unknown
            where = step_at(parsed, start, target + b"<" + b", ".join(listed) + b">")
            values.append(replace(value, trace=(where,)))
        if not values:
            return unknown
        joined = join(values)
        return replace(joined, name=name, trace=(*dict.fromkeys(s for v in values[:3] for s in v.trace), step))

    def _constant(self, parsed: ParsedFile, name: bytes, depth: int) -> Value:
        definitions = self.project.definitions(parsed, name)
        values = [self._defined(name, d, depth) for d in definitions[:8]]
        if not values:
            return UNKNOWN
        first = values[0]
        if all(v.number == first.number for v in values) and first.number is not None:
            return first
        if {v.number for v in values} == {32, 64} and all(d.macro for d in definitions):
            trace = tuple(s for v in values for s in v.trace[:1])
            return Value(Role.NUMBER, None, 64, literal=True, by_target=True, name=name, trace=trace)
        return first if len(values) == 1 else UNKNOWN

    def _defined(self, name: bytes, definition: Definition, depth: int) -> Value:
        """Value of a constant's text: parsed on its own, names looked up in the file that defines it."""
        key = (definition.parsed.source.path, -1, name)
        if key in self._active:
            return UNKNOWN
        self._active.add(key)
        try:
            function = _expression(definition)
            found = self.value(function, _only_expression(function.node), depth + 1)
        finally:
            self._active.discard(key)
        text = (b"#define %s %s" if definition.macro else b"%s = %s") % (name, definition.value)
        trace = (*found.trace[:-1], step_at(definition.parsed, definition.offset, text))
        return replace(found, trace=trace, name=name)

    def _field(self, function: Function, node: Node) -> Value:
        text = function.source(node).replace(b" ", b"")
        if text == b"threadIdx.x":
            return Value(Role.THREAD, trace=(self.step(function, node),))
        if text.startswith(b"blockDim."):
            return Value(Role.BLOCK, trace=(self.step(function, node),))
        if re.search(rb"(?:\.|->)warpSize\Z", text):
            return Value(Role.NUMBER, 32, None, wavefront=True, trace=(self.step(function, node),))
        return UNKNOWN

    def _qualified(self, function: Function, node: Node, depth: int) -> Value:
        name = function.source(node).rsplit(b"::", 1)[-1].strip()
        if function.source(node).endswith(b"hipport::warp_size"):
            return Value(Role.NUMBER, 32, 32, literal=True, trace=(self.step(function, node),))
        found = self._constant(function.parsed, name, depth)
        if found.number is None:
            return UNKNOWN
        return found

    # -- names -------------------------------------------------------------------------------------------------------
    def bindings(self, function: Function) -> dict[bytes, list[tuple[Node, Node | None, str]]]:
        """Everything that sets a name: the declaring or assigning node, the value, and how."""
        if isinstance(function, _Elsewhere):
            return {}
        key = id(function)  # functions live as long as the project
        if key in self._bindings:
            return self._bindings[key]
        found: dict[bytes, list[tuple[Node, Node | None, str]]] = {}
        for node in function.walk(
            "init_declarator", "assignment_expression", "update_expression", "gnu_asm_output_operand"
        ):
            if node.type == "init_declarator":
                name = declared_name(None, function.parsed, function.fragment, node.child_by_field_name("declarator"))
                found.setdefault(name, []).append((node, node.child_by_field_name("value"), "="))
            elif node.type == "assignment_expression":
                left, operator = node.child_by_field_name("left"), node.child_by_field_name("operator")
                if left is not None and left.type == "identifier":
                    how = function.source(operator).decode() if operator is not None else "="
                    found.setdefault(function.source(left), []).append((node, node.child_by_field_name("right"), how))
            elif node.type == "update_expression":
                argument = node.child_by_field_name("argument")
                if argument is not None and argument.type == "identifier":
                    how = "--" if b"--" in function.source(node) else "++"
                    found.setdefault(function.source(argument), []).append((node, None, how))
            else:
                value = node.child_by_field_name("value")
                if value is not None and value.type == "identifier":
                    found.setdefault(function.source(value), []).append((node, None, "asm"))
        self._bindings[key] = found
        return found

    def _bound(
        self, function: Function, name: bytes, bound: list[tuple[Node, Node | None, str]], depth: int
    ) -> Value | None:
        changes = [how for _, _, how in bound if how not in ("=", "asm")]
        for node, _, how in bound:
            if how == "asm":
                text = function.source(_ancestor(node, "gnu_asm_expression") or node)
                if re.search(rb"%(?:%)?laneid", text):
                    return Value(Role.LANE, trace=(self.step(function, node),))
        sets = [(node, value) for node, value, how in bound if how == "="]
        if not sets or (name in function.parameters and not all(_declares(node) for node, _ in sets)):
            return None
        values: list[Value] = []
        for node, value in sets:
            found = self.value(function, value, depth + 1)
            found = replace(found, trace=(*found.trace[-5:], self.step(function, node)), name=name)
            kind = _declared_type(function, node)
            if found.role is Role.MASK and kind:
                found = replace(found, wide=found.wide and _is_wide(kind))
            values.append(found)
        joined = join(values)
        if not changes:
            return joined
        if all(how in (">>=", "/=", "-=", "--") for how in changes):
            return replace(joined, number=None, highest=joined.number if joined.highest is None else joined.highest)
        if joined.role is Role.MASK and all(how in ("&=", "|=", "^=", ">>=") for how in changes):
            return joined
        if joined.role is Role.NUMBER:
            return self._rising(function, name, sets[0][0], joined, depth)
        return replace(joined, number=None, highest=None)

    def _rising(self, function: Function, name: bytes, node: Node, start: Value, depth: int) -> Value:
        """A loop variable that grows to a limit: bounded by it."""
        loop = _ancestor(node, "for_statement")
        condition = loop.child_by_field_name("condition") if loop is not None else None
        if condition is None or condition.type != "binary_expression":
            return UNKNOWN
        left, right = condition.child_by_field_name("left"), condition.child_by_field_name("right")
        operator = condition.child_by_field_name("operator")
        if left is None or right is None or operator is None or function.source(left) != name:
            return UNKNOWN
        limit = self.value(function, right, depth + 1)
        sign = function.source(operator)
        if limit.role is not Role.NUMBER or sign not in (b"<", b"<="):
            return UNKNOWN
        highest = None if limit.highest is None else limit.highest - (sign == b"<")
        return replace(limit, number=None, highest=highest, trace=(*limit.trace, self.step(function, condition)))

    def _parameter(self, function: Function, name: bytes, depth: int) -> Value:
        index = function.parameters.index(name)
        values = [
            replace(value, trace=(*value.trace[-4:], where)) for value, where in self._arguments(function, index, depth)
        ]
        if values:
            joined = join(values)
            if joined.role is not Role.UNKNOWN:
                return joined
        step = step_at(function.parsed, function.offset(function.node), b"parameter " + name)
        if _THREAD_NAMES.match(name):
            return Value(Role.THREAD, trace=(step,))
        if _LANE_NAMES.match(name):
            return Value(Role.LANE, trace=(step,))
        return Value(name=name, trace=(step,))

    def _arguments(self, function: Function, index: int, depth: int) -> Iterator[tuple[Value, Step]]:
        """Values that callers give for a parameter."""
        if not function.name or depth > 6:
            return
        sites = self.project.uses.get(function.name, ())
        if len(sites) > _MAX_SITES:
            return
        for parsed, start in sites:
            found = call_arguments(parsed.scan, after_template(parsed.data, start + len(function.name)))
            if found is None or index >= len(found[0]):
                continue
            caller = self.project.function_at(parsed, start)
            if caller is None or caller.node == function.node:
                continue
            span, base = found[0][index], caller.fragment.base
            node = caller.node.named_descendant_for_byte_range(span.start - base, span.end - base)
            where = step_at(parsed, start, parsed.data[start : found[1].end])
            if node is None or node.type.endswith("declaration"):
                yield UNKNOWN, where
                return
            yield self.value(caller, node, depth + 2), where

    # -- operators ---------------------------------------------------------------------------------------------------
    def _unary(self, function: Function, node: Node, depth: int) -> Value:
        inner = self.value(function, node.child_by_field_name("argument"), depth + 1)
        sign = function.source(node)[:1]
        if inner.number is not None and sign in (b"-", b"~", b"+"):
            number = -inner.number if sign == b"-" else ~inner.number if sign == b"~" else inner.number
            return replace(inner, number=number, highest=number)
        return inner if inner.role in (Role.MASK, Role.LANE_BIT) and sign == b"~" else UNKNOWN

    def _binary(self, function: Function, node: Node, depth: int) -> Value:
        operator = node.child_by_field_name("operator")
        sign = function.source(operator) if operator is not None else b""
        left = self.value(function, node.child_by_field_name("left"), depth + 1)
        right = self.value(function, node.child_by_field_name("right"), depth + 1)
        origin = flags(left, right)
        trace = (*left.trace, *right.trace)[-6:]
        here = (*trace, self.step(function, node))
        if left.role is Role.NUMBER and right.role is Role.NUMBER:
            return arithmetic(sign, left, right, replace(origin, trace=trace))
        if left.role in (Role.THREAD, Role.BLOCK) and right.role is Role.NUMBER:
            made = warp_part(sign, left.role, right) if means_warp(right) else None
            if made is not None:
                return replace(origin, role=made, trace=here)
            if left.role is Role.THREAD and right.number is not None and right.number > 0 and sign in (b"%", b"&"):
                return replace(origin, highest=right.number - (sign == b"%"), trace=here)
        if left.role is Role.THREAD and right.role is Role.UNKNOWN and sign in (b"/", b"%"):
            divisor = node.child_by_field_name("right")
            if divisor is not None and re.search(rb"(?i)warp_?size|per_?warp", function.source(divisor)):
                return Value(Role.LANE if sign == b"%" else Role.WARP, trace=here)
        if sign in (b"+", b"-") and Role.THREAD in (left.role, right.role):
            other = right if left.role is Role.THREAD else left
            if self._aligned(function, node, other):
                return replace(origin, role=Role.THREAD, trace=here)
        if sign in (b"+", b"-") and left.role is Role.BLOCK and right.role is Role.NUMBER:
            return replace(origin, role=Role.BLOCK, trace=trace)
        if sign == b"<<" and left.number == 1 and right.role is Role.LANE:
            wide = is_wide_one(function.source(node.child_by_field_name("left") or node))
            return replace(origin, role=Role.LANE_BIT, wide=wide, trace=here)
        if Role.LANE_BIT in (left.role, right.role) and sign in (b"-", b"&", b"|"):
            role = Role.MASK if Role.MASK in (left.role, right.role) else Role.LANE_BIT
            return replace(origin, role=role, wide=left.wide or right.wide, trace=here)
        if Role.MASK in (left.role, right.role) and sign in (b"&", b"|", b"^", b">>", b"<<"):
            mask = left if left.role is Role.MASK else right
            return replace(origin, role=Role.MASK, wide=mask.wide, trace=(*mask.trace, self.step(function, node)))
        if Role.LANE in (left.role, right.role) and sign in (b"+", b"-", b"^", b"&", b"|", b"/", b"%", b"*"):
            if sign in (b"+", b"-", b"^"):
                return replace(origin, role=Role.LANE, trace=here)
            return replace(origin, trace=here)
        return replace(origin, trace=trace)

    def _aligned(self, function: Function, node: Node, other: Value) -> bool:
        """Adding ``other`` to a thread number keeps warps together: block offsets, rows of a block, multiples of 32."""
        if other.number is not None:
            return other.number % 32 == 0
        text = function.source(node)
        return bool(re.search(rb"blockDim|blockIdx|BLOCK|block_?[sS]ize|threadIdx\.[yz]", text))

    def _call(self, function: Function, node: Node, depth: int) -> Value:
        name = callee(function, node)
        last = name.rsplit(b"::", 1)[-1]
        arguments = call_nodes(node)
        here = self.step(function, node)
        if MASK_CALLS.match(last) and (last != b"ballot" or b"hipport" in name or _is_member(node)):
            return Value(Role.MASK, wide=is_wide_vote(function, name), trace=(here,))
        if last in self.project.by_name and not arguments:
            for called in self.project.by_name[last][:3]:
                returned = [n for n in called.walk("return_statement") if n.named_children]
                if len(returned) == 1:
                    inner = self.value(called, returned[0].named_children[0], depth + 2)
                    if inner.role is not Role.UNKNOWN:
                        return replace(inner, trace=(*inner.trace[-4:], here))
        if _LANE_CALLS.match(last):
            return Value(Role.LANE, wavefront=last == b"__lane_id" or b"mbcnt" in last, trace=(here,))
        if last in (b"min", b"max") and len(arguments) == 2:
            return join([self.value(function, a, depth + 1) for a in arguments])
        if _COPIES.match(last) and arguments:
            return self.value(function, arguments[0], depth + 1)
        return UNKNOWN


def callee(function: Function, call: Node) -> bytes:
    """Name that a call calls, with its qualifiers and without template arguments; a member's own name."""
    node = call.child_by_field_name("function")
    if node is not None and node.type == "field_expression":
        node = node.child_by_field_name("field")
    if node is None:
        return b""
    text = function.source(node)
    text = re.sub(rb"<[^()]*>\Z", b"", text.split(b"<<<")[0]) if node.type != "identifier" else text
    return bytes(text.strip())


def call_nodes(call: Node) -> list[Node]:
    """Arguments of a call."""
    arguments = call.child_by_field_name("arguments")
    return [child for child in arguments.named_children if child.type != "comment"] if arguments is not None else []


def is_hip(parsed: ParsedFile) -> bool:
    """The text is written for HIP: its votes and shuffles span the wavefront unless they say otherwise."""
    if parsed.source.path.endswith((".hip", ".hip.h", ".hip.cpp")):
        return True
    names = [include.name for include in parsed.scan.includes]
    return any(n.startswith("hip/") for n in names) and not any(n.startswith(("cuda", "cooperative_gr")) for n in names)


def is_wide_vote(function: Function, name: bytes) -> bool:
    """A vote gives 64 bits: HIP's own, not CUDA's and not hipport's."""
    return is_hip(function.parsed) and not name.startswith(b"hipport")


def _is_wide(kind: bytes) -> bool:
    return bool(re.search(rb"long\s+long|64|\bauto\b|size_t|\blong\b", kind))


def _declared_type(function: Function, node: Node) -> bytes:
    parent = node.parent
    kind = parent.child_by_field_name("type") if parent is not None and parent.type == "declaration" else None
    return function.source(kind) if kind is not None else b""


def _is_member(call: Node) -> bool:
    node = call.child_by_field_name("function")
    return node is not None and node.type == "field_expression"


def _to_int(digits: bytes) -> int:
    text = digits.replace(b"'", b"").decode()
    return int(text, 8) if re.fullmatch(r"0[0-7]+", text) else int(text, 0)


def _declares(node: Node) -> bool:
    return node.type == "init_declarator"


def _visible(declaration: Node, use: Node) -> bool:
    """The scope that holds a declaration also holds the use; assignments always count."""
    if declaration.type != "init_declarator":
        return True
    scope = declaration.parent
    while scope is not None and scope.type not in (
        "compound_statement", "for_statement", "function_definition", "translation_unit", "lambda_expression",
        "if_statement", "field_declaration_list",
    ):  # fmt: skip
        scope = scope.parent
    return scope is None or (scope.start_byte <= use.start_byte and use.end_byte <= scope.end_byte)


def _ancestor(node: Node, kind: str) -> Node | None:
    current: Node | None = node
    while current is not None and current.type != kind:
        current = current.parent
    return current


def _expression(definition: Definition) -> Function:
    """The value of a constant as a function of its own."""
    from hipport.core import SourceFile

    text = b"auto f(){ return " + definition.value + b"; }"
    parsed = ParsedFile(SourceFile(definition.parsed.source.path, text))
    return _Elsewhere(definition.parsed, parsed.tree, parsed.tree.root, b"", (), parsed, definition.offset)


@dataclass(frozen=True)
class _Elsewhere(Function):
    """A function made from the text of a constant: nodes belong to `alone`, names and places to `parsed`."""

    alone: ParsedFile | None = None
    place: int = 0

    def source(self, node: Node) -> bytes:
        assert self.alone is not None
        return self.alone.node_text(self.fragment, node)

    def offset(self, node: Node) -> int:
        return self.place


def _only_expression(root: Node) -> Node | None:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "return_statement":
            return node.named_children[0] if node.named_children else None
        stack.extend(reversed(node.children))
    return None
