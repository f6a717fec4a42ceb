"""Project settings: ``hipport.toml``, found in the working folder or above it.

Every key is optional; the command line wins over the file, the file over the defaults::

    targets = ["gfx942", "gfx1100"]
    warp_model = "logical32"          # logical32 | native64 | padded
    launch = "chevron"                # chevron | macro
    rocm = "6.4"
    out = "generated_hip"
    patches = "patches"               # hand edits, see hipport edits
    include = ["csrc/include"]        # include paths, for builds and --facts
    flags = ["-DNDEBUG", "-std=c++17"] # for --facts: of every unit, besides include
    compile_commands = "build/compile_commands.json"  # for --facts: flags per unit
    cuda_path = "/usr/local/cuda"     # for --facts: CUDA's headers, where nvcc is not found
    facts = false                     # the same as --facts
    rules = ["my_rules"]              # rule folders besides hipport's own
    exclude = ["third_party/**", "*.bak"]
    passthrough = ["csrc/cutlass/**"] # analysed, copied byte for byte
    rename = false
    unsafe = false
    max_file_mib = 16
    jobs = 0                          # 0: as many as pay off

Tables give files and kernels a warp model of their own. The last glob that fits a file counts. A comment at a function
wins over the table of kernels, that over a comment of the file, that over the table of files. ``--warp-model`` on the
command line stands for both tables and ``warp_model``::

    [file_warp_models]
    "csrc/specialised/**" = "padded"  # paths as in passthrough

    [kernel_warp_models]
    producer_consumer = "padded"      # a name without namespace

Tables of other stages (``[build]``) are read by those.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hipport.core import HipportError, TranslateOptions, target_named

if TYPE_CHECKING:
    from hipport.pipeline.facts import FactsRequest

FILE_NAME = "hipport.toml"
DATABASE = "compile_commands.json"
WARP_MODELS = ("logical32", "native64", "padded")
LAUNCH_STYLES = ("chevron", "macro")
_DEFAULT = TranslateOptions()
# Tables that other stages read and check.
_OTHER_TABLES = frozenset({"build"})
_MODEL_TABLES = frozenset({"file_warp_models", "kernel_warp_models"})


@dataclass(frozen=True, slots=True)
class Settings:
    """What ``hipport.toml`` may say; see the module's documentation.

    Attributes:
        folder: folder of the file: relative paths in it start here.
    """

    targets: tuple[str, ...] = _DEFAULT.targets
    warp_model: str = _DEFAULT.warp_model
    file_warp_models: tuple[tuple[str, str], ...] = ()
    kernel_warp_models: tuple[tuple[str, str], ...] = ()
    launch: str = _DEFAULT.launch
    rocm: str = "{}.{}".format(*_DEFAULT.rocm)
    out: str = "generated_hip"
    patches: str = ""
    include: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    compile_commands: str = ""
    cuda_path: str = ""
    facts: bool = False
    rules: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    passthrough: tuple[str, ...] = _DEFAULT.passthrough
    rename: bool = False
    unsafe: bool = False
    max_file_mib: int = 16
    jobs: int = 0
    folder: Path = Path()

    def translate_options(self) -> TranslateOptions:
        """The part that may change a translation.

        Raises:
            HipportError: an unknown target, warp model, launch style or ROCm version.
        """
        for name in self.targets:
            target_named(name)
        if not self.targets:
            raise HipportError("no target given", "name at least one, for example --target gfx942")
        _choice("warp model", self.warp_model, WARP_MODELS)
        for name, model in (*self.file_warp_models, *self.kernel_warp_models):
            _choice(f"warp model of {name!r}:", model, WARP_MODELS)
        _choice("launch style", self.launch, LAUNCH_STYLES)
        return TranslateOptions(
            targets=tuple(dict.fromkeys(self.targets)),
            warp_model=self.warp_model,
            file_warp_models=self.file_warp_models,
            kernel_warp_models=self.kernel_warp_models,
            launch=self.launch,
            rename=self.rename,
            unsafe=self.unsafe,
            rocm=parse_rocm(self.rocm),
            passthrough=self.passthrough,
        )

    def facts_request(self) -> FactsRequest | None:
        """What ``--facts`` needs; None without it. A compile database beside ``hipport.toml`` is found by itself.

        Raises:
            HipportError: the named database or toolkit does not exist, or there are no flags at all.
            ToolchainError: no clang.
        """
        if not self.facts:
            return None
        from hipport.pipeline.facts import FactsRequest
        from hipport.sdk import find_sdk

        named = self.folder / (self.compile_commands or DATABASE)
        if self.compile_commands and not named.is_file():
            raise HipportError(f"{named} does not exist", "make it: cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON, or bear")
        flags = (*(word for path in self.include for word in ("-I", path)), *self.flags)
        if not named.is_file() and not flags:
            raise HipportError(
                "--facts needs the flags that the program is compiled with",
                f"name a {DATABASE} by --compile-commands, or set include and flags in {FILE_NAME}",
            )
        cuda = self.folder / self.cuda_path if self.cuda_path else None
        if cuda is not None and not (cuda / "include").is_dir():
            raise HipportError(f"no CUDA toolkit: {cuda} has no folder include", "correct cuda_path")
        return FactsRequest(named if named.is_file() else None, flags, cuda, self.folder, str(find_sdk().clang))

    def rule_folders(self) -> tuple[Path, ...]:
        """Rule folders besides hipport's own.

        Raises:
            HipportError: one does not exist.
        """
        found = tuple(self.folder / r for r in self.rules)
        for path in found:
            if not path.is_dir():
                raise HipportError(f"rule folder {path} does not exist", "check --rules and hipport.toml")
        return found


def parse_rocm(text: str) -> tuple[int, int]:
    """``6.4`` or ``6.4.3`` as (6, 4).

    Raises:
        HipportError: not a version.
    """
    found = re.fullmatch(r"(\d+)\.(\d+)(?:\.\d+)*", text)
    if found is None:
        raise HipportError(f"not a ROCm version: {text!r}", "give it like 6.4")
    return int(found[1]), int(found[2])


def _choice(what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise HipportError(f"unknown {what} {value!r}", f"choose from {', '.join(allowed)}")


def find_settings(start: Path) -> Path | None:
    """The nearest ``hipport.toml`` from ``start`` upwards."""
    for folder in (start, *start.parents):
        path = folder / FILE_NAME
        if path.is_file():
            return path
    return None


def load_settings(path: Path | None = None) -> Settings:
    """Read ``path``, or the nearest ``hipport.toml``, or give the defaults.

    Raises:
        HipportError: the file cannot be read, is not TOML, or has an unknown key or a value of the wrong type: names
            the line.
    """
    if path is None:
        path = find_settings(Path.cwd())
        if path is None:
            return Settings()
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
        table = tomllib.loads(text)
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}", "check --config") from error
    except UnicodeDecodeError as error:
        raise HipportError(f"{path} is not UTF-8", "save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise HipportError(f"{path}: {error}", "fix the file") from error
    return _checked(table, text, path)


def _checked(table: dict[str, Any], text: str, path: Path) -> Settings:
    allowed = {f.name: f for f in fields(Settings) if f.name != "folder"}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in _OTHER_TABLES and isinstance(value, dict):
            continue
        place = f"{path}:{_line_of(key, text)}"
        if key not in allowed:
            raise HipportError(f"{place}: unknown setting {key!r}", f"known settings: {', '.join(allowed)}")
        default = allowed[key].default
        if key in _MODEL_TABLES:
            if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
                raise HipportError(f"{place}: {key} must be a table of strings", f'write [{key}] and "name" = "padded"')
            values[key] = tuple(value.items())
        elif isinstance(default, tuple):
            if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
                raise HipportError(f"{place}: {key} must be a list of strings", f'write it as {key} = ["..."]')
            values[key] = tuple(value)
        else:
            if type(value) is not type(default):
                raise HipportError(f"{place}: {key} must be a {_TYPE_NAMES[type(default)]}, not {value!r}")
            values[key] = value
    return Settings(**values, folder=path.absolute().parent)


_TYPE_NAMES = {bool: "true or false", int: "whole number", str: "string"}


def _line_of(key: str, text: str) -> int:
    """1-based line of a top-level key or table; 1 when it is spelled in a way that we do not find."""
    quoted = re.escape(key)
    found = re.search(rf"""^[ \t]*(?:\[+[ \t]*)?["']?{quoted}["']?[ \t]*(?:[=.\]])""", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else 1
