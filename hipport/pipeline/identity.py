"""The run key: everything besides a file's bytes that decides its translation.

Contents are hashed, not times, so that the key is the same on every machine and may stand in a manifest. It is computed
without importing the engine: a run that finds everything up to date imports neither tree-sitter nor the rulebook.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path

from hipport import __version__
from hipport.core import TranslateOptions
from hipport.core.files import package_root, rules_root
from hipport.emit.manifest import options_to_json

_CODE = (
    "core",
    "syntax",
    "semantics",
    "rulebook",
    "rewrite",
    "include/hipport/cute",  # tables of tiles, which rules read
    "pipeline/kinds.py",
    "pipeline/engine.py",
    "pipeline/project.py",
)


def rulebook_identity(rule_folders: Sequence[Path] = ()) -> str:
    """Hash of hipport's rules, the given rule folders and the code that applies them (hex)."""
    digest = hashlib.sha256(__version__.encode())
    package = package_root()
    for name in _CODE:
        _add(digest, package / name, name)
    for number, folder in enumerate((rules_root(), *rule_folders)):
        _add(digest, folder, f"rules{number}")
    return digest.hexdigest()


def run_key(identity: str, options: TranslateOptions, project: str) -> str:
    """Short hash of rules, engine, options and what is known about the tree (16 hex digits)."""
    text = json.dumps([identity, options_to_json(options), project], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _add(digest: hashlib._Hash, path: Path, name: str) -> None:
    """Every file of a folder counts: rules may read data of any kind."""
    if path.is_file():
        digest.update(f"{name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for file in sorted(files):
            if not file.startswith(".") and not file.endswith(("~", ".md")):
                full = Path(folder, file)
                data = full.read_bytes()
                shown = f"{name}/{full.relative_to(path).as_posix()}"
                digest.update(f"{shown}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
                digest.update(data)
