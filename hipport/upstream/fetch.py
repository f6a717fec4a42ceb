"""Download an archive into the cache, checked by its hash."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from hipport.core import HipportError
from hipport.core.files import cache_root
from hipport.upstream.http import UnreachableError, redacted
from hipport.upstream.index import IndexConfig, find_archive, pip_config

Progress = Callable[[int, int], None]  # bytes so far, bytes in all (0: unknown)
_BLOCK_BYTES = 1 << 18


def cached_archive(sha256: str) -> Path | None:
    """The archive with that hash, when the cache holds it undamaged."""
    folder = cache_root() / "upstream" / sha256
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if _sha256(path) == sha256:
            return path
        path.unlink()
    return None


def fetch(
    name: str,
    version: str,
    sha256: str = "",
    *,
    offline: bool = False,
    progress: Progress | None = None,
    config: Callable[[], IndexConfig] = pip_config,
) -> tuple[Path, str]:
    """The archive of a version, from the cache or the index.

    Args:
        name: distribution name.
        version: exact version.
        sha256: expected hash; empty takes what the index says (a first ``upstream add``).
        offline: use the cache only.
        progress: called while downloading.
        config: gives the index configuration; called only when something must be downloaded.

    Returns:
        The file in the cache, and its SHA-256.

    Raises:
        HipportError: not found, no answer, wrong hash, truncated, full disk.
    """
    kept = cached_archive(sha256) if sha256 else None
    if kept is not None:
        return kept, sha256
    if offline:
        raise HipportError(f"{name} {version} is not in the cache and --offline given", "run without --offline once")
    settings = config()
    link = find_archive(settings, name, version, sha256)
    folder = cache_root() / "upstream"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as temporary:
            part = Path(temporary) / link.filename
            found = _download(settings, link.url, part, progress)
            expected = sha256 or link.sha256
            if expected and found != expected:
                raise HipportError(
                    f"{link.filename} from {redacted(link.url)} has sha256 {found}, expected {expected}",
                    "the file was replaced or damaged on the way: nothing was unpacked",
                )
            final = folder / found / link.filename
            final.parent.mkdir(exist_ok=True)
            part.replace(final)
    except OSError as error:
        raise HipportError(
            f"cannot store {link.filename}: {error.strerror}", f"check permissions and free space of {folder}"
        ) from error
    return final, found


def _download(settings: IndexConfig, url: str, path: Path, progress: Progress | None) -> str:
    digest = hashlib.sha256()
    done = 0
    with settings.http.open(url) as response, path.open("wb") as output:
        total = int(response.headers.get("content-length") or 0)
        while block := response.read(_BLOCK_BYTES):
            digest.update(block)
            output.write(block)
            done += len(block)
            if progress is not None:
                progress(done, total)
    if total and done != total:
        raise UnreachableError(f"{redacted(url)} broke off after {done} of {total} bytes", "run the command again")
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
