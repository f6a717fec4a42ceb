"""Compiled test kernels, cached by the hash of source, flags and toolchain."""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hipport.core.files import cache_root, write_atomic
from hipport.sdk import find_sdk

Compile = Callable[..., bytes]


def compile_device(source: Path, target: str, *flags: str) -> bytes:
    """Code object of a HIP file."""
    sdk = find_sdk()
    command = [str(sdk.clang), *sdk.device_flags(target), *flags]
    key = hashlib.sha256("\0".join((sdk.identity, *command)).encode() + source.read_bytes()).hexdigest()[:32]
    cached = cache_root() / "test-objects" / f"{key}.co"
    if not cached.exists():
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out.co"
            subprocess.run([*command, "-c", str(source), "-o", str(out)], check=True, capture_output=True)
            write_atomic(cached, out.read_bytes())
    return cached.read_bytes()


@pytest.fixture(scope="session")
def compile_kernel() -> Compile:
    return compile_device
