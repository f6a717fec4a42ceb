"""The only module that touches libclang: parse a unit, collect facts about the files of the tree that it reads.

Runs in the worker process. libclang comes from the libclang-ng package; the compiler's own headers and the standard
library come from an installed clang++, because the package's copies belong to no system.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from clang import cindex

from hipport.core.facts import Expansion, Reference, Side, UnitFacts

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
_ALIASES = {_K.TYPEDEF_DECL, _K.TYPE_ALIAS_DECL}
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


def collect(path: str, flags: list[str], root: str = "") -> dict[str, UnitFacts]:
    """Parse ``path``; facts about it and about every file below ``root`` that it includes, by absolute path.

    Args:
        path: main file, absolute.
        flags: of clang.
        root: the tree, absolute; empty: facts about the main file only.

    Raises:
        clang.cindex.TranslationUnitLoadError: libclang gave up.
    """
    unit = cindex.Index.create().parse(path, flags, options=cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD)
    collector = _Collector(path, root)
    collector.walk(unit.cursor)
    errors = [d.spelling for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error and not _wrapped(d)]
    names = sorted({str(include.include) for include in unit.get_includes()})
    main = replace(collector.files[path], dependencies=(path, *names), errors=tuple(errors[:_ERRORS_KEPT]))
    return {**collector.files, path: main}


def _wrapped(diagnostic: Any) -> bool:
    """The compiler's own wrapper around CUDA's headers wants one that this toolkit lacks: not the program's fault."""
    file = diagnostic.location.file
    return file is not None and os.path.basename(file.name) == "__clang_cuda_runtime_wrapper.h"  # noqa: PTH119


class _Collector:
    """Facts by file. libclang gives a file as the include path spells it; files of the tree are known by real path."""

    def __init__(self, path: str, root: str) -> None:
        self._main = path
        self._root = root.rstrip(os.sep) + os.sep if root else ""
        self.files: dict[str, UnitFacts] = {path: UnitFacts({}, {}, {}, {})}
        self._known = cache(self._find)

    def _find(self, name: str) -> str:
        """Path of a file of the tree, empty for any other."""
        if name == self._main:
            return name
        real = os.path.realpath(name)
        if real == self._main or not self._root or not real.startswith(self._root):
            return self._main if real == self._main else ""
        self.files.setdefault(real, UnitFacts({}, {}, {}, {}))
        return real

    def walk(self, root: Any) -> None:
        """Visit what lies in the tree; an explicit stack, because expressions nest deeply."""
        stack = list(self._own(root))
        while stack:
            path, cursor = stack.pop()
            self._visit(self.files[path], path, cursor)
            stack.extend(self._own(cursor, path))

    def _own(self, cursor: Any, around: str = "") -> Iterator[tuple[str, Any]]:
        for child in cursor.get_children():
            file = child.location.file
            if file is None:
                if child.kind is _K.LINKAGE_SPEC:  # it has no place of its own
                    yield around or self._main, child
            elif path := self._known(file.name):
                yield path, child

    def _visit(self, facts: Any, path: str, cursor: Any) -> None:
        kind = cursor.kind
        span = (cursor.extent.start.offset, cursor.extent.end.offset)
        if kind is _K.MACRO_INSTANTIATION:
            definition = cursor.get_definition()
            facts.expansions[span] = Expansion(cursor.spelling, self._file(definition, path))
        elif kind in _FUNCTIONS and cursor.is_definition():
            facts.functions[span] = _side(cursor)
        if kind.is_expression() and span[0] < span[1]:
            text = cursor.type.spelling
            if text and not text.startswith("<") and "type-parameter" not in cursor.type.get_canonical().spelling:
                # The outermost cursor of a span is visited first and carries the implicit conversions; keep the
                # innermost: the type as written.
                facts.types[span] = text
        if kind in _REFERENCES:
            self._reference(facts, path, cursor)
        elif kind in _KINDS and cursor.spelling.isidentifier():
            self._name(facts, path, cursor, cursor)

    def _reference(self, facts: Any, path: str, cursor: Any) -> None:
        target = cursor.referenced
        if target is not None and target.kind is _K.OVERLOADED_DECL_REF:
            # Inside a template: several candidates. Only unanimous ones are a fact.
            targets = [t for t in _overloads(target) if t.kind in _KINDS]
            if not targets or len({bool(t.location.is_in_system_header) for t in targets}) != 1:
                return
            target = targets[0]
        if target is None or target.kind not in _KINDS:
            return
        self._name(facts, path, cursor, target)

    def _name(self, facts: Any, path: str, cursor: Any, target: Any) -> None:
        """What the name that ``cursor`` writes means."""
        name = cursor.spelling.rsplit("::", 1)[-1].split(" ")[-1]
        start = cursor.location.offset
        where = target.location
        qualified = _qualified(target)
        file = where.file.name if where.file is not None else ""
        own = bool(file and self._known(file)) and ("::" in qualified or self._defines(target))
        facts.references[start, start + len(name.encode())] = Reference(
            qualified,
            _KINDS[target.kind],
            self._file(target, path),
            bool(where.file is None or where.is_in_system_header),
            own,
        )

    def _defines(self, target: Any) -> bool:
        """The tree holds the only declaration or the definition: nothing that could repeat a vendor's."""
        if target.kind in _ALIASES or target.canonical.location.is_in_system_header:
            return False
        definition = target.get_definition()
        file = definition.location.file if definition is not None else None
        return file is not None and bool(self._known(file.name))

    def _file(self, cursor: Any, path: str) -> str:
        if cursor is None or cursor.location.file is None:
            return ""
        name = str(cursor.location.file.name)
        known = self._known(name)
        if known == path:
            return ""
        return os.path.relpath(known, self._root) if known and self._root else name


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
