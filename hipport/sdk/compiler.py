"""Get clang with the AMD target: from PATH, from the system's packages, or unpacked into the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from hipport.core import ToolchainError
from hipport.core.files import cache_root
from hipport.sdk.apt import Archive, PrivateApt, require_apt, unpack
from hipport.sdk.find import LLVM_MAJOR, cached_clang, sdk_cache
from hipport.sdk.mirror import AptSource, debian_source, read_sources, release_sources

PACKAGES = [f"{name}-{LLVM_MAJOR}" for name in ("clang", "clang-tools", "lld", "llvm")]
_TOOLS = ("ld.lld", "clang-offload-bundler", "llvm-objdump", "llvm-mc", "llvm-readelf")

_WRAPPER = """\
#!/bin/sh
# {name} from packages unpacked beside it; its libraries are not on the system's path.
root=$(dirname "$(dirname "$(readlink -f "$0")")")
LD_LIBRARY_PATH="{libraries}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" exec "$root/usr/lib/llvm-{major}/bin/{name}" "$@"
"""


def missing_tools() -> list[str]:
    """Names of the compiler's tools that are not there; ``clang++`` alone when there is no compiler."""
    clang = cached_clang()
    if clang is None:
        return ["clang++"]
    folder = clang.resolve().parent
    return [name for name in _TOOLS if not (folder / name).exists() and shutil.which(f"{name}-{LLVM_MAJOR}") is None]


def ensure_clang(say: Callable[[str], None], mirror: str | None = None) -> None:
    """Make clang, lld and the LLVM tools available.

    Order: what is there; ``apt-get install`` where the machine's own sources carry it and we are root or may use
    sudo; otherwise unpacked into the cache with the libraries that the system lacks.

    Raises:
        ToolchainError: none of these works here.
    """
    missing = missing_tools()
    if not missing:
        return
    say(f"clang {LLVM_MAJOR}: {', '.join(missing)} not found")
    require_apt()
    prefix = _as_root()
    if prefix is not None and _system_offers(prefix, say):
        say(f"installing {' '.join(PACKAGES)} with apt-get")
        _system_apt(prefix, ["install", "-y", "--no-install-recommends", *PACKAGES])
        if not missing_tools():
            return
    _unpack_privately(say, mirror)


def _as_root() -> list[str] | None:
    """Command prefix that gives root, None when there is none."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    if sys.stdin.isatty():
        return ["sudo"]  # may ask for the password
    done = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if done.returncode == 0 else None


def _system_offers(prefix: list[str], say: Callable[[str], None]) -> bool:
    def offered() -> bool:
        done = subprocess.run(["apt-cache", "madison", *PACKAGES], capture_output=True, text=True, check=False)
        return all(f"{name} |" in done.stdout.replace("  ", " ") for name in PACKAGES)

    if offered():
        return True
    say("refreshing the system's package lists (apt-get update)")
    subprocess.run([*prefix, "apt-get", "update", "-q"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return offered()


def _system_apt(prefix: list[str], arguments: list[str]) -> None:
    command = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if line.startswith("E: ")] or [done.stderr.strip()]
        raise ToolchainError(f"apt-get {arguments[0]} failed: {errors[0]}", f"run: {' '.join(command)}")


def _unpack_privately(say: Callable[[str], None], mirror: str | None) -> None:
    for sources in _source_sets(mirror):
        apt = PrivateApt(cache_root() / "apt" / "compiler", sources, Path("/var/lib/dpkg/status"))
        say("reading package lists (the system's sources stay as they are)")
        apt.update()
        needed = apt.needed_for(PACKAGES)
        if needed is None:
            continue
        if _blocked(needed):
            continue
        _install_private(apt, needed, say)
        return
    raise ToolchainError(
        f"no clang {LLVM_MAJOR} for this system without root: its packages need a newer C library or the C++ headers",
        f"as root: apt-get install {' '.join(PACKAGES)} g++, or install ROCm and set ROCM_PATH",
    )


def _source_sets(mirror: str | None) -> list[list[AptSource]]:
    """The release's own sources first: what they carry runs on this system."""
    system = os_release()
    own = release_sources(read_sources(), system.get("VERSION_CODENAME", ""))
    sets = [own] if own else []
    try:
        sets.append([*own, sdk_source(mirror)])
    except ToolchainError:
        if not sets:
            raise
    return sets


def sdk_source(mirror: str | None) -> AptSource:
    """The Debian source for the SDK: on the given mirror, or on the machine's own.

    Raises:
        ToolchainError: no mirror given, and the machine uses none.
    """
    sources = read_sources()
    if mirror:
        keyring = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
        signed = (("Signed-By", str(keyring)),) if keyring.exists() else ()
        sources = [AptSource((mirror,), ("sid",), ("main",), signed)]
    return debian_source(sources, os_release().get("PRETTY_NAME", "this system"))


def os_release(path: Path = Path("/etc/os-release")) -> dict[str, str]:
    """Fields of os-release(5); empty when the file is missing."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return {}
    return {key: value.strip("\"'") for key, mark, value in (line.partition("=") for line in lines) if mark}


def _blocked(needed: list[Archive]) -> list[str]:
    """Packages that cannot be used from a private folder: the C library and what compiles against it."""
    return [a.package for a in needed if a.package.startswith(("libc6", "libc-bin", "libstdc++"))]


def _install_private(apt: PrivateApt, needed: list[Archive], say: Callable[[str], None]) -> None:
    final = sdk_cache(f"llvm-{LLVM_MAJOR}")
    final.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".llvm-", dir=final.parent) as name:
        folder = Path(name) / "llvm"
        say(f"downloading {len(needed)} packages, {sum(a.size_bytes for a in needed) / 1e6:.0f} MB")
        for deb in apt.download([(a.package, a.version) for a in needed], Path(name) / "debs"):
            say(f"unpacking {deb.name.partition('_')[0]}")
            unpack(deb, folder)
        write_wrappers(folder)
        if final.exists():
            shutil.rmtree(final)
        folder.rename(final)


def write_wrappers(folder: Path) -> None:
    """Write ``bin/NAME`` for every tool of an unpacked LLVM, which sets its library path."""
    tools = folder / "usr" / "lib" / f"llvm-{LLVM_MAJOR}" / "bin"
    libraries = sorted({path.parent for path in (folder / "usr" / "lib").rglob("*.so*")})
    search = ":".join(f"$root/{path.relative_to(folder).as_posix()}" for path in libraries)
    (folder / "bin").mkdir(exist_ok=True)
    for tool in sorted(tools.iterdir()):
        wrapper = folder / "bin" / tool.name
        wrapper.write_text(_WRAPPER.format(name=tool.name, libraries=search, major=LLVM_MAJOR), encoding="utf-8")
        wrapper.chmod(0o755)
