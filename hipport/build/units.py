"""Which files are translation units, and with which include folders each compiles."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from hipport.build.extensions import Extension, find_extensions
from hipport.build.settings import BuildSettings
from hipport.build.tree import SOURCE_SUFFIXES, Tree
from hipport.core import HipportError

_DEVICE_SUFFIXES = frozenset({".cu", ".hip"})
_TORCH_FOLDERS = ("torch/", "ATen/", "c10/")

CUTE = "include/hipport/cute/"  # what code that is written with CuTe includes of hipport
OVERLAY = f"{CUTE}overlay"  # stands in for some headers of CUTLASS
_CUTLASS = re.compile(r"/include/(?:cute|cutlass)/")


@dataclass(frozen=True, slots=True)
class Unit:
    """One translation unit.

    Attributes:
        path: relative to the tree root.
        device: it is compiled for the GPU too; a host-only unit gives no code object.
        include_dirs: relative to the tree root, or absolute; in search order.
        defines: ``NAME`` or ``NAME=VALUE``.
        uses_torch: it reaches a header of PyTorch.
        reached: files of the tree that it may include, itself first; a superset, found by scanning text.
        extension: name of the Python extension that lists it in a ``setup.py``; empty when none does.
    """

    path: str
    device: bool
    include_dirs: tuple[str, ...]
    defines: tuple[str, ...]
    uses_torch: bool
    reached: tuple[str, ...]
    extension: str = ""


def find_units(tree: Tree, settings: BuildSettings) -> tuple[Unit, ...]:
    """The units that the settings choose, sorted by path.

    A ``.cu`` or ``.hip`` file is a unit with device code, a ``.cpp`` file one when kernels or launches are in it or in
    a header of the tree that it includes; other C++ files are host-only. A file that another includes is no unit.

    Raises:
        HipportError: a pattern of ``units`` or ``kernels`` matches nothing.
    """
    included = {
        inner
        for path in tree.files
        if PurePosixPath(path).suffix in SOURCE_SUFFIXES
        for include in tree.facts(path).includes
        if (inner := tree.in_folder(posixpath.dirname(path), include.path)) is not None
    }
    candidates = [
        path
        for path in tree.files
        if PurePosixPath(path).suffix in SOURCE_SUFFIXES
        and path not in included
        and not _matches(path, settings.exclude)
    ]
    if settings.units:
        _all_used(settings.units, candidates, "unit")
        candidates = [path for path in candidates if _matches(path, settings.units)]
    owners = {source: ext for ext in find_extensions(tree) for source in ext.sources}
    units = tuple(_unit(tree, path, settings, owners.get(path)) for path in candidates)
    if not settings.kernels:
        return units
    chosen = tuple(unit for unit in units if _defines_kernel(tree, unit, settings.kernels))
    if not chosen:
        raise HipportError(
            f"no unit reaches a kernel named {' or '.join(settings.kernels)}", "list kernels with: hipport build --plan"
        )
    return chosen


def _unit(tree: Tree, path: str, settings: BuildSettings, extension: Extension | None) -> Unit:
    include_dirs, reached, uses_torch = reach(tree, path, settings.include_dirs)
    if any(file.startswith(CUTE) or _CUTLASS.search(file) for file in reached) and tree.has_folder(OVERLAY):
        include_dirs = (OVERLAY, *include_dirs)
    device = PurePosixPath(path).suffix in _DEVICE_SUFFIXES or any(
        tree.facts(file).has_kernels or tree.facts(file).has_launches for file in reached
    )
    defines = settings.defines
    if extension is not None and uses_torch:
        defines = (f"TORCH_EXTENSION_NAME={extension.name}", *defines)
    return Unit(path, device, include_dirs, defines, uses_torch, reached, extension.name if extension else "")


def reach(tree: Tree, path: str, given: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Follow the includes of a unit through the tree.

    An include that neither the including file's folder nor the folders so far resolve is looked up in the whole tree;
    the folder that makes it resolve is added (the one nearest to the unit when several do). A plain ``<name.h>`` never
    adds a folder: it may be a system header.

    Returns:
        Include folders in search order, the files reached (the unit first), and whether a PyTorch header is among the
        includes that the tree does not have.
    """
    folders = list(given)
    reached = {path: None}
    queue = [path]
    torch = False
    while queue:
        current = queue.pop(0)
        for include in tree.facts(current).includes:
            places = [posixpath.dirname(current)] if include.quoted else []
            found = next((f for place in places + folders if (f := tree.in_folder(place, include.path))), None)
            if found is None and (include.quoted or "/" in include.path):
                # The overlay stands before CUTLASS on the include path; what is looked for here is CUTLASS's folder.
                places = [f for f in tree.ending_in(posixpath.normpath(include.path)) if not f.startswith(OVERLAY)]
                found = _nearest(places, path)
                if found is not None:
                    folders.append(found[: -len(posixpath.normpath(include.path)) - 1])
            if found is None:
                torch = torch or include.path.startswith(_TORCH_FOLDERS)
            elif found not in reached:
                reached[found] = None
                queue.append(found)
    return tuple(folders), tuple(reached), torch


def _nearest(paths: Sequence[str], unit: str) -> str | None:
    """Of several files, the one that shares most leading folders with the unit; then the shortest, then the first."""
    parts = unit.split("/")

    def distance(path: str) -> tuple[int, int, str]:
        shared = 0
        for mine, theirs in zip(parts, path.split("/"), strict=False):
            if mine != theirs:
                break
            shared += 1
        return -shared, path.count("/"), path

    return min(paths, key=distance, default=None)


def _defines_kernel(tree: Tree, unit: Unit, patterns: Sequence[str]) -> bool:
    names: set[str] = set()
    for file in unit.reached:
        if tree.facts(file).has_kernels:
            text = (tree.root / file).read_text(encoding="utf-8", errors="replace")
            for match in re.finditer(r"__global__\b", text):
                if name := kernel_name(text[match.end() : match.end() + 400]):
                    names.add(name)
            # A macro whose first parameter is the kernel's name, and what it is used with.
            for macro in re.finditer(r"#define[ \t]+(\w+)\([ \t]*(\w+)[^)]*\)(?:[^\n]*\\\r?\n)*[^\n]*", text):
                if re.search(rf"__global__\b[^;{{]*\b{macro[2]}[ \t]*\(", macro[0]):
                    names.update(re.findall(rf"\b{macro[1]}\(\s*(\w+)", text))
    return any(fnmatchcase(name, pattern) or pattern in name for name in names for pattern in patterns)


def kernel_name(declaration: str) -> str:
    """Name of the kernel whose declaration goes on after ``__global__``; empty when there is none."""
    head = re.search(r"([A-Za-z_]\w*)\s*\((?!\s*\()", _without_attributes(declaration))
    return head[1] if head else ""


def _without_attributes(text: str) -> str:
    """Blank ``__launch_bounds__(...)`` and attributes: the first name before a parenthesis is then the function's."""
    return re.sub(r"(__launch_bounds__|HIPPORT_\w+|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)", " ", text)


def _matches(path: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(path, p) or fnmatchcase(posixpath.basename(path), p) for p in patterns)


def _all_used(patterns: Sequence[str], paths: Sequence[str], what: str) -> None:
    for pattern in patterns:
        if not any(_matches(path, (pattern,)) for path in paths):
            raise HipportError(f"no {what} matches {pattern!r}", "list them with: hipport build --plan")
