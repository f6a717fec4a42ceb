"""Compiler flags of a unit: from ``compile_commands.json``, cleaned of what only nvcc knows."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from hipport.core import HipportError

# Options that say something about the program's text; the value may be attached or follow.
_WITH_VALUE = ("-I", "-D", "-U", "-isystem", "-include", "-iquote", "-idirafter")
_LONG_WITH_VALUE = {
    "--include-path": "-I",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--system-include": "-isystem",
    "--pre-include": "-include",
}


def front_end_flags(arguments: Iterable[str], folder: Path) -> list[str]:
    """Flags that decide how the text is read: include paths (made absolute), macros, forced includes, the standard.

    Everything else (architectures, optimisation, output, nvcc's own options) is dropped.

    Args:
        arguments: of an nvcc, g++ or clang command line.
        folder: directory that the command runs in.
    """
    out: list[str] = []
    pending = iter(arguments)
    for argument in pending:
        name, attached = _split(argument)
        if name in ("-Xcompiler", "--compiler-options"):
            inner = attached or next(pending, "")
            out += front_end_flags(inner.replace(",", " ").split(), folder)
        elif name in ("-std", "--std"):
            out.append(f"-std={attached or next(pending, '')}")
        elif name in _WITH_VALUE:
            out += _flag(name, attached or next(pending, ""), folder)
    return out


def _split(argument: str) -> tuple[str, str]:
    """Option and attached value: ``-Ifoo``, ``-std=c++17``, ``--define-macro=X``."""
    head, equals, value = argument.partition("=")
    if head in _LONG_WITH_VALUE:
        return _LONG_WITH_VALUE[head], value
    if head in ("-std", "--std", "-Xcompiler", "--compiler-options") or head in _WITH_VALUE:
        return head, value if equals else ""
    for option in _WITH_VALUE:
        if argument.startswith(option):
            return option, argument[len(option) :]
    return argument, ""


def _flag(name: str, value: str, folder: Path) -> list[str]:
    if name in ("-D", "-U"):
        return [f"{name}{value}"]
    path = value if name == "-include" and not (folder / value).is_file() else str(Path(folder, value))
    return [name, path]


def compile_flags(database: Path, source: Path) -> list[str] | None:
    """Flags of one source file; None when the database does not know it.

    Raises:
        HipportError: the database cannot be read or has another form.
    """
    try:
        entries = json.loads(database.read_text(encoding="utf-8"))
        for entry in entries:
            folder = Path(entry["directory"])
            if os.path.realpath(Path(folder, entry["file"])) == os.path.realpath(source):
                arguments = entry.get("arguments") or shlex.split(entry["command"])
                return front_end_flags(arguments[1:], folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HipportError(f"{database}: no compile database: {error}", "make it with cmake or bear") from error
    return None
