"""What the translator knows about the tree around a file: its files, and the CUDA-like names that are its own."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hipport.pipeline.kinds import Kind, kind_of

_LIKE_CUDA = rb"(?:cu|CU|nv|NV|nccl|NCCL|__)\w+"
_MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(" + _LIKE_CUDA + rb")", re.MULTILINE)
_TYPE = re.compile(
    rb"^[ \t]*(?:typedef[ \t]+)?(?:struct|class|enum|enum[ \t]+class|union|namespace)[ \t]+(" + _LIKE_CUDA + rb")"
    rb"[ \t]*(?:final[ \t]*)?(?::[^:;{]*)?\r?\n?[ \t]*\{",
    re.MULTILINE,
)
_ALIAS = re.compile(rb"^[ \t]*using[ \t]+(" + _LIKE_CUDA + rb")[ \t]*=", re.MULTILINE)
_FUNCTION = re.compile(rb"^[A-Za-z_][^\n;{}()=#]*[\s*&](" + _LIKE_CUDA + rb")[ \t]*\(", re.MULTILINE)
_BODY = re.compile(rb"\s*(?:const\b\s*)?(?:noexcept\b\s*)?\{")
_INCLUDE = re.compile(rb"""^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)""", re.MULTILINE)
_USES_RUNTIME = re.compile(rb"__global__|__device__|__shared__|<<<|\bcuda(?:Error_t|Stream_t|Event_t|[A-Z]\w+[ \t]*\()")
# Headers of the C and C++ libraries, and of CUDA those that become no more than HIP's types and API.
_WITHOUT_RUNTIME = re.compile(
    r"[a-z_0-9]+|(?:assert|complex|ctype|dirent|errno|fcntl|fenv|float|getopt|inttypes|limits|locale|malloc|math|memory|omp"
    r"|pthread|signal|stdarg|stdbool|stddef|stdint|stdio|stdlib|string|strings|time|unistd|wchar)\.h|sys/\w+\.h"
    r"|cuda_runtime_api\.h|driver_types\.h|vector_types\.h|host_defines\.h|builtin_types\.h|experimental/\w+"
)
_LONGEST_PARAMETER_LIST = 4000
_PACKAGE_MARKS = ("setup.py", "pyproject.toml", "PKG-INFO", "upstream.toml", "hipport.toml", ".git")


@dataclass(frozen=True, slots=True)
class Declared:
    """CUDA-like names that a file defines: as macros, and as functions, types, aliases or namespaces at file scope."""

    macros: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def declared(path: str, data: bytes) -> Declared:
    """Names that a source file defines and that look like CUDA's: ``#define CUDA_CHECK``, ``void cudaSafeCall() {``.

    Only definitions count: a project that declares ``cudaStream_t`` to spare itself an include means CUDA's own.
    """
    if kind_of(path, b"") is not Kind.SOURCE:
        return Declared()
    macros = {m[1] for m in _MACRO.finditer(data)}
    names = {m[1] for pattern in (_TYPE, _ALIAS) for m in pattern.finditer(data)}
    names.update(m[1] for m in _FUNCTION.finditer(data) if _has_body(data, m.end()))
    return Declared(_sorted(macros), _sorted(names))


def without_runtime(texts: Mapping[str, bytes], files: Container[str]) -> frozenset[str]:
    """The ``.cu`` files that use the CUDA runtime and rely on nvcc to include it.

    A file that includes something unknown (a library, a file of the tree that is no input) may get it from there.

    Args:
        texts: inputs by path.
        files: all paths of the tree.
    """
    brings: dict[str, bool] = {}

    def may_bring(path: str) -> bool:
        if path not in brings:
            brings[path] = False  # a circle brings nothing by itself
            brings[path] = any(included(path, *match.groups()) for match in _INCLUDE.finditer(texts[path]))
        return brings[path]

    def included(path: str, opening: bytes, target: bytes) -> bool:
        name = target.decode("utf-8", "surrogateescape")
        if opening == b'"':
            for folder in (posixpath.dirname(path), "", "include", "src", "csrc"):
                place = posixpath.normpath(posixpath.join(folder, name))
                if place in texts:
                    return may_bring(place)
                if place in files:
                    return True
        return not _WITHOUT_RUNTIME.fullmatch(name)

    return frozenset(
        path
        for path, data in texts.items()
        if path.endswith(".cu") and _USES_RUNTIME.search(data) and not may_bring(path)
    )


def folders_above(root: Path) -> str:
    """Path of ``root`` in the package that it is a part of (``csrc/flash_attn``); empty for a package's own root.

    A package is what has a build file, upstream's pins or a repository at its top.
    """
    for count, folder in enumerate((root, *root.parents)):
        if any((folder / name).exists() for name in _PACKAGE_MARKS):
            return root.relative_to(folder).as_posix() if count else ""
    return ""


def project_key(files: Iterable[str], macros: Iterable[str], names: Iterable[str], above: str = "") -> str:
    """Hash of a project's facts: part of the run key, because they decide translations."""
    digest = hashlib.sha256()
    for group in (files, macros, names):
        for text in sorted(group):
            digest.update(text.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(b"\n")
    digest.update(above.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def _sorted(found: set[bytes]) -> tuple[str, ...]:
    return tuple(sorted(name.decode("ascii") for name in found if name.isascii()))


def _has_body(data: bytes, start: int) -> bool:
    """True when the parameter list that opens before ``start`` is followed by a function body."""
    depth = 1
    for at in range(start, min(len(data), start + _LONGEST_PARAMETER_LIST)):
        byte = data[at]
        if byte == 0x28:
            depth += 1
        elif byte == 0x29:
            depth -= 1
            if depth == 0:
                return _BODY.match(data, at + 1) is not None
        elif byte == 0x3B:
            return False
    return False
