"""The pristine cache: per output tree one pack with what the translator produced, before hand edits.

It gives the merge base for hand edits and lets a lost output come back without translating. Everything in it can be
made again. Layout: ``HPK1``, length of the index (8 bytes, little endian), index (msgpack), then zstd frames; the
index says where the frame of each pristine hash lies. One file per tree: opening thousands of small ones would cost
more than translating.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipport.core.files import cache_root, write_atomic
from hipport.emit.manifest import FileRecord, file_from_json, file_to_json, sha256

_MAGIC = b"HPK1"
_LEVEL = 3


@dataclass(frozen=True, slots=True)
class Pack:
    """An opened pack; ``frames`` are compressed.

    Attributes:
        out: absolute path of the output tree (the cache belongs to this machine; manifests never hold such a path).
        root: absolute path of the input root.
        records: by input path, as they were before hand edits.
        frames: compressed pristine bytes by their hash.
    """

    out: str
    root: str
    records: dict[str, FileRecord]
    frames: dict[str, bytes]

    def pristine(self, digest: str) -> bytes | None:
        """The bytes with that hash, None when the pack lacks them (or is damaged there)."""
        frame = self.frames.get(digest)
        if frame is None:
            return None
        import zstandard

        try:
            data = zstandard.ZstdDecompressor().decompress(frame)
        except zstandard.ZstdError:
            return None
        return data if sha256(data) == digest else None


def pack_folder() -> Path:
    """Where packs lie."""
    return cache_root() / "translate"


def pack_path(out: Path) -> Path:
    """The pack of an output tree."""
    return pack_folder() / f"{sha256(os.fsencode(out.resolve()))[:24]}.pack"


def load_pack(out: Path) -> Pack | None:
    """The pack of an output tree; None when there is none or it is damaged (then everything is translated anew)."""
    return read_pack(pack_path(out))


def read_pack(path: Path, with_frames: bool = True) -> Pack | None:
    """Open one pack file."""
    import msgpack

    try:
        with path.open("rb") as stream:
            head = stream.read(12)
            if head[:4] != _MAGIC:
                return None
            index: dict[str, Any] = msgpack.unpackb(
                stream.read(struct.unpack("<Q", head[4:])[0]), unicode_errors="surrogateescape"
            )
            body = stream.read() if with_frames else b""
        return Pack(
            out=index["out"],
            root=index["root"],
            records={row["path"]: file_from_json(row) for row in index["records"]},
            frames={digest: body[start:end] for digest, start, end in index["frames"]},
        )
    except (OSError, ValueError, KeyError, TypeError, struct.error, msgpack.UnpackException):
        return None


def save_pack(
    out: Path, root: Path, records: Iterable[FileRecord], fresh: dict[str, bytes], old: Pack | None, keep: set[str]
) -> None:
    """Write the pack of ``out``.

    Args:
        out: output tree.
        root: input root.
        records: fresh records, hand edits not replayed.
        fresh: pristine bytes of this run by hash.
        old: the pack before; its frames are reused without recompression.
        keep: hashes that must stay available: merge bases of hand edits.

    Raises:
        HipportError: the cache folder cannot be written.
    """
    import msgpack
    import zstandard

    rows = list(records)
    wanted = sorted({r.pristine_sha256 for r in rows} | keep)
    compressor = zstandard.ZstdCompressor(level=_LEVEL)
    frames: list[bytes] = []
    places: list[tuple[str, int, int]] = []
    at = 0
    for digest in wanted:
        frame = old.frames.get(digest) if old else None
        if frame is None and digest in fresh:
            frame = compressor.compress(fresh[digest])
        if frame is None:
            continue
        frames.append(frame)
        places.append((digest, at, at + len(frame)))
        at += len(frame)
    index = msgpack.packb(
        {
            "out": str(out.resolve()),
            "root": str(root.resolve()),
            "records": [file_to_json(r) for r in rows],
            "frames": places,
        },
        unicode_errors="surrogateescape",
    )
    write_atomic(pack_path(out), _MAGIC + struct.pack("<Q", len(index)) + index + b"".join(frames))
