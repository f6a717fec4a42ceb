"""The only module that touches libclang: parse a unit, collect facts about its main file.

Runs in the worker process. libclang comes from the libclang-ng package; the compiler's own headers and the standard
library come from an installed clang++, because the package's copies belong to no system.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

from clang import cindex

from hipport.semantics.facts import Expansion, Reference, Side, UnitFacts

_K = cindex.CursorKind
_FUNCTIONS = {
    _K.FUNCTION_DECL,
    _K.CXX_METHOD,
    _K.CONSTRUCTOR,
    _K.DESTRUCTOR,
    _K.FUNCTION_TEMPLATE,
    _K.CONVERSION_FUNCTION,
}
_KINDS = {
    _K.FUNCTION_DECL: "function",
    _K.FUNCTION_TEMPLATE: "function",
    _K.CXX_METHOD: "function",
    _K.CONSTRUCTOR: "function",
    _K.CONVERSION_FUNCTION: "function",
    _K.OVERLOADED_DECL_REF: "function",
    _K.VAR_DECL: "variable",
    _K.PARM_DECL: "variable",
    _K.TEMPLATE_NON_TYPE_PARAMETER: "variable",
    _K.FIELD_DECL: "field",
    _K.ENUM_CONSTANT_DECL: "enumerator",
    _K.STRUCT_DECL: "type",
    _K.CLASS_DECL: "type",
    _K.CLASS_TEMPLATE: "type",
    _K.UNION_DECL: "type",
    _K.ENUM_DECL: "type",
    _K.TYPEDEF_DECL: "type",
    _K.TYPE_ALIAS_DECL: "type",
}
_REFERENCES = {_K.DECL_REF_EXPR, _K.MEMBER_REF_EXPR, _K.TYPE_REF, _K.OVERLOADED_DECL_REF, _K.TEMPLATE_REF}
_ERRORS_KEPT = 20


def standard_flags(clang: str) -> list[str]:
    """Where an installed clang++ has its own headers and the C++ standard library.

    Raises:
        OSError, subprocess.CalledProcessError: the compiler does not start.
    """
    resource = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    probe = subprocess.run(
        [clang, "-E", "-v", "-x", "c++", "-"], input="", capture_output=True, text=True, check=True
    ).stderr
    listed = probe.partition("#include <...> search starts here:")[2].partition("End of search list.")[0]
    flags = ["-resource-dir", resource, "-nostdinc++"]
    for line in listed.splitlines():
        if "c++" in line:
            flags += ["-isystem", line.strip()]
    return flags


def collect(path: str, flags: list[str]) -> UnitFacts:
    """Parse ``path`` and collect facts about it.

    Raises:
        clang.cindex.TranslationUnitLoadError: libclang gave up.
    """
    unit = cindex.Index.create().parse(path, flags, options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    collector = _Collector(path)
    collector.walk(unit.cursor)
    errors = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    names = sorted({str(include.include) for include in unit.get_includes()})
    return UnitFacts(
        collector.types, collector.references, collector.functions, collector.expansions,
        (path, *names), tuple(errors[:_ERRORS_KEPT]),
    )  # fmt: skip


class _Collector:
    def __init__(self, path: str) -> None:
        self._path = path
        self.types: dict[tuple[int, int], str] = {}
        self.references: dict[tuple[int, int], Reference] = {}
        self.functions: dict[tuple[int, int], Side] = {}
        self.expansions: dict[tuple[int, int], Expansion] = {}

    def walk(self, root: Any) -> None:
        """Visit what lies in the main file; an explicit stack, because expressions nest deeply."""
        stack = list(self._own(root))
        while stack:
            cursor = stack.pop()
            self._visit(cursor)
            stack.extend(self._own(cursor))

    def _own(self, cursor: Any) -> Iterator[Any]:
        for child in cursor.get_children():
            file = child.location.file
            if child.kind is _K.LINKAGE_SPEC if file is None else file.name == self._path:
                yield child

    def _visit(self, cursor: Any) -> None:
        kind = cursor.kind
        span = (cursor.extent.start.offset, cursor.extent.end.offset)
        if kind is _K.MACRO_INSTANTIATION:
            definition = cursor.get_definition()
            self.expansions[span] = Expansion(cursor.spelling, self._file(definition))
        elif kind in _FUNCTIONS and cursor.is_definition():
            self.functions[span] = _side(cursor)
        if kind.is_expression() and span[0] < span[1]:
            text = cursor.type.spelling
            if text and not text.startswith("<") and "type-parameter" not in cursor.type.get_canonical().spelling:
                # The outermost cursor of a span is visited first and carries the implicit conversions; keep the
                # innermost: the type as written.
                self.types[span] = text
        if kind in _REFERENCES:
            self._reference(cursor)

    def _reference(self, cursor: Any) -> None:
        target = cursor.referenced
        if target is not None and target.kind is _K.OVERLOADED_DECL_REF:
            # Inside a template: several candidates. Only unanimous ones are a fact.
            targets = [t for t in _overloads(target) if t.kind in _KINDS]
            if not targets or len({bool(t.location.is_in_system_header) for t in targets}) != 1:
                return
            target = targets[0]
        if target is None or target.kind not in _KINDS:
            return
        name = cursor.spelling.rsplit("::", 1)[-1].split(" ")[-1]
        start = cursor.location.offset
        where = target.location
        found = Reference(
            _qualified(target),
            _KINDS[target.kind],
            self._file(target),
            bool(where.file is None or where.is_in_system_header),
        )
        self.references[start, start + len(name.encode())] = found

    def _file(self, cursor: Any) -> str:
        if cursor is None or cursor.location.file is None or cursor.location.file.name == self._path:
            return ""
        return str(cursor.location.file.name)


def _overloads(cursor: Any) -> list[Any]:
    """Candidates of an unresolved call. The binding lacks a wrapper, so the unit is handed over by hand."""
    found = []
    for number in range(cindex.conf.lib.clang_getNumOverloadedDecls(cursor)):
        candidate = cindex.conf.lib.clang_getOverloadedDecl(cursor, number)
        candidate._tu = cursor._tu
        found.append(candidate)
    return found


def _qualified(cursor: Any) -> str:
    parts = [cursor.spelling]
    parent = cursor.semantic_parent
    while parent is not None and parent.kind is not _K.TRANSLATION_UNIT:
        if parent.spelling and parent.kind in (*_KINDS, _K.NAMESPACE):
            parts.append(parent.spelling)
        parent = parent.semantic_parent
    return "::".join(reversed(parts))


def _side(cursor: Any) -> Side:
    kinds = {child.kind for child in cursor.get_children()}
    if _K.CUDAGLOBAL_ATTR in kinds:
        return Side.KERNEL
    if _K.CUDADEVICE_ATTR in kinds:
        return Side.BOTH if _K.CUDAHOST_ATTR in kinds else Side.DEVICE
    return Side.HOST
