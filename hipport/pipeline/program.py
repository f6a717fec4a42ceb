"""``hipport run``: from one CUDA or HIP program to an executable."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from hipport.core import Diagnostic, FileState, HipportError, SourceFile, TranslateOptions
from hipport.core.files import cache_root, include_root, write_atomic
from hipport.hiprt.build import RuntimeFolder
from hipport.hiprt.program import ProgramPlan, build_program
from hipport.pipeline.engine import load_engine, translate_one
from hipport.pipeline.project import declared, without_runtime
from hipport.sdk import Sdk

CUDA_SUFFIXES = (".cu",)
PROGRAM_SUFFIXES = (*CUDA_SUFFIXES, ".hip", ".cpp", ".cc", ".cxx")
_QUOTED = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Compilation:
    """How to compile a program.

    Attributes:
        target: LLVM processor name.
        include_dirs: ``-I`` folders.
        flags: further compiler flags.
        libraries: names for ``-l``.
        warp_model: what becomes of 32-lane warps (CUDA only).
    """

    target: str = "gfx942"
    include_dirs: tuple[Path, ...] = ()
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    warp_model: str = "logical32"


@dataclass(frozen=True, slots=True)
class Built:
    """A program that can be run.

    Attributes:
        executable: where it is.
        diagnostics: what translation found.
        translated: the HIP source that was compiled; None when the input was HIP.
    """

    executable: Path
    diagnostics: tuple[Diagnostic, ...] = ()
    translated: Path | None = None


def build_from(path: Path, how: Compilation, sdk: Sdk, runtime: RuntimeFolder) -> Built:
    """Translate if the program is CUDA, then build it.

    Raises:
        CompileError: it does not compile.
        HipportError: the file is missing or of another kind.
    """
    if not path.is_file():
        raise HipportError(f"{path} does not exist or is no file", "check the path")
    if path.suffix not in PROGRAM_SUFFIXES:
        raise HipportError(f"{path} is neither CUDA nor HIP", f"give a file that ends in {', '.join(PROGRAM_SUFFIXES)}")
    diagnostics: tuple[Diagnostic, ...] = ()
    translated: Path | None = None
    source = path.resolve()
    if path.suffix in CUDA_SUFFIXES:
        options = TranslateOptions(targets=(how.target,), warp_model=how.warp_model, rocm=sdk.hip_version[:2])
        translated, diagnostics = _translate(source, options)
        source = translated
    include_dirs = (source.parent, *(folder.resolve() for folder in how.include_dirs), include_root())
    flags = (*how.flags, *(f"-I{folder}" for folder in include_dirs))
    plan = ProgramPlan(source.parent, (source.name,), how.target, flags, how.libraries)
    return Built(build_program(plan, sdk, runtime), diagnostics, translated)


def _translate(main: Path, options: TranslateOptions) -> tuple[Path, tuple[Diagnostic, ...]]:
    """Translate a file and the files beside it that it includes; the result lies in the cache, named as the input."""
    sources = _closure(main)
    own = [declared(name, data) for name, data in sources.items()]
    macros = {macro for d in own for macro in d.macros}
    names = {name for d in own for name in d.names}
    engine = load_engine((), sources, macros, names, bare=without_runtime(sources, sources))
    results = [translate_one(engine, SourceFile(name, data), options) for name, data in sources.items()]
    digest = hashlib.sha256(str(main).encode() + b"\0")
    for result in results:
        digest.update(result.output_path.encode() + b"\0" + hashlib.sha256(result.output).digest())
    folder = cache_root() / "programs" / "translated" / digest.hexdigest()[:24]
    for result in results:
        if result.state is FileState.FAILED and result.path == main.name:
            raise HipportError(f"{main} cannot be translated: {result.diagnostics[0].message}", "see hipport translate")
        target = folder / result.output_path
        if not target.exists():
            write_atomic(target, result.output)
    return folder / results[0].output_path, tuple(d for result in results for d in result.diagnostics)


def _closure(main: Path) -> dict[str, bytes]:
    """A file and what it includes in quotes from its own folder and below, by path relative to that folder."""
    root = main.parent
    found: dict[str, bytes] = {}
    open_files = [main]
    while open_files:
        path = open_files.pop()
        name = path.relative_to(root).as_posix()
        if name in found:
            continue
        found[name] = path.read_bytes()
        for match in _QUOTED.finditer(found[name]):
            included = (path.parent / match[1].decode("utf-8", "surrogateescape")).resolve()
            if included.is_file() and included.is_relative_to(root):
                open_files.append(included)
    return found
