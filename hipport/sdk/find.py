"""Find a toolchain. In order: what the user names, an installed ROCm, the cache."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from hipport.core import ToolchainError
from hipport.core.files import cache_root
from hipport.sdk.toolchain import Sdk

PROFILES = ("6.4", "7.2")  # the first is the default
RECORD_NAME = "sdk.json"
OLDEST_HIP = (6, 0)  # an older ROCm lacks what the translated code needs, so it is passed over
LLVM_MAJOR = 22  # the clang that the cached SDKs are checked with

# Where distributions and AMD put the device bitcode, relative to the root of a ROCm.
_BITCODE_PATTERNS = (
    "amdgcn/bitcode",
    "lib/llvm/lib/clang/*/lib/amdgcn/bitcode",
    "llvm/lib/clang/*/lib/amdgcn/bitcode",
    "lib/llvm-*/lib/clang/*/amdgcn/bitcode",
    "lib/clang/*/amdgcn/bitcode",
    "lib*/rocm/llvm/lib/clang/*/amdgcn/bitcode",
    "lib/*/amdgcn/bitcode",
)
_CLANG_PLACES = ("llvm/bin/clang++", "lib/llvm/bin/clang++", "lib64/rocm/llvm/bin/clang++")


def sdk_cache(profile: str) -> Path:
    """Folder of an installed SDK."""
    return cache_root() / "sdk" / profile


def find_sdk(profile: str | None = None) -> Sdk:
    """The toolchain to use.

    Args:
        profile: HIP ``major.minor`` that the caller needs; None takes the first found.

    ``HIPPORT_SDK`` (``--sdk``) names a ROCm folder, an unpacked SDK or a profile and is taken before anything else.

    Raises:
        ToolchainError: none found, or the one that ``HIPPORT_SDK`` names is not usable.
    """
    given = os.environ.get("HIPPORT_SDK")
    if given in PROFILES:
        profile, given = profile or given, None
    if given:
        sdk = sdk_at(Path(given), "given")
        if sdk is None:
            raise ToolchainError(f"HIPPORT_SDK={given} holds no HIP headers with device libraries", _WANTED)
        if profile in (None, sdk.profile):
            return sdk
    for root, source in _candidates(profile):
        sdk = sdk_at(root, source)
        if sdk is not None and profile in (None, sdk.profile) and sdk.hip_version >= OLDEST_HIP:
            return sdk
    wanted = f" for HIP {profile}" if profile else ""
    option = f" --profile {profile}" if profile else ""
    raise ToolchainError(f"no AMD toolchain found{wanted}", f"run: hipport sdk install{option}")


_WANTED = "it must hold include/hip/hip_version.h and amdgcn/bitcode (a ROCm), or be one made by: hipport sdk install"


def rocm_roots() -> list[Path]:
    """Roots of installed ROCms, most explicit first: ``ROCM_PATH``, the folder of hipcc on PATH, ``/opt/rocm``."""
    roots = [Path(value) for name in ("ROCM_PATH", "ROCM_HOME", "HIP_PATH") if (value := os.environ.get(name))]
    hipcc = shutil.which("hipcc")
    if hipcc:
        roots.append(Path(hipcc).resolve().parent.parent)
    roots.append(Path("/opt/rocm"))
    return list(dict.fromkeys(roots))


def _candidates(profile: str | None) -> Iterator[tuple[Path, str]]:
    yield from ((root, "rocm") for root in rocm_roots())
    yield from ((sdk_cache(name), "cache") for name in ((profile,) if profile else PROFILES))


def sdk_at(root: Path, source: str) -> Sdk | None:
    """The SDK in a folder (a ROCm, or packages unpacked with their ``usr/``), None when there is none.

    Raises:
        ToolchainError: headers and device libraries are there, but no clang that can use them.
    """
    for base in (root / "usr", root):
        version = read_hip_version(base / "include")
        bitcode = _bitcode(base)
        if version is None or bitcode is None:
            continue
        clang = _clang_for(base)
        if clang is None:
            raise ToolchainError(
                f"{root} has HIP {version[0]}.{version[1]} but there is no clang++ that can use it",
                f"run: hipport sdk install (needs clang++-{LLVM_MAJOR} with lld)",
            )
        record = root / RECORD_NAME
        system = base == Path("/usr")  # naming it again would break #include_next
        return Sdk(
            source=source,
            root=root,
            clang=clang,
            include_dirs=() if system else (base / "include",),
            device_lib_path=bitcode,
            hip_version=version,
            library_dirs=_library_dirs(base),
            record=record if record.is_file() else None,
        )
    return None


def read_hip_version(include_dir: Path) -> tuple[int, int, int] | None:
    """(major, minor, patch) from ``hip/hip_version.h``, None when there are no HIP headers."""
    try:
        text = (include_dir / "hip" / "hip_version.h").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = dict(re.findall(r"#define HIP_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)", text))
    if len(found) != 3:
        return None
    return int(found["MAJOR"]), int(found["MINOR"]), int(found["PATCH"])


def _bitcode(base: Path) -> Path | None:
    for pattern in _BITCODE_PATTERNS:
        found = [path for path in sorted(base.glob(pattern)) if (path / "ockl.bc").is_file()]
        if found:
            return found[-1]
    return None


def _library_dirs(base: Path) -> tuple[Path, ...]:
    patterns = ("lib*/libamdhip64.so", "lib/*/libamdhip64.so")
    return tuple(sorted({path.parent for pattern in patterns for path in base.glob(pattern)}))


def _clang_for(base: Path) -> Path | None:
    for place in _CLANG_PLACES:
        if (base / place).exists():
            return base / place
    return cached_clang()


def cached_clang() -> Path | None:
    """``clang++`` of the supported major version: on PATH, in the usual LLVM folder, or in the cache."""
    on_path = shutil.which(f"clang++-{LLVM_MAJOR}")
    if on_path:
        return Path(on_path)
    for folder in (Path(f"/usr/lib/llvm-{LLVM_MAJOR}"), sdk_cache(f"llvm-{LLVM_MAJOR}")):
        clang = folder / "bin" / "clang++"
        if clang.exists():
            return clang
    return None
