"""Clang offload bundles: several code objects in one file, plain or compressed, alone or inside a host program.

Source: Clang documentation, "Clang Offload Bundler" (bundled binary layout, compressed bundle headers 1 to 3).
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from hipport.codeobject.errors import CodeObjectError

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
EM_AMDGPU = 224
_MAX_ENTRIES = 4096
_MAX_BYTES = 1 << 32


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """One code object of a bundle.

    Attributes:
        id: ``hipv4-amdgcn-amd-amdhsa--gfx942:xnack-``.
        data: its bytes; empty for the host entry.
    """

    id: str
    data: bytes

    @property
    def processor(self) -> str:
        """``gfx942:xnack-``; empty for the host entry."""
        at = self.id.find("gfx")
        return self.id[at:] if at >= 0 else ""


def unbundle(data: bytes, name: str = "bundle") -> tuple[BundleEntry, ...]:
    """Entries of a bundle, decompressed.

    Raises:
        CodeObjectError: it is no bundle, or corrupt.
    """
    if data.startswith(COMPRESSED_MAGIC):
        data = _decompress(data, name)
    if not data.startswith(MAGIC):
        raise CodeObjectError(f"{name} is not an offload bundle", "expected a file written by clang or hipcc")
    try:
        (count,) = struct.unpack_from("<Q", data, 24)
        if count > _MAX_ENTRIES:
            raise CodeObjectError(f"{name}: a bundle of {count} entries is corrupt", "rebuild the file")
        entries, at = [], 32
        for _ in range(count):
            offset, size, id_size = struct.unpack_from("<QQQ", data, at)
            identifier = data[at + 24 : at + 24 + id_size]
            at += 24 + id_size
            if len(identifier) != id_size or offset + size > len(data):
                raise CodeObjectError(f"{name}: truncated offload bundle", "rebuild the file")
            entries.append(BundleEntry(identifier.decode("ascii", "replace"), data[offset : offset + size]))
    except struct.error as error:
        raise CodeObjectError(f"{name}: truncated offload bundle", "rebuild the file") from error
    return tuple(entries)


def _decompress(data: bytes, name: str) -> bytes:
    try:
        version, method = struct.unpack_from("<HH", data, 4)
        if version == 1:
            file_size, (size,), header = len(data), struct.unpack_from("<I", data, 8), 20
        elif version == 2:
            (file_size, size), header = struct.unpack_from("<II", data, 8), 24
        elif version == 3:
            (file_size, size), header = struct.unpack_from("<QQ", data, 8), 32
        else:
            raise CodeObjectError(f"{name}: compressed bundle version {version}", "this version is not known")
    except struct.error as error:
        raise CodeObjectError(f"{name}: truncated compressed bundle", "rebuild the file") from error
    if file_size > len(data) or file_size < header or size > _MAX_BYTES:
        raise CodeObjectError(f"{name}: truncated compressed bundle", "rebuild the file")
    body = data[header:file_size]
    if method == 0:
        try:
            out = zlib.decompress(body)
        except zlib.error as error:
            raise CodeObjectError(f"{name}: corrupt compressed bundle ({error})", "rebuild the file") from error
    elif method == 1:
        import zstandard

        try:
            out = zstandard.ZstdDecompressor().decompress(body, max_output_size=size)
        except zstandard.ZstdError as error:
            raise CodeObjectError(f"{name}: corrupt compressed bundle ({error})", "rebuild the file") from error
    else:
        raise CodeObjectError(f"{name}: compression method {method} is not known", "zlib and zstd are")
    if len(out) != size:
        raise CodeObjectError(f"{name}: the bundle unpacks to {len(out)} bytes, not {size}", "rebuild the file")
    return out


def fat_binaries(data: bytes, name: str = "program") -> Iterator[bytes]:
    """The bundles that a host program or library carries in ``.hip_fatbin``, one per translation unit.

    Raises:
        CodeObjectError: it is not an ELF file.
    """
    try:
        section = ELFFile(io.BytesIO(data)).get_section_by_name(".hip_fatbin")
        content = section.data() if section is not None else b""
    except (ELFError, ValueError, struct.error) as error:
        raise CodeObjectError(f"{name}: not an ELF file ({error})", "check the file") from error
    starts = []
    for magic in (MAGIC, COMPRESSED_MAGIC):
        at = content.find(magic)
        while at >= 0:
            starts.append(at)
            at = content.find(magic, at + 1)
    starts = sorted(s for s in starts if s % 16 == 0)  # the linker aligns them; code may contain the magic
    for start, end in zip(starts, [*starts[1:], len(content)], strict=False):  # none: the list has one more
        yield content[start:end]


def device_images(data: bytes, name: str = "file") -> tuple[BundleEntry, ...]:
    """Every device code object in a file: a plain AMDGPU ELF, a bundle, or a host program with embedded bundles.

    Raises:
        CodeObjectError: it is none of these.
    """
    if data.startswith(b"\x7fELF"):
        if len(data) >= 20 and struct.unpack_from("<H", data, 18)[0] == EM_AMDGPU:
            return (BundleEntry("", data),)
        return tuple(e for fat in fat_binaries(data, name) for e in unbundle(fat, name) if e.processor)
    if data.startswith((MAGIC, COMPRESSED_MAGIC)):
        return tuple(e for e in unbundle(data, name) if e.processor)
    raise CodeObjectError(
        f"{name} is no code object" + (": the file is empty" if not data else ""),
        "pass an AMDGPU ELF, an offload bundle, or a HIP program",
    )


def device_image(data: bytes, target: str, name: str = "file") -> bytes:
    """The code object for a target inside a file, see `device_images`.

    Raises:
        CodeObjectError: there is none for it.
    """
    images = device_images(data, name)
    if len(images) == 1 and not images[0].id:
        return images[0].data
    plain = target.split(":")[0]
    fitting = [e for e in images if e.processor.split(":")[0] == plain and "xnack+" not in e.processor]
    if not fitting:
        have = ", ".join(sorted({e.processor for e in images})) or "no device code"
        raise CodeObjectError(
            f"{name} has no code for {plain} (it has {have})", f"build it with --offload-arch={plain}"
        )
    return fitting[0].data
