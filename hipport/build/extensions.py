"""Python extensions that a tree's ``setup.py`` files declare: name and sources, read without running them."""

from __future__ import annotations

import ast
import posixpath
from dataclasses import dataclass

from hipport.build.tree import Tree

_CLASSES = frozenset({"CUDAExtension", "CppExtension", "HIPExtension"})


@dataclass(frozen=True, slots=True)
class Extension:
    """One extension module: its name, and its sources relative to the tree root."""

    name: str
    sources: tuple[str, ...]


def find_extensions(tree: Tree) -> tuple[Extension, ...]:
    """Extensions whose name and sources are literals; a file that is not Python is skipped."""
    found: list[Extension] = []
    for path in tree.by_name.get("setup.py", ()):
        try:
            module = ast.parse((tree.root / path).read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        folder = posixpath.dirname(path)
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and _called(node) in _CLASSES:
                extension = _extension(tree, folder, node)
                if extension is not None:
                    found.append(extension)
    return tuple(found)


def _called(node: ast.Call) -> str:
    function = node.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _extension(tree: Tree, folder: str, node: ast.Call) -> Extension | None:
    values = {keyword.arg: keyword.value for keyword in node.keywords}
    name, sources = values.get("name"), values.get("sources")
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str) and isinstance(sources, ast.List)):
        return None
    texts = [item.value for item in sources.elts if isinstance(item, ast.Constant) and isinstance(item.value, str)]
    paths = [path for text in texts if (path := tree.in_folder(folder, text)) is not None]
    return Extension(name.value, tuple(paths)) if paths else None
