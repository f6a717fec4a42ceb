"""`upstream_cuda/upstream.toml`: what to fetch, pinned by version and hash."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from hipport.core import HipportError
from hipport.core.files import write_atomic

PIN_FILE = "upstream.toml"
MAIN_GROUP = "main"


@dataclass(frozen=True)
class Pin:
    """One pinned source.

    Attributes:
        name: distribution name on the package index.
        version: its version.
        sha256: of the archive.
        license: SPDX expression.
        folder: where it goes, relative to the folder of ``upstream.toml``; ``.`` is that folder itself.
        groups: named lists of paths inside the archive; ``.`` means everything.
    """

    name: str
    version: str
    sha256: str
    license: str
    folder: str
    groups: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def paths(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Paths of the named groups.

        Raises:
            HipportError: no such group.
        """
        unknown = [group for group in groups if group not in self.groups]
        if unknown:
            raise HipportError(f"{self.name} has no group {unknown[0]!r}", f"choose from {', '.join(self.groups)}")
        return tuple(path for group in groups for path in self.groups[group])


def read_pins(root: Path) -> list[Pin]:
    """The sources pinned in ``root/upstream.toml``.

    Raises:
        HipportError: the file is missing or wrong.
    """
    path = root / PIN_FILE
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}", "name the folder that holds it") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise HipportError(f"{path}: {error}", "fix the file") from error
    rows = data.get("source")
    if not isinstance(rows, list) or not rows:
        raise HipportError(f"{path}: no [[source]]", "add one: hipport upstream add NAME==VERSION")
    return [_pin(row, f"{path}: source {at}") for at, row in enumerate(rows, 1)]


def _pin(row: dict[str, Any], place: str) -> Pin:
    for key in ("name", "version", "sha256", "license", "folder"):
        if not isinstance(row.get(key), str) or not row[key]:
            raise HipportError(f"{place}: {key} is missing", "every source has name, version, sha256, license, folder")
    if len(row["sha256"]) != 64 or set(row["sha256"]) - set("0123456789abcdef"):
        raise HipportError(f"{place}: sha256 is not 64 hexadecimal digits", "fix the file")
    try:
        Version(row["version"])
    except InvalidVersion as error:
        raise HipportError(f"{place}: {error}", "fix the file") from error
    if not is_inside(row["folder"]):
        raise HipportError(f"{place}: folder {row['folder']!r} leaves the tree", "use a relative path without ..")
    groups = row.get("groups", {MAIN_GROUP: ["."]})
    if MAIN_GROUP not in groups:
        raise HipportError(f"{place}: no group {MAIN_GROUP!r}", "name the paths that are always fetched so")
    for group, paths in groups.items():
        if not isinstance(paths, list) or not all(isinstance(p, str) and is_inside(p) for p in paths):
            raise HipportError(f"{place}: group {group!r} is not a list of relative paths", "fix the file")
    return Pin(**{k: row[k] for k in ("name", "version", "sha256", "license", "folder")}, groups=_tuples(groups))


def _tuples(groups: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {group: tuple(path.strip("/") for path in paths) for group, paths in groups.items()}


def is_inside(path: str) -> bool:
    """True for a relative POSIX path that cannot leave its root."""
    parts = path.split("/")
    return bool(path) and not path.startswith(("/", "\\")) and ".." not in parts and "\0" not in path


def check_new(root: Path, name: str, version: str) -> None:
    """Check that ``upstream.toml`` does not pin that version already, and that it can be read.

    Raises:
        HipportError: it does.
    """
    if not (root / PIN_FILE).exists():
        return
    for known in read_pins(root):
        if canonicalize_name(known.name) == canonicalize_name(name) and Version(known.version) == Version(version):
            raise HipportError(f"{name} {version} is pinned already", "run: hipport upstream sync")


def append_pin(root: Path, pin: Pin) -> None:
    """Append a source to ``upstream.toml``; the rest of the file stays as it is.

    Raises:
        HipportError: the file cannot be written.
    """
    path = root / PIN_FILE
    text = path.read_text(encoding="utf-8").rstrip() + "\n\n" if path.exists() else ""
    values = {"name": pin.name, "version": pin.version, "sha256": pin.sha256, "license": pin.license}
    lines = [f"{key:<7} = {json.dumps(value)}" for key, value in (values | {"folder": pin.folder}).items()]
    block = "\n".join(["[[source]]", *lines, "", "[source.groups]", 'main = ["."]'])
    write_atomic(path, f"{text}{block}\n".encode())
