"""What the linted files say together: constants, and functions that take part in warp operations."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from tree_sitter import Node, Query, QueryCursor

from hipport.syntax import Fragment, ParsedFile, compile_query

# Functions of a warp: what they do depends on which lanes belong together.
WARP_OPERATION = re.compile(
    rb"_*(?:shfl(?:_up|_down|_xor)?|ballot|any|all|uni|match_any|match_all|reduce_(?:add|min|max|and|or|xor))_sync\Z"
    rb"|__(?:shfl(?:_up|_down|_xor)?|ballot|any|all|activemask|syncwarp)\Z"
    rb"|(?:load|store)_matrix_sync\Z|mma_sync\Z|fill_fragment\Z|tiled_partition\Z|coalesced_threads\Z"
)
_WARP_CLASSES = re.compile(
    rb"\bWarp(?:Reduce|Scan|Exchange|Load|Store|MergeSort)\s*<|\bWARP_(?:TRANSPOSE|SCANS|REDUCTIONS)\b"
)
WARP_ASM = re.compile(
    rb"\b(?:mma|wmma|ldmatrix|stmatrix|movmatrix|shfl|vote|match|redux|activemask|bar\.warp|wgmma)\b(?:\.|\s)"
    rb"|\bbar(?:rier)?(?:\.cta)?\.(?:sync|arrive)[\w.]*\s+[^;\",]+,"
    rb"|%(?:%)?(?:laneid|lanemask\w+|warpid)"
)
# Words of tensor-core tiles: which lane holds which element is fixed by the instruction.
FRAGMENT_WORDS = frozenset((b"TiledMma", b"TiledMMA", b"MMA_Atom", b"mma", b"wmma", b"mma_sync", b"cute"))
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])[ \t]*((?:[^\\\n]|\\\r?\n)*)", re.MULTILINE)
_CONSTANT = re.compile(
    rb"\b(?:const|constexpr|static)\b[\w\s:]*?\b(\w+)\s*=\s*([^;,{}]+)[;,]|\benum\b[^;{}()]*\{([^{}]*)\}"
)
_ENUMERATOR = re.compile(rb"(\w+)\s*=\s*([^,}]+)")


@dataclass(frozen=True, slots=True)
class Definition:
    """A constant: the file, the offset of its name, the offset and text of its value, and how it is written."""

    parsed: ParsedFile
    offset: int
    value: bytes
    macro: bool


@cache
def _nodes_query(types: tuple[str, ...]) -> Query:
    return compile_query(f"[{' '.join(f'({name})' for name in types)}] @node")


@dataclass(frozen=True)
class Function:
    """A function of a file, or the body of a macro.

    Attributes:
        name: simple name.
        node: the ``function_definition``, or the root of a macro body.
        parameters: names in order, empty bytes for unnamed ones.
    """

    parsed: ParsedFile
    fragment: Fragment
    node: Node
    name: bytes
    parameters: tuple[bytes, ...] = ()

    @cached_property
    def text(self) -> bytes:
        """Its source."""
        if self.fragment.macro:
            return self.parsed.text(self.fragment.limits)
        return self.parsed.node_text(self.fragment, self.node)

    @cached_property
    def device(self) -> bool:
        """It may run on the device: marked so, a macro, or it names something of the device."""
        if self.fragment.macro:
            return True
        head = self.text.split(b"{", 1)[0]
        before = self.parsed.data[max(0, self.node.start_byte - 160) : self.node.start_byte]
        marks = head + before[max(before.rfind(b";"), before.rfind(b"}")) + 1 :]
        if re.search(rb"__(?:device|global)__|\w*DEVICE\w*|\w*KERNEL\w*", marks):
            return True
        return b"threadIdx" in self.text or b"__host__" in marks

    @cached_property
    def calls(self) -> frozenset[bytes]:
        """Simple names that it calls."""
        return frozenset(re.findall(rb"\b([A-Za-z_]\w*)\s*(?:<[^;{}()]*>\s*)?\(", self.text))

    @cached_property
    def warp_words(self) -> bool:
        """It runs a warp operation itself."""
        return any(WARP_OPERATION.match(name) for name in self.calls) or bool(
            (b"asm" in self.text and WARP_ASM.search(self.text)) or _WARP_CLASSES.search(self.text)
        )

    @cached_property
    def _walked(self) -> dict[tuple[str, ...], list[Node]]:
        return {}

    def walk(self, *types: str) -> Iterator[Node]:
        """Nodes of the given types, in source order: outer ones before inner ones."""
        if types not in self._walked:
            found = QueryCursor(_nodes_query(types)).captures(self.node).get("node", [])
            self._walked[types] = sorted(found, key=lambda node: (node.start_byte, -node.end_byte))
        return iter(self._walked[types])

    def source(self, node: Node) -> bytes:
        """Text of a node."""
        return self.parsed.node_text(self.fragment, node)

    def offset(self, node: Node) -> int:
        """File offset of a node."""
        return node.start_byte + self.fragment.base


def declared_name(function_text: Function | None, parsed: ParsedFile, fragment: Fragment, node: Node | None) -> bytes:
    """Name that a declarator declares."""
    while node is not None:
        if node.type in ("identifier", "field_identifier", "operator_name", "destructor_name"):
            return parsed.node_text(fragment, node)
        inner = node.child_by_field_name("declarator") or node.child_by_field_name("name")
        if inner is None and node.named_children:
            inner = node.named_children[-1]
        node = inner
    return b""


def functions_of(parsed: ParsedFile) -> list[Function]:
    """Functions of a file and macro bodies, in order."""
    found = []
    stack = [parsed.tree.root]
    while stack:
        node = stack.pop()
        if node.type == "function_definition":
            declarator = node.child_by_field_name("declarator")
            name = declared_name(None, parsed, parsed.tree, declarator)
            found.append(Function(parsed, parsed.tree, node, name, _parameters(parsed, parsed.tree, declarator)))
        else:
            stack.extend(reversed(node.children))
    for fragment in parsed.macro_bodies:
        head = parsed.data[fragment.base : fragment.limits.start]
        listed = re.search(rb"\(([^()]*)\)\s*\Z", head)
        names = tuple(part.strip() for part in listed[1].split(b",")) if listed else ()
        found.append(Function(parsed, fragment, fragment.root, fragment.macro.encode(), names))
    return found


def _parameters(parsed: ParsedFile, fragment: Fragment, declarator: Node | None) -> tuple[bytes, ...]:
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or (
            declarator.named_children[-1] if declarator.named_children else None
        )
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    if listed is None:
        return ()
    return tuple(
        declared_name(None, parsed, fragment, child.child_by_field_name("declarator"))
        for child in listed.named_children
        if child.type.endswith("parameter_declaration")
    )


@dataclass(frozen=True)
class Project:
    """All files that are linted together, by path."""

    files: tuple[ParsedFile, ...] = field(repr=False)

    @cached_property
    def functions(self) -> dict[str, list[Function]]:
        """Functions by path."""
        return {parsed.source.path: functions_of(parsed) for parsed in self.files}

    @cached_property
    def by_name(self) -> dict[bytes, list[Function]]:
        """Functions by simple name."""
        found: dict[bytes, list[Function]] = {}
        for functions in self.functions.values():
            for function in functions:
                found.setdefault(function.name, []).append(function)
        return found

    @cached_property
    def warp_functions(self) -> frozenset[bytes]:
        """Names of functions that run a warp operation, directly or through others."""
        everything = [f for fs in self.functions.values() for f in fs if f.name]
        callers: dict[bytes, set[bytes]] = {}
        for function in everything:
            for called in function.calls:
                callers.setdefault(called, set()).add(function.name)
        found = {f.name for f in everything if f.warp_words}
        pending = list(found)
        while pending:
            more = callers.get(pending.pop(), set()) - found
            found |= more
            pending.extend(more)
        return frozenset(found)

    def takes_part(self, function: Function) -> bool:
        """The function, or one that it calls or builds an object with, runs a warp operation."""
        return function.warp_words or bool(function.calls & self.warp_functions)

    def holds_fragments(self, parsed: ParsedFile) -> bool:
        """The file handles tensor-core tiles."""
        return bool(parsed.scan.words & FRAGMENT_WORDS) or any(
            include.name.startswith(("cute/", "cutlass/", "mma.h")) for include in parsed.scan.includes
        )

    def near_fragments(self, parsed: ParsedFile) -> bool:
        """The file, or one that includes it, handles tensor-core tiles."""
        return parsed.source.path in self._near_fragments

    @cached_property
    def _near_fragments(self) -> frozenset[str]:
        found = {p.source.path for p in self.files if self.holds_fragments(p)}
        by_base: dict[str, list[str]] = {}
        for p in self.files:
            by_base.setdefault(p.source.path.rsplit("/", 1)[-1], []).append(p.source.path)
        included = {
            path
            for p in self.files
            if p.source.path in found
            for include in p.scan.includes
            for path in by_base.get(include.name.rsplit("/", 1)[-1], ())
        }
        return frozenset(found | included)

    def warp_callers(self, function: Function) -> bool:
        """A function of the project that runs warp operations calls this one."""
        return function.name in self._called_by_warp_functions

    @cached_property
    def _called_by_warp_functions(self) -> frozenset[bytes]:
        functions = (f for fs in self.functions.values() for f in fs)
        return frozenset(name for f in functions if self.takes_part(f) for name in f.calls)

    @cached_property
    def uses(self) -> dict[bytes, list[tuple[ParsedFile, int]]]:
        """Where each function or macro of the project, and each template, is named."""
        wanted = {name for name in self.by_name if name} | self.templates
        found: dict[bytes, list[tuple[ParsedFile, int]]] = {}
        for parsed in self.files:
            for start, name in parsed.scan.identifiers:
                if name in wanted:
                    found.setdefault(name, []).append((parsed, start))
        return found

    @cached_property
    def templates(self) -> frozenset[bytes]:
        """Names of class templates."""
        pattern = re.compile(rb"\btemplate\s*<[^;{}]*>\s*(?:struct|class)\s+(\w+)")
        return frozenset(m[1] for parsed in self.files for m in pattern.finditer(parsed.data))

    def function_at(self, parsed: ParsedFile, offset: int) -> Function | None:
        """Function or macro whose body holds an offset."""
        starts = self._bodies[parsed.source.path]
        at = bisect.bisect_right(starts, offset, key=lambda row: row[0]) - 1
        while at >= 0:
            start, end, function = starts[at]
            if start <= offset < end:
                return function
            at -= 1
            if offset - start > 200_000:
                break
        return None

    @cached_property
    def _bodies(self) -> dict[str, list[tuple[int, int, Function]]]:
        found = {}
        for path, functions in self.functions.items():
            rows = []
            for function in functions:
                body = function.node.child_by_field_name("body")
                if function.fragment.macro:
                    rows.append((function.fragment.limits.start, function.fragment.limits.end, function))
                elif body is not None:
                    rows.append((body.start_byte, body.end_byte, function))
            found[path] = sorted(rows, key=lambda row: row[:2])
        return found

    @cached_property
    def constants(self) -> dict[bytes, list[Definition]]:
        """Definitions of every macro without parameters, constant and enumerator."""
        found: dict[bytes, list[Definition]] = {}
        for parsed in self.files:
            data = parsed.data
            for match in _DEFINE.finditer(data):
                value = re.sub(rb"//.*|/\*.*?\*/|\\\r?\n", b" ", match[2]).strip()
                found.setdefault(match[1], []).append(Definition(parsed, match.start(1), value, True))
            for match in _CONSTANT.finditer(data):
                if match[1]:
                    found.setdefault(match[1], []).append(Definition(parsed, match.start(1), match[2].strip(), False))
                    continue
                for item in _ENUMERATOR.finditer(match[3]):
                    at = match.start(3) + item.start(1)
                    found.setdefault(item[1], []).append(Definition(parsed, at, item[2].strip(), False))
        return found

    def definitions(self, parsed: ParsedFile, name: bytes) -> list[Definition]:
        """Definitions of a name: those of the file itself, else those of all files."""
        found = [d for d in self.constants.get(name, ()) if not re.search(rb"(?:::|\b)%s\Z" % name, d.value)]
        own = [d for d in found if d.parsed is parsed]
        return own or found


def project_of(files: Sequence[ParsedFile]) -> Project:
    """A project of parsed files, sorted by path."""
    return Project(tuple(sorted(files, key=lambda parsed: parsed.source.path)))
