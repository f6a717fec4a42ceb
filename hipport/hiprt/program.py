"""Builds one HIP program or library, host and device side, with the SDK's clang; cached by what went into it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hipport.core import HipportError
from hipport.core.files import cache_root, write_atomic
from hipport.hiprt.build import RuntimeFolder
from hipport.sdk import Sdk

_RECORD = "inputs.json"
_PROGRAM = "program"


class CompileError(HipportError):
    """The compiler or the linker rejected the program.

    Attributes:
        output: everything that it said.
    """

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message, "the compiler's messages are above")
        self.output = output


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """What to compile.

    Attributes:
        folder: the compiler runs here, so that messages and ``__FILE__`` name sources as the user does.
        sources: HIP sources, relative to ``folder``.
        target: LLVM processor name.
        flags: further compiler flags (``-I``, ``-D``, ``-O2``, ``-std=...``); relative paths start at ``folder``.
        libraries: names for ``-l``.
        movable: folders whose place does not matter: the program made from the same files elsewhere is taken.
        library: file name of a shared library to make instead of an executable.
    """

    folder: Path
    sources: tuple[str, ...]
    target: str
    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    movable: tuple[Path, ...] = ()
    library: str = ""

    def general(self, path: str) -> str:
        """The path, or text that starts with one after a flag, with a movable folder replaced by its number."""
        for number, folder in enumerate(self.movable):
            path = path.replace(f"{folder}{os.sep}", f"@{number}{os.sep}")
        return path

    def specific(self, path: str) -> str:
        """`general` undone."""
        for number, folder in enumerate(self.movable):
            path = path.replace(f"@{number}{os.sep}", f"{folder}{os.sep}")
        return path


def build_program(plan: ProgramPlan, sdk: Sdk, runtime: RuntimeFolder) -> Path:
    """The executable or library, from the cache or compiled now. It imports the symbols of AMD's own libraries only.

    Raises:
        CompileError: the program does not compile or link.
        HipportError: a source is missing.
    """
    for name in plan.sources:
        if not (plan.folder / name).is_file():
            raise HipportError(f"{plan.folder / name} does not exist or is no file", "check the path")
    folder = cache_root() / "programs" / _key(plan, sdk)
    product = plan.library or _PROGRAM
    # Trees that move are many, and so may be the programs of one plan.
    for made in sorted(folder.glob("*/")) if plan.movable else [folder]:
        if (made / product).exists() and _inputs_unchanged(made / _RECORD, plan):
            return made / product
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".build-", dir=folder) as temporary:
        work = Path(temporary)
        inputs: dict[str, str] = {}
        objects: list[str] = []
        for number, name in enumerate(plan.sources):
            unit = work / f"{number}.o"
            _compile(plan, name, unit, sdk)
            objects.append(str(unit))
            inputs.update(_dependencies(unit.with_suffix(".d"), plan))
        link = [str(sdk.clang), *objects, "-o", str(work / product), f"-L{runtime.folder}"]
        if plan.library:
            # Needs the runtimes that it calls, no others; keeps to its own kernels where another library has the same.
            link += ["-shared", "-Wl,--as-needed", "-Wl,--no-undefined", "-Wl,-Bsymbolic"]
        link += ["-lamdhip64", "-lhiprtc"]
        link += [
            *(f"-L{folder}" for folder in sdk.library_dirs),
            *(f"-l{name}" for name in plan.libraries),
            "-lpthread",
        ]
        _run([*link, "-Wl,--as-needed", "-Wl,--allow-shlib-undefined"], plan.folder, "link")
        record = json.dumps(inputs, indent=0, sort_keys=True).encode()
        made = folder / hashlib.sha256(record).hexdigest()[:24] if plan.movable else folder
        made.mkdir(exist_ok=True)
        os.replace(work / product, made / product)  # noqa: PTH105
        write_atomic(made / _RECORD, record)
    return made / product


def _compile(plan: ProgramPlan, name: str, unit: Path, sdk: Sdk) -> None:
    command = [str(sdk.clang), *sdk.host_flags([plan.target]), "-O3", *plan.flags]
    command += ["-MMD", "-MF", str(unit.with_suffix(".d")), "-c", name, "-o", str(unit)]
    _run(command, plan.folder, f"compile {name}")


def _key(plan: ProgramPlan, sdk: Sdk) -> str:
    digest = hashlib.sha256()
    for part in (
        sdk.identity,
        str(plan.folder.resolve()),
        plan.target,
        *plan.sources,
        "",
        *map(plan.general, plan.flags),
        "",
        *plan.libraries,
        *(["", plan.library] if plan.library else []),
    ):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:24]


def _dependencies(rule: Path, plan: ProgramPlan) -> dict[str, str]:
    """Files of a make rule that the compiler wrote, with their hashes."""
    text = rule.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    names = text.partition(":")[2].replace("\\ ", "\0").split()
    found: dict[str, str] = {}
    for name in names:
        path = plan.folder / name.replace("\0", " ")
        found[plan.general(str(path))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _inputs_unchanged(record: Path, plan: ProgramPlan) -> bool:
    try:
        inputs: dict[str, str] = json.loads(record.read_text(encoding="utf-8"))
        return all(_digest(plan.specific(path)) == digest for path, digest in inputs.items())
    except (OSError, ValueError):
        return False


def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _run(command: list[str], folder: Path, what: str) -> None:
    if shutil.which(command[0]) is None:
        raise HipportError(f"{command[0]} is not there", "run: hipport doctor")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise CompileError(f"cannot {what}", done.stderr + done.stdout)
