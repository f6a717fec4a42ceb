"""Which values differ between the lanes of a warp: a small data-flow analysis of one function.

Values are in a lattice. The analysis looks at names only (no types, no aliases, fields belong to their variable) and
joins all assignments of a name, so it errs towards "varies".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum

from tree_sitter import Node

from hipport.syntax import Fragment, ParsedFile


class Level(IntEnum):
    """How far a value may differ. The two INDEX levels are the thread index itself, give or take whole warps."""

    UNIFORM = 0  # the same in the whole block
    WAVEFRONT = 1  # the same in each aligned run of 64 threads
    WARP = 2  # the same in each warp
    INDEX = 3  # threadIdx.x give or take multiples of 64: compares and divides evenly at multiples of 64
    INDEX32 = 4  # threadIdx.x give or take multiples of 32
    LANE = 5  # may differ from lane to lane


_INDEX = (Level.INDEX, Level.INDEX32)
_VOTES = re.compile(
    rb"(?:hipport::)?_*(?:ballot|any|all|uni|activemask|match_all|reduce_\w+?)(?:_sync)?\Z|__syncthreads_(?:count|and|or)\Z"
)
_SHUFFLE = re.compile(rb"(?:hipport::)?_*shfl(?:_sync)?\Z")
_UNIFORM_NAMES = frozenset((b"blockIdx", b"blockDim", b"gridDim", b"warpSize", b"true", b"false", b"nullptr", b"NULL"))
_SHARED = re.compile(rb"\b__shared__\s+(?:\w+\s+|\w+<[^;]*?>\s*|__align__\s*\([^)]*\)\s*|[*&]\s*)*(\w+)\s*(?:\[|;|=|,)")
_LANE_REGISTERS = re.compile(rb"%%?(?:laneid|lanemask|tid)")
_NUMBER = re.compile(rb"(0[xX][0-9a-fA-F']+|0[bB][01']+|[0-9][0-9']*)[uUlLzZ]*\Z")
_LANE_FUNCTIONS = re.compile(rb"(?:__)?lane_?id\Z|lanemask_\w+\Z|get_?lane\w*\Z|thread_rank\Z", re.IGNORECASE)
_WARP_FUNCTIONS = re.compile(rb"(?:__)?warp_?id\w*\Z|canonical_warp_idx\w*\Z|meta_group_rank\Z", re.IGNORECASE)


class Divergence:
    """Levels of the variables of one function.

    Args:
        parsed: the file.
        fragment: tree that holds the function.
        function: its ``function_definition`` or ``lambda_expression`` node.
        constants: names of integer constants of the file with their values.
    """

    def __init__(
        self, parsed: ParsedFile, fragment: Fragment, function: Node, constants: dict[bytes, int] | None = None
    ) -> None:
        self._parsed = parsed
        self._fragment = fragment
        self._function = function
        self._constants = constants or {}
        self._declared: dict[int, set[bytes]] = {}  # scope node -> names
        self._shared = set(_SHARED.findall(self.text(function)))
        self._declare(function)
        self._levels: dict[tuple[int, bytes], Level] = {}
        assignments = list(self._assignments(function))
        for _ in range(8):
            before = dict(self._levels)
            for name, value, place in assignments:
                level = self.level(value) if value is not None else Level.UNIFORM
                scope = self._scope(place, name)
                # Branches around the declaration do not tell apart the lanes that see the variable.
                for control, branch in self.branches(place, function):
                    if scope is not None and scope.start_byte >= branch.start_byte and scope != branch:
                        break
                    level = max(level, control)
                key = (scope.id if scope is not None else 0, name)
                self._levels[key] = max(level, self._levels.get(key, Level.UNIFORM))
            if self._levels == before:
                break

    def text(self, node: Node) -> bytes:
        """Source text of a node."""
        return self._parsed.node_text(self._fragment, node)

    # -- values ------------------------------------------------------------------------------------------------------
    def level(self, node: Node) -> Level:
        """Level of an expression."""
        kind = node.type
        if kind in ("number_literal", "string_literal", "char_literal", "true", "false", "sizeof_expression"):
            return Level.UNIFORM
        if kind == "identifier":
            return self._name(node)
        if kind in ("parenthesized_expression", "condition_clause", "cast_expression"):
            inner = node.child_by_field_name("value") or (node.named_children[-1] if node.named_children else None)
            return self.level(inner) if inner is not None else Level.UNIFORM
        if kind == "field_expression":
            return self._field(node)
        if kind == "call_expression":
            return self._call(node)
        if kind == "binary_expression":
            return self._binary(node)
        if kind in ("gnu_asm_expression", "lambda_expression"):
            return Level.LANE
        return self._children(node)

    def _children(self, node: Node) -> Level:
        level = max((self.level(child) for child in node.named_children), default=Level.UNIFORM)
        return Level.LANE if level in _INDEX else level

    def _name(self, node: Node) -> Level:
        name = self.text(node)
        if name == b"threadIdx":
            return Level.LANE
        if name in _UNIFORM_NAMES or name in self._shared:  # one place, whoever wrote it
            return Level.UNIFORM
        scope = self._scope(node, name)
        return self._levels.get((scope.id if scope is not None else 0, name), Level.UNIFORM)

    # -- scopes ------------------------------------------------------------------------------------------------------
    def _declare(self, function: Node) -> None:
        """Note which names each scope declares."""
        stack: list[tuple[Node, Node]] = [(function, function)]
        while stack:
            node, scope = stack.pop()
            if node.type in ("declaration", "parameter_declaration", "optional_parameter_declaration"):
                for child in node.children_by_field_name("declarator"):
                    name = self._target(child)
                    if name:
                        self._declared.setdefault(scope.id, set()).add(name)
            inner = node if node.type in _SCOPES else scope
            stack.extend((child, inner) for child in node.children)

    def _scope(self, node: Node, name: bytes) -> Node | None:
        """Scope whose declaration of ``name`` is seen from ``node``; None when it comes from outside."""
        current: Node | None = node
        while current is not None:
            if name in self._declared.get(current.id, ()):
                return current
            if current == self._function:
                return None
            current = current.parent
        return None

    def _field(self, node: Node) -> Level:
        base = node.child_by_field_name("argument")
        member = node.child_by_field_name("field")
        if base is None or member is None:
            return Level.UNIFORM
        if self.text(base) == b"threadIdx":
            if self.text(member) == b"x":
                return Level.INDEX
            return Level.LANE if _narrow_rows(self._parsed.data, self._constants) else Level.WARP
        return self.level(base)

    def _call(self, node: Node) -> Level:
        function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        name = self.text(function) if function is not None else b""
        last = name.rsplit(b"::", 1)[-1].rsplit(b".", 1)[-1].rsplit(b"->", 1)[-1].split(b"<")[0]
        if _VOTES.match(name) or _VOTES.match(last):
            return Level.WARP
        if _LANE_FUNCTIONS.match(last):
            return Level.LANE
        if _WARP_FUNCTIONS.match(last):
            return Level.WARP
        values = [child for child in arguments.named_children if child.type != "comment"] if arguments else []
        if _SHUFFLE.match(name):
            lane = values[2] if b"_sync" in name and len(values) > 2 else values[1] if len(values) > 1 else None
            width = values[3:] if b"_sync" in name else values[2:]
            if lane is not None and self.level(lane) <= Level.WARP and not width:
                return Level.WARP
            return Level.LANE
        if last in (b"min", b"max", b"abs"):
            return self._children(node)
        level = max((self.level(value) for value in values), default=Level.UNIFORM)
        return Level.LANE if level in _INDEX else level

    def number(self, node: Node) -> int | None:
        """Value of an integer constant expression that is written out or named in the file."""
        if node.type == "parenthesized_expression" and node.named_children:
            return self.number(node.named_children[0])
        text = self.text(node).strip()
        match = _NUMBER.match(text)
        if match:
            digits = match[1].replace(b"'", b"").decode()
            return int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
        if text in (b"warpSize", b"hipport::warp_size"):
            return 32
        if node.type == "binary_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            operator = self._operator(node)
            a, b = (self.number(x) if x is not None else None for x in (left, right))
            if a is not None and b is not None and operator in (b"*", b"+", b"-"):
                return a * b if operator == b"*" else a + b if operator == b"+" else a - b
        return self._constants.get(text)

    def _operator(self, node: Node) -> bytes:
        operator = node.child_by_field_name("operator")
        return self.text(operator) if operator is not None else b""

    def _binary(self, node: Node) -> Level:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return Level.LANE
        a, b = self.level(left), self.level(right)
        operator = self._operator(node)
        number = self.number(right)
        if a in _INDEX and number is not None and number > 0:
            step = {b"/": number, b"<": number, b">=": number, b"<=": number + 1, b">": number + 1}.get(operator, 0)
            if operator == b">>":
                step = 1 << min(number, 31)
            elif operator == b"&":
                step = number & -number  # the lowest bit that is kept
            if step and step % 32 == 0:
                return Level.WAVEFRONT if a is Level.INDEX and step % 64 == 0 else Level.WARP
            if operator in (b"%", b"+", b"-") and number % 32 == 0:  # still whole warps in aligned runs
                return Level.INDEX if a is Level.INDEX and number % 64 == 0 else Level.INDEX32
        level = max(a, b)
        return Level.LANE if level in _INDEX else level

    # -- assignments and control ---------------------------------------------------------------------------------------
    def _assignments(self, function: Node) -> Iterator[tuple[bytes, Node | None, Node]]:
        stack = [function]
        while stack:
            node = stack.pop()
            stack.extend(node.children)
            if node.type == "init_declarator":
                name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
                target = self._target(name)
                if target:
                    yield target, value, node
            elif node.type == "assignment_expression":
                target = self._target(node.child_by_field_name("left"))
                if target:
                    yield target, node.child_by_field_name("right"), node
            elif node.type == "gnu_asm_expression" and _LANE_REGISTERS.search(self.text(node)):
                for name in re.findall(rb'"=\w+"\s*\(\s*(\w+)', self.text(node)):
                    yield name, node, node

    def _target(self, node: Node | None) -> bytes:
        """Variable that an assignment's left side changes."""
        while node is not None:
            if node.type == "identifier":
                return self.text(node)
            node = (
                node.child_by_field_name("argument")
                or node.child_by_field_name("declarator")
                or (node.named_children[0] if node.named_children else None)
            )
        return b""

    def branches(self, node: Node, function: Node) -> Iterator[tuple[Level, Node]]:
        """Conditions that decide whether ``node`` runs, innermost first, each with its level."""
        child, parent = node, node.parent
        while parent is not None and child != function:
            condition = parent.child_by_field_name("condition")
            if condition is not None and condition != child and parent.type in _BRANCHES:
                initial = parent.child_by_field_name("initializer")
                if child != initial:
                    level = self.level(condition)
                    yield (Level.LANE if level in _INDEX else level), parent
            child, parent = parent, parent.parent


def _narrow_rows(data: bytes, constants: dict[bytes, int]) -> bool:
    """Some launch of the file has blocks of several rows that are no whole warps, so that threadIdx.y splits a warp.

    A block whose width is not known is taken to be as wide as a warp: that is what ``threadIdx.y`` is mostly used for.
    """
    for launch in _LAUNCH.finditer(data):
        block = launch[1].strip()
        declared = re.search(rb"\bdim3\s+(?:const\s+)?" + re.escape(block) + rb"\s*[({]([^;]*)[)}]", data)
        text = declared[1] if declared else block.removeprefix(b"dim3").strip(b" ({") if b"dim3" in block else b""
        parts = text.split(b",")
        if len(parts) < 2 or parts[1].strip(b" )}") == b"1":
            continue
        width = parts[0].strip()
        number = int(width) if width.isdigit() else constants.get(width)
        if number is not None and number % 32:
            return True
    return False


_LAUNCH = re.compile(rb"<<<[^;]*?(?:\([^;()]*\)|[^;,()])*,\s*((?:[\w.:]+\s*)?(?:[({][^;(){}]*[)}])?)\s*[,>]")
_SCOPES = frozenset(
    ("compound_statement", "for_statement", "function_definition", "lambda_expression", "for_range_loop")
)
_BRANCHES = frozenset(
    ("if_statement", "while_statement", "for_statement", "do_statement", "switch_statement", "conditional_expression")
)
