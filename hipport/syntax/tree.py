"""tree-sitter trees of CUDA text: the file itself and, separately, every macro body that matters.

This is the only module that knows the tree-sitter binding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache

from tree_sitter import Language, Node, Parser, Query, QueryCursor, QueryError

from hipport.core import SourceFile, Span
from hipport.core.facts import NO_FACTS, TextFacts
from hipport.syntax.blanking import blanked
from hipport.syntax.conditionals import Conditional, Reach, conditionals, foreign_regions
from hipport.syntax.scopes import OwnScope, continued, own_scopes
from hipport.syntax.tokens import Scan, scan

# Text that no person writes and on which tree-sitter's time grows with the square of the length or worse.
_UNBOUNDED = re.compile(rb"[^;{},]{65536}|(?:[(\[{][^()\[\]{}]*+){1000}")
_BODY_OPENING = b"void f(){"  # as long as the shortest "#define X"


@cache
def language() -> Language:
    """The CUDA grammar."""
    import tree_sitter_cuda

    return Language(tree_sitter_cuda.language())


@cache
def _parser() -> Parser:
    return Parser(language())


@lru_cache(maxsize=512)
def compile_query(text: str) -> Query:
    """Compile a tree-sitter query; the same text gives the same object.

    Raises:
        ValueError: the query is wrong; the message says where.
    """
    try:
        return Query(language(), text)
    except QueryError as error:
        raise ValueError(str(error)) from error


@cache
def _error_query() -> Query:
    return Query(language(), "(ERROR) @error (MISSING) @missing")


@dataclass(frozen=True, slots=True)
class Fragment:
    """A parsed stretch of a file: the whole of it or one macro body.

    Attributes:
        root: root node of the tree. Its offsets count from ``base``.
        base: offset in the file of the tree's byte 0.
        text: what was parsed (blanked); for matching only, never for output.
        macro: name of the macro whose body this is, empty for the file itself.
        limits: the part of the file that edits may touch.
    """

    root: Node
    base: int
    text: bytes = field(repr=False)
    macro: str = ""
    limits: Span = field(default_factory=lambda: Span(0, 1 << 62))

    def span(self, node: Node) -> Span:
        """Bytes of ``node`` in the file."""
        return Span(node.start_byte + self.base, node.end_byte + self.base)


class ParsedFile:
    """A text with its tokens, conditionals and trees, each made on first use.

    Args:
        source: the text. Trees, spans and edits all use its byte offsets.
        foreign: what `foreign` is, where an earlier state of the text decided it; None: its conditionals decide.
        facts: what a compiler front end knows about the text; without ``--facts`` nothing.
    """

    def __init__(
        self, source: SourceFile, foreign: list[tuple[Span, Reach]] | None = None, facts: TextFacts = NO_FACTS
    ) -> None:
        self.source = source
        self.data = source.data
        self.facts = facts
        self._foreign = foreign
        self._own_scopes: dict[bytes, tuple[OwnScope, ...]] = {}

    @cached_property
    def scan(self) -> Scan:
        """Tokens (no tree needed)."""
        return scan(self.data)

    @cached_property
    def conditionals(self) -> list[Conditional]:
        """Preprocessor conditionals, outer ones first."""
        return conditionals(self.data, self.scan.directives)

    @cached_property
    def foreign(self) -> list[tuple[Span, Reach]]:
        """Text that only AMD builds or only CUDA builds see: left alone."""
        return foreign_regions(self.conditionals) if self._foreign is None else self._foreign

    def reach(self, offset: int) -> Reach:
        """Which builds see the byte at ``offset``."""
        for span, reach in self.foreign:
            if span.start <= offset < span.end:
                return reach
        return Reach.SHARED

    @cached_property
    def defined(self) -> frozenset[bytes]:
        """Names that the text itself defines as macros."""
        return frozenset(name for name, _ in self._macros)

    def is_own(self, offset: int, name: bytes) -> bool:
        """Whether the unqualified ``name`` at ``offset`` is what a class or namespace around it declares in this text.

        The front end's answer goes first; the syntax tree's is for text without one.
        """
        known = self.facts.is_own(offset)
        if known is not None:
            return known
        scopes = self._own_scopes.get(name)
        if scopes is None:
            scopes = own_scopes(self.tree.root, self.data, self._places.get(name, ()), len(name))
            self._own_scopes[name] = scopes
        return any(scope.holds(offset) for scope in scopes) or (
            bool(scopes) and continued(self.tree.root, self.data, offset, scopes)
        )

    def own_declaration(self, offset: int, name: bytes) -> bool:
        """Whether the ``name`` at ``offset`` is declared there, in a class, enumeration or namespace of the text."""
        return self.is_own(offset, name) and any(s.declared == offset for s in self._own_scopes.get(name, ()))

    @cached_property
    def _places(self) -> dict[bytes, list[int]]:
        places: dict[bytes, list[int]] = {}
        for start, name in self.scan.identifiers:
            places.setdefault(name, []).append(start)
        return places

    @cached_property
    def _macros(self) -> list[tuple[bytes, Span]]:
        """Name and body span of every ``#define``."""
        found = []
        for directive in self.scan.directives:
            if directive.keyword != "define":
                continue
            text = self.data[directive.rest.start : directive.rest.end]
            stripped = text.lstrip(b" \t\\\r\n")
            at = directive.rest.start + len(text) - len(stripped)
            length = 0
            while length < len(stripped) and (stripped[length : length + 1].isalnum() or stripped[length] == 0x5F):
                length += 1
            name = stripped[:length]
            body = at + length
            if stripped[length : length + 1] == b"(":
                close = stripped.find(b")", length)
                body = at + (close + 1 if close >= 0 else len(stripped))
            found.append((name, Span(body, max(body, directive.span.end))))
        return found

    @cached_property
    def _blanked(self) -> bytes:
        return blanked(self.scan, self.defined)

    @cached_property
    def bounded(self) -> bool:
        """False for text nested or drawn out so far that it gets no tree: tokens are all there is."""
        return _UNBOUNDED.search(self.data) is None

    @cached_property
    def tree(self) -> Fragment:
        """The file itself; an empty tree when the text is not `bounded`."""
        if not self.bounded:
            return Fragment(_parser().parse(b"").root_node, 0, b"")
        return Fragment(_parser().parse(self._blanked).root_node, 0, self._blanked)

    @cached_property
    def macro_bodies(self) -> tuple[Fragment, ...]:
        """Macro bodies of more than one token, parsed as function bodies, or as declarations if that fits better."""
        return tuple(self._parse_macros()) if self.bounded else ()

    def fragments(self) -> Iterator[Fragment]:
        """The file, then its macro bodies."""
        yield self.tree
        yield from self.macro_bodies

    @cached_property
    def errors(self) -> list[Span]:
        """ERROR and MISSING nodes of the file's tree, in order."""
        root = self.tree.root
        if not root.has_error:
            return []
        captures = QueryCursor(_error_query()).captures(root)
        return sorted(self.tree.span(node) for nodes in captures.values() for node in nodes)

    def text(self, span: Span) -> bytes:
        """The file's own bytes."""
        return self.data[span.start : span.end]

    def node_text(self, fragment: Fragment, node: Node) -> bytes:
        """The file's own bytes of a node (not blanked)."""
        return self.data[node.start_byte + fragment.base : node.end_byte + fragment.base]

    def _parse_macros(self) -> Iterator[Fragment]:
        for directive in self.scan.directives:
            if directive.keyword == "define":
                break
        else:
            return
        starts = [d.span.start for d in self.scan.directives if d.keyword == "define"]
        for start, (name, body) in zip(starts, self._macros, strict=True):
            content = self._blanked[body.start : body.end]
            if len(content.split(None, 1)) < 1 or not (b"(" in content or b"<" in content or b"[" in content):
                continue
            content = content.replace(b"\\\r\n", b"   ").replace(b"\\\n", b"  ")
            pad = b" " * (body.start - start - len(_BODY_OPENING))
            as_body = _BODY_OPENING + pad + content + b"\n;}"
            root = _parser().parse(as_body).root_node
            if root.has_error:
                as_file = b" " * (body.start - start) + content + b"\n"
                other = _parser().parse(as_file).root_node
                if not other.has_error:
                    as_body, root = as_file, other
            yield Fragment(root, start, as_body, name.decode("utf-8", "replace"), body)


def matches(query: Query, node: Node, limits: Span | None = None) -> list[tuple[int, dict[str, list[Node]]]]:
    """Matches of ``query`` below ``node``: pattern number and captures."""
    cursor = QueryCursor(query)
    if limits is not None:
        cursor.set_byte_range(limits.start, limits.end)
    return cursor.matches(node)


def inside_error(node: Node) -> bool:
    """True when ``node`` holds, or lies in, an ERROR or MISSING node."""
    if node.has_error:
        return True
    parent = node.parent
    while parent is not None:
        if parent.type == "ERROR":
            return True
        parent = parent.parent
    return False
