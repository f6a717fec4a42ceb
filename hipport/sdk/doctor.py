"""What this machine has for porting, what is missing, and how to get it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from packaging.requirements import Requirement

from hipport.core import TARGETS, HipportError
from hipport.core.files import cache_root
from hipport.sdk.check import compile_error
from hipport.sdk.compiler import missing_tools
from hipport.sdk.find import LLVM_MAJOR, OLDEST_HIP, PROFILES, find_sdk, read_hip_version, rocm_roots, sdk_cache
from hipport.sdk.install import read_record
from hipport.sdk.toolchain import Sdk

_DISK_NEEDED_BYTES = 6_000_000_000  # sources, toolchain, objects of the demo build


class Health(StrEnum):
    """OK; ABSENT: optional and not there; MISSING: something does not work without it."""

    OK = "ok"
    ABSENT = "absent"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """One row of the doctor's table.

    Attributes:
        subject: what was looked for.
        health: see `Health`.
        detail: what was found.
        next_step: how to get it, empty when there is nothing to do.
    """

    subject: str
    health: Health
    detail: str
    next_step: str = ""


def examine() -> Iterator[Finding]:
    """Look at everything, in the order in which a session needs it."""
    yield _python()
    yield from _python_packages()
    yield _rocm()
    yield _hipcc()
    sdk, finding = _toolchain()
    yield finding
    if sdk is None:
        yield _clang()
    else:
        yield _device_libraries(sdk)
        yield _runtime(sdk)
        yield from (_target(sdk, target) for target in TARGETS)
    yield _other_profiles(sdk)
    yield _host_compiler()
    yield _gpu()
    yield _disk()


def _python() -> Finding:
    return Finding("Python", Health.OK, f"{platform.python_version()} on {platform.system()} {platform.machine()}")


def _python_packages() -> Iterator[Finding]:
    """The package's own requirements, and torch, which only building and checking extensions need."""
    try:
        required = [Requirement(text) for text in importlib.metadata.requires("hipport") or []]
    except importlib.metadata.PackageNotFoundError:
        yield Finding("Python packages", Health.MISSING, "hipport is not installed", "run: pip install -e .")
        return
    wrong = []
    plain = [requirement for requirement in required if requirement.marker is None or requirement.marker.evaluate()]
    for requirement in plain:
        version = _installed(requirement.name)
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{requirement.name} {version or 'absent'}")
    if wrong:
        yield Finding("Python packages", Health.MISSING, ", ".join(wrong), "run: pip install -r requirements.lock")
    else:
        yield Finding("Python packages", Health.OK, f"all {len(plain)} that hipport requires")
    torch = _installed("torch")
    if torch is None:
        yield Finding("PyTorch", Health.ABSENT, "only needed for extensions", "run: pip install hipport[torch]")
    else:
        yield Finding("PyTorch", Health.OK, torch)


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _rocm() -> Finding:
    for root in rocm_roots():
        version = read_hip_version(root / "include")
        if version is not None and version < OLDEST_HIP:
            oldest = ".".join(map(str, OLDEST_HIP))
            return Finding(
                "ROCm", Health.ABSENT, f"{root} has HIP {version[0]}.{version[1]}, older than {oldest}: not used"
            )
        if version is not None:
            return Finding("ROCm", Health.OK, f"{root}, HIP {'.'.join(map(str, version))}")
    return Finding("ROCm", Health.ABSENT, "not installed; not needed: hipport sdk install gives what a build needs")


def _hipcc() -> Finding:
    hipcc = shutil.which("hipcc")
    if hipcc is None:
        return Finding("hipcc", Health.ABSENT, "not on PATH; not needed: hipport calls clang itself")
    return Finding("hipcc", Health.OK, hipcc)


def _toolchain() -> tuple[Sdk | None, Finding]:
    try:
        sdk = find_sdk()
        version = sdk.clang_version
    except HipportError as error:
        return None, Finding("AMD toolchain", Health.MISSING, error.message, error.next_step)
    moved = [item.name for item in read_record(sdk) if not item.pinned]
    note = f"; not the versions that hipport was checked with: {', '.join(moved)}" if moved else ""
    hip = ".".join(map(str, sdk.hip_version))
    return sdk, Finding("AMD toolchain", Health.OK, f"HIP {hip} ({sdk.source}: {sdk.root}), {version}{note}")


def _clang() -> Finding:
    missing = missing_tools()
    if missing:
        return Finding(f"clang {LLVM_MAJOR}", Health.MISSING, f"{', '.join(missing)} not found", "hipport sdk install")
    return Finding(f"clang {LLVM_MAJOR}", Health.OK, "with lld and LLVM tools")


def _device_libraries(sdk: Sdk) -> Finding:
    count = sum(1 for _ in sdk.device_lib_path.glob("*.bc"))
    return Finding("device libraries", Health.OK, f"{count} bitcode files in {sdk.device_lib_path}")


def _runtime(sdk: Sdk) -> Finding:
    for folder in sdk.library_dirs:
        return Finding("libamdhip64", Health.OK, str((folder / "libamdhip64.so").resolve()))
    return Finding("libamdhip64", Health.ABSENT, "host programs cannot be linked", "run: hipport sdk install --force")


def _target(sdk: Sdk, target: str) -> Finding:
    error = compile_error(sdk, target)
    if error:
        return Finding(f"target {target}", Health.MISSING, error, "run: hipport sdk install --force")
    wave = TARGETS[target].wave_size
    return Finding(f"target {target}", Health.OK, f"a kernel compiles (wave{wave}, {TARGETS[target].family})")


def _other_profiles(sdk: Sdk | None) -> Finding:
    there = [name for name in PROFILES if sdk_cache(name).is_dir() or (sdk is not None and sdk.profile == name)]
    absent = [name for name in PROFILES if name not in there]
    if absent and there:
        step = f"run: hipport sdk install --profile {absent[0]}"
        return Finding("HIP versions", Health.OK, f"{', '.join(there)}; {', '.join(absent)} can be added", step)
    return Finding("HIP versions", Health.OK if there else Health.ABSENT, ", ".join(there) or "none")


def _host_compiler() -> Finding:
    for name in ("g++", "c++", "clang++", f"clang++-{LLVM_MAJOR}"):
        path = shutil.which(name)
        if path is None:
            continue
        program = "#include <vector>\nint main() { return static_cast<int>(std::vector<int>(1).size()) - 1; }\n"
        done = subprocess.run(
            [path, "-x", "c++", "-std=c++20", "-fsyntax-only", "-"], input=program, capture_output=True, text=True
        )
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
        if done.returncode == 0:
            return Finding("host C++ compiler", Health.OK, f"{path}: {version.partition(chr(10))[0]}")
    return Finding("host C++ compiler", Health.MISSING, "none that compiles C++20", "run: apt-get install g++")


def _gpu() -> Finding:
    device = Path("/dev/kfd")
    if not device.exists():
        return Finding("AMD GPU", Health.ABSENT, "no /dev/kfd; kernels run on the built-in emulator")
    if not os.access(device, os.R_OK | os.W_OK):
        return Finding(
            "AMD GPU",
            Health.ABSENT,
            "/dev/kfd is there, but this user may not open it",
            "join the groups render and video",
        )
    rocminfo = shutil.which("rocminfo") or next((str(r / "bin/rocminfo") for r in rocm_roots()), "rocminfo")
    try:
        listing = subprocess.run([rocminfo], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return Finding("AMD GPU", Health.OK, "/dev/kfd can be opened; rocminfo, which would name it, does not run")
    names = sorted(set(re.findall(r"Name:\s+(gfx\w+)", listing)))
    if not names:
        return Finding("AMD GPU", Health.ABSENT, "/dev/kfd can be opened, but rocminfo lists no GPU", "check dmesg")
    known = [name for name in names if name in TARGETS]
    note = "" if known else f"; hipport knows {', '.join(TARGETS)}"
    return Finding("AMD GPU", Health.OK if known else Health.ABSENT, f"{', '.join(names)}{note}")


def _disk() -> Finding:
    folder = cache_root()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1e9:.0f} GB free for the cache in {cache_root()}"
    if free < _DISK_NEEDED_BYTES:
        step = f"free up to {_DISK_NEEDED_BYTES / 1e9:.0f} GB, or set HIPPORT_CACHE"
        return Finding("disk", Health.MISSING, detail, step)
    return Finding("disk", Health.OK, detail)
