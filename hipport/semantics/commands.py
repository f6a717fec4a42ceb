"""Compiler flags of a unit: from ``compile_commands.json``, cleaned of what only nvcc knows."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
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


@dataclass(frozen=True, slots=True)
class Command:
    """How one unit is compiled: its file (real path), the compiler as the database names it, and `front_end_flags`."""

    file: str
    compiler: str
    flags: tuple[str, ...]


def read_database(database: Path) -> dict[str, Command]:
    """Commands of a ``compile_commands.json`` by file; of several commands of one file the first.

    Raises:
        HipportError: the database cannot be read or has another form.
    """
    found: dict[str, Command] = {}
    try:
        for entry in json.loads(database.read_text(encoding="utf-8")):
            folder = Path(entry["directory"])
            file = os.path.realpath(Path(folder, entry["file"]))
            arguments = entry.get("arguments") or shlex.split(entry["command"])
            if file not in found:
                found[file] = Command(file, arguments[0], tuple(front_end_flags(arguments[1:], folder)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise HipportError(f"{database}: no compile database: {error}", "make it with cmake or bear") from error
    return found


def compile_flags(database: Path, source: Path) -> list[str] | None:
    """Flags of one source file; None when the database does not know it.

    Raises:
        HipportError: the database cannot be read or has another form.
    """
    command = read_database(database).get(os.path.realpath(source))
    return None if command is None else list(command.flags)


# Every branch of the text that a device of this level sees; host code is read in the device pass as well.
_DEVICE_PASS = ("-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudalib", "--no-cuda-version-check")
_RUNTIME = "cuda_runtime.h"


def cuda_flags(cuda: Path | None, flags: Sequence[str]) -> list[str]:
    """Arguments with which clang reads CUDA text as nvcc does: language, device pass, CUDA's headers, the unit's flags.

    Args:
        cuda: root of a CUDA toolkit, see `find_cuda`.
        flags: of the unit.

    Raises:
        HipportError: there is no toolkit, and no include path of ``flags`` holds ``cuda_runtime.h``.
    """
    if cuda is not None:
        return [*_DEVICE_PASS, f"--cuda-path={cuda}", *flags]
    folders = [Path(value) for option, value in pairwise(flags) if option in ("-I", "-isystem")]
    if any((folder / _RUNTIME).is_file() for folder in folders):
        return [*_DEVICE_PASS, "-nocudainc", *flags, "-include", _RUNTIME]
    raise HipportError(
        f"no CUDA headers: no toolkit was found, and no include path holds {_RUNTIME}",
        "name the toolkit by cuda_path in hipport.toml, or add the folder of its headers to include",
    )


def find_cuda(compilers: Iterable[str] = ()) -> Path | None:
    """Root of a CUDA toolkit: of an nvcc among ``compilers``, of CUDA_PATH or CUDA_HOME, of PATH, the usual place."""
    named = [os.environ.get("CUDA_PATH", ""), os.environ.get("CUDA_HOME", "")]
    tools = [compiler for compiler in compilers if Path(compiler).name == "nvcc"]
    roots = [Path(os.path.realpath(tool)).parent.parent for tool in tools if os.sep in tool]
    roots += [Path(name) for name in named if name]
    if nvcc := shutil.which("nvcc"):
        roots.append(Path(os.path.realpath(nvcc)).parent.parent)
    roots.append(Path("/usr/local/cuda"))
    return next((root for root in roots if (root / "include" / _RUNTIME).is_file()), None)
