"""AMDGPU code objects: ELF, kernel descriptors, metadata, bundles, disassembly."""

from __future__ import annotations


def device_image(data: bytes, target: str, name: str = "") -> bytes:
    """The ELF (or bundle) for ``target`` inside a file."""
    return data
