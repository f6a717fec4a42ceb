"""Files and folders: where caches live, atomic writes, where the shipped data is."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from hipport.core.errors import HipportError


def cache_root() -> Path:
    """Folder for everything that can be made again: ``$HIPPORT_CACHE``, else ``$XDG_CACHE_HOME/hipport``."""
    explicit = os.environ.get("HIPPORT_CACHE")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hipport"


def package_root() -> Path:
    """Folder of the installed ``hipport`` package."""
    return Path(__file__).resolve().parent.parent


def rules_root() -> Path:
    """Folder of the shipped rules: inside the wheel, or ``rules/`` of a source checkout."""
    packed = package_root() / "_rules"
    return packed if packed.is_dir() else package_root().parent / "rules"


def include_root() -> Path:
    """Include directory that generated code needs (contains ``hipport/*.h``)."""
    return package_root() / "include"


def write_atomic(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write ``data`` so that a reader sees the old file or the new one, never a part.

    Raises:
        HipportError: the folder cannot be written or the disk is full; nothing is left behind.
    """
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name[:80]}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        if mode is None:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask
        os.chmod(temporary, mode)  # noqa: PTH101 - mkstemp gives a string path
        os.replace(temporary, path)  # noqa: PTH105
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108
        raise HipportError(f"cannot write {path}: {error.strerror}", "check permissions and free space") from error
