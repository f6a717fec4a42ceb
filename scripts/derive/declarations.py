"""Reads declarations out of vendor headers with libclang.

Bodies are skipped and errors inside a header are tolerated: only names, signatures, enumerator values and struct
fields are wanted. CUDA headers are read as plain C++ with the macros nvcc defines, so that no CUDA support in clang
(which lags behind toolkits) stands between us and the header text.
"""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clang import cindex

K = cindex.CursorKind

# Headers of other packages: the few graphics types that interop headers mention, and what a torch build generates.
_STUBS = "/hipport-stubs"
_STUBBED = {
    "c10/cuda/impl/cuda_cmake_macros.h": "",
    "GL/gl.h": "typedef unsigned int GLuint; typedef unsigned int GLenum; typedef int GLint;",
    "EGL/egl.h": "typedef int EGLint; typedef void *EGLDisplay;",
    "EGL/eglext.h": "typedef void *EGLImageKHR; typedef void *EGLStreamKHR; typedef void *EGLSyncKHR;",
    "vdpau/vdpau.h": "typedef unsigned int VdpDevice, VdpVideoSurface, VdpOutputSurface, VdpStatus, VdpFuncId;"
    "typedef VdpStatus VdpGetProcAddress(VdpDevice, VdpFuncId, void **);",
}

_RECORDS = {K.STRUCT_DECL, K.CLASS_DECL, K.UNION_DECL, K.CLASS_TEMPLATE}
_ALIASES = {K.TYPEDEF_DECL, K.TYPE_ALIAS_DECL, K.TYPE_ALIAS_TEMPLATE_DECL}
_FUNCTIONS = {K.FUNCTION_DECL, K.FUNCTION_TEMPLATE}


@dataclass(frozen=True)
class Signature:
    """One overload: spelled parameter types, how many arguments a call needs at least, and the result type."""

    parameters: tuple[str, ...]
    canonical: tuple[str, ...]
    required: int
    result: str
    variadic: bool = False
    template: bool = False


@dataclass
class Declaration:
    """Everything headers say about one name.

    Attributes:
        name: unqualified, or ``ns::name`` inside a namespace.
        kind: function, type, enum (an enumerator) or macro.
        header: path relative to its include root.
        signatures: overloads of a function.
        value: of an enumerator.
        enum: type an enumerator belongs to.
        fields: names of a record's members.
        macro_of: identifier that a macro of this name stands for.
        canonical: what a typedef finally stands for.
        deprecated: carries a deprecation attribute.
    """

    name: str
    kind: str
    header: str
    signatures: list[Signature] = field(default_factory=list)
    value: int | None = None
    enum: str = ""
    fields: tuple[str, ...] = ()
    macro_of: str = ""
    canonical: str = ""
    deprecated: bool = False


Declarations = dict[str, Declaration]


@functools.cache
def system_flags(clang: str) -> tuple[str, ...]:
    """Flags that give libclang the resource and standard library headers of an installed clang++."""
    resource = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True, check=True).stdout.strip()
    probe = subprocess.run([clang, "-E", "-v", "-x", "c++", "/dev/null"], capture_output=True, text=True, check=True)
    listed = probe.stderr.split("#include <...> search starts here:", 1)[1].split("End of search list.", 1)[0]
    standard = [line.strip() for line in listed.splitlines() if "c++" in line]
    flags = ["-resource-dir", resource, "-nostdinc++"]
    for directory in standard:
        flags += ["-isystem", directory]
    return tuple(flags)


def resource_includes(clang: str) -> Path:
    """Folder of clang's own headers."""
    return Path(system_flags(clang)[1]) / "include"


def read(source: str, flags: list[str], roots: list[Path], clang: str, fatal: bool = True) -> Declarations:
    """Declarations that lie below ``roots`` when ``source`` (text that includes headers) is parsed.

    Raises:
        RuntimeError: a header was not found, so the result would silently lack names.
    """
    options = (
        cindex.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES | cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
    )
    arguments = [*flags, *system_flags(clang), f"-I{_STUBS}", "-ferror-limit=0", "-w"]
    stubs = [(f"{_STUBS}/{name}", text) for name, text in _STUBBED.items()]
    unit = cindex.Index.create().parse("probe.cpp", arguments, [("probe.cpp", source), *stubs], options)
    missing = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Fatal]
    if missing and fatal:
        raise RuntimeError("; ".join(missing))
    found: Declarations = {}
    _Collector([str(root.resolve()) + "/" for root in roots], found).walk(unit.cursor, "")
    return found


class _Collector:
    def __init__(self, roots: list[str], found: Declarations) -> None:
        self._roots = roots
        self._found = found
        self._headers: dict[str, str] = {}

    def _header(self, cursor: cindex.Cursor) -> str:
        file = cursor.location.file
        if file is None:
            return ""
        known = self._headers.get(file.name)
        if known is None:
            path = str(Path(file.name).resolve())
            known = next((path[len(root) :] for root in self._roots if path.startswith(root)), "")
            self._headers[file.name] = known
        return known

    def walk(self, cursor: cindex.Cursor, prefix: str) -> None:
        for child in cursor.get_children():
            kind = child.kind
            if kind is K.LINKAGE_SPEC or kind is K.UNEXPOSED_DECL:
                self.walk(child, prefix)
                continue
            header = self._header(child)
            if not header:
                continue
            name = child.spelling
            if kind is K.NAMESPACE:
                inner = f"{prefix}{name}::" if name and not _is_inline(child) else prefix
                self.walk(child, inner)
            elif kind in _FUNCTIONS:
                self._function(child, prefix + name, header)
            elif kind is K.ENUM_DECL:
                self._enum(child, prefix, header)
            elif kind in _RECORDS or kind in _ALIASES:
                self._type(child, prefix + name, header)
            elif kind is K.MACRO_DEFINITION:
                self._macro(child, header)
            elif kind is K.VAR_DECL:
                self._add(prefix + name, "macro", header)

    def _add(self, name: str, kind: str, header: str) -> Declaration:
        known = self._found.get(name)
        if known is None:
            known = self._found[name] = Declaration(name, kind, header)
        elif known.kind == "macro":
            known.kind, known.header = kind, header
        elif known.header == "cuda_device_runtime_api.h":
            known.header = header  # the copy for device code comes first, users mean the other
        return known

    def _function(self, cursor: cindex.Cursor, name: str, header: str) -> None:
        parameters = [c for c in cursor.get_children() if c.kind is K.PARM_DECL]
        required = sum(1 for p in parameters if not _has_default(p))
        signature = Signature(
            tuple(p.type.spelling for p in parameters),
            tuple(p.type.get_canonical().spelling for p in parameters),
            required,
            cursor.result_type.spelling,
            cursor.type.is_function_variadic() if cursor.kind is K.FUNCTION_DECL else False,
            cursor.kind is K.FUNCTION_TEMPLATE,
        )
        entry = self._add(name, "function", header)
        entry.deprecated |= cursor.availability is cindex.AvailabilityKind.DEPRECATED
        if signature not in entry.signatures:
            entry.signatures.append(signature)

    def _enum(self, cursor: cindex.Cursor, prefix: str, header: str) -> None:
        name = cursor.spelling if not cursor.is_anonymous() and "(unnamed" not in cursor.spelling else ""
        if name:
            self._add(prefix + name, "type", header)
        for constant in cursor.get_children():
            if constant.kind is K.ENUM_CONSTANT_DECL:
                entry = self._add(prefix + constant.spelling, "enum", header)
                entry.value, entry.enum = constant.enum_value, name

    def _type(self, cursor: cindex.Cursor, name: str, header: str) -> None:
        if not cursor.spelling or "(" in name:
            return
        entry = self._add(name, "type", header)
        if cursor.kind in _ALIASES:
            entry.canonical = cursor.underlying_typedef_type.get_canonical().spelling
            underlying = cursor.underlying_typedef_type.get_declaration()
            if underlying.kind in _RECORDS and not entry.fields:
                entry.fields = _fields(underlying)
            if underlying.kind is K.ENUM_DECL:
                for constant in underlying.get_children():
                    known = self._found.get(constant.spelling)
                    if known is not None and not known.enum:
                        known.enum = cursor.spelling
        elif not entry.fields:
            entry.fields = _fields(cursor)

    def _macro(self, cursor: cindex.Cursor, header: str) -> None:
        name = cursor.spelling
        known = self._found.get(name) or self._add(name, "macro", header)
        tokens = [t.spelling for t in cursor.get_tokens()][1:]
        if len(tokens) == 4 and tokens[0].startswith("__CUDA") and tokens[1] == "(":
            tokens = tokens[2:3]  # __CUDA_API_PTDS(name) chooses a default stream, no other API
        if len(tokens) == 1 and tokens[0].isidentifier():
            known.macro_of = tokens[0]


def resolve_aliases(found: Declarations) -> None:
    """Give a macro that names a declaration (``cuMemAlloc`` -> ``cuMemAlloc_v2``) that declaration's properties.

    Where both a function and a macro of one name exist, the macro was defined behind the function and users get it.
    """
    for entry in found.values():
        seen = {entry.name}
        target = found.get(entry.macro_of)
        while target is not None and target.kind == "macro" and target.name not in seen:
            seen.add(target.name)
            target = found.get(target.macro_of)
        if target is not None and target.kind != "macro" and target.name not in seen:
            entry.kind, entry.signatures, entry.fields = target.kind, target.signatures, target.fields
            entry.value, entry.enum, entry.deprecated = target.value, target.enum, target.deprecated


def _fields(cursor: cindex.Cursor) -> tuple[str, ...]:
    return tuple(_field_names(cursor))


def _field_names(cursor: cindex.Cursor) -> Iterator[str]:
    for child in cursor.get_children():
        if child.kind is K.FIELD_DECL and child.spelling:
            yield child.spelling
        elif child.kind in _RECORDS and child.is_anonymous():
            yield from _field_names(child)


def _is_inline(cursor: cindex.Cursor) -> bool:
    return bool(cindex.conf.lib.clang_Cursor_isInlineNamespace(cursor))


def _has_default(parameter: cindex.Cursor) -> bool:
    """Whether a default argument is there; HIP writes them as a macro, so the token ``=`` proves nothing."""
    is_array = parameter.type.kind in (cindex.TypeKind.CONSTANTARRAY, cindex.TypeKind.DEPENDENTSIZEDARRAY)
    return not is_array and any(child.kind.is_expression() for child in parameter.get_children())
