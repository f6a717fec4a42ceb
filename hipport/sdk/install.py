"""Install an SDK that needs neither a GPU nor ROCm: Debian's HIP packages, unpacked into the cache."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from hipport.core import HipportError, ToolchainError
from hipport.core.files import cache_root
from hipport.sdk.apt import Candidate, PrivateApt, unpack
from hipport.sdk.check import require_working
from hipport.sdk.compiler import ensure_clang, missing_tools, sdk_source
from hipport.sdk.find import PROFILES, RECORD_NAME, sdk_at, sdk_cache
from hipport.sdk.lock import Pin, choose, read_lock
from hipport.sdk.toolchain import Sdk

Say = Callable[[str], None]

_NEEDED_BYTES = 600_000_000  # package lists, packages, and clang where it has to be unpacked
_CHECK = "check the network, the proxy settings (apt-get update) and this machine's clock"


@dataclass(frozen=True)
class Installed:
    """One package of an installed SDK: the row of its lock record.

    Attributes:
        name: package.
        version: version that was unpacked.
        sha256: of its ``.deb``.
        suite: where it came from.
        pinned: the version of the lock table.
    """

    name: str
    version: str
    sha256: str
    suite: str
    pinned: bool


class ProfileGoneError(ToolchainError):
    """The mirror no longer carries the HIP version of a profile."""


def install_sdk(
    profile: str | None, say: Say, *, offline: bool = False, mirror: str | None = None, force: bool = False
) -> Sdk:
    """Install a profile, or do nothing when it is there and works.

    The new SDK is unpacked beside its final place, tried, and renamed: an interrupted install leaves the old state.
    Two installs at once wait for each other.

    Args:
        profile: ``6.4`` or ``7.2``; None takes the first that the mirror still carries.
        say: receives one line per step.
        offline: use only package files that were downloaded before.
        mirror: Debian mirror for machines that use none.
        force: install again even when the SDK is there.

    Raises:
        ToolchainError: what failed, and the next step.
    """
    wanted = [profile] if profile else list(PROFILES)
    with _lock(say):
        _check_space()
        if not offline:
            ensure_clang(say, mirror)
        elif missing_tools():
            raise ToolchainError(f"{', '.join(missing_tools())} missing and --offline given", "run without --offline")
        for name in wanted[:-1]:
            try:
                return _install(name, say, offline, mirror, force)
            except ProfileGoneError as error:
                say(error.message)
        return _install(wanted[-1], say, offline, mirror, force)


def _check_space() -> None:
    """Before apt starts: with a full disk it waits for ever."""
    free = shutil.disk_usage(cache_root()).free
    if free < _NEEDED_BYTES:
        raise ToolchainError(
            f"{free / 1e6:.0f} MB are free in {cache_root()}, {_NEEDED_BYTES / 1e6:.0f} MB are needed",
            "free some disk space, or set HIPPORT_CACHE to a folder elsewhere",
        )


def _install(profile: str, say: Say, offline: bool, mirror: str | None, force: bool) -> Sdk:
    pins = read_lock(profile)
    final = sdk_cache(profile)
    present = sdk_at(final, "cache") if final.is_dir() else None
    if present is not None and present.record is not None and not force:
        say(f"HIP {profile} is installed in {final}")
        return present
    with _staging(final.parent) as staging:
        new = staging / profile
        installed, missing = _fetch_and_unpack(pins, new, say, offline, mirror)
        record = {"profile": profile, "packages": [asdict(item) for item in installed], "missing": missing}
        (new / RECORD_NAME).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        say("compiling a kernel for each target")
        sdk = sdk_at(new, "cache")
        if sdk is None:
            raise ToolchainError("the packages hold no HIP headers or no device libraries", "run: hipport doctor")
        require_working(sdk)
        _replace(final, new, staging)
    done = sdk_at(final, "cache")
    assert done is not None
    return done


def read_record(sdk: Sdk) -> list[Installed]:
    """Packages of an installed SDK; empty for a ROCm."""
    if sdk.record is None:
        return []
    return [Installed(**item) for item in json.loads(sdk.record.read_text(encoding="utf-8"))["packages"]]


def _fetch_and_unpack(
    pins: list[Pin], folder: Path, say: Say, offline: bool, mirror: str | None
) -> tuple[list[Installed], list[str]]:
    """Get every package and unpack it; the names of optional ones that are not to be had."""
    archives = cache_root() / "debs"
    found: dict[str, tuple[Path, Installed]] = {}
    for pin in pins:
        path = _kept(archives, pin)
        if path is not None:
            found[pin.package] = path, Installed(pin.package, pin.version, pin.sha256, pin.suite, pinned=True)
    absent = [pin for pin in pins if pin.package not in found]
    if absent and not offline:
        found |= _download(absent, archives, say, mirror)
    installed: list[Installed] = []
    missing: list[str] = []
    for at, pin in enumerate(pins, 1):
        if pin.package not in found:
            _leave_out(pin, offline)
            missing.append(pin.package)
            say(f"[{at}/{len(pins)}] {pin.package}: {'not in the cache' if offline else 'not on the mirror'}, left out")
            continue
        path, item = found[pin.package]
        moved = "" if item.pinned else f" (the mirror moved on from {pin.package} {pin.version})"
        say(f"[{at}/{len(pins)}] {item.name} {item.version}{moved}")
        unpack(path, folder)
        installed.append(item)
    return installed, missing


def _download(pins: list[Pin], archives: Path, say: Say, mirror: str | None) -> dict[str, tuple[Path, Installed]]:
    """Download the version to take of each pin that the mirror has."""
    apt = PrivateApt(cache_root() / "apt" / "sdk", [sdk_source(mirror)])
    say("reading package lists (the system's sources stay as they are)")
    problem = apt.update()
    offers = apt.candidates([name for pin in pins for name in (pin.package, *pin.instead)])
    if not offers:
        raise ToolchainError(f"the mirror offers no HIP packages: {problem or 'none listed'}", _CHECK)
    chosen: list[tuple[Pin, Candidate]] = []
    for pin in pins:
        choice = choose(pin, offers)
        if choice is not None:
            chosen.append((pin, choice))
        else:
            _leave_out(pin, offline=False)
    say(f"downloading {len(chosen)} packages")
    found = {}
    for (pin, choice), path in zip(
        chosen, apt.download([(c.package, c.version) for _, c in chosen], archives), strict=True
    ):
        pinned = (choice.package, choice.version) == (pin.package, pin.version)
        item = Installed(choice.package, choice.version, _sha256(path), choice.suite, pinned)
        if pinned and item.sha256 != pin.sha256:
            path.unlink()
            raise ToolchainError(
                f"{pin.package} {pin.version} has sha256 {item.sha256}, expected {pin.sha256}",
                "the mirror serves another file under a known version: use another mirror, and report it",
            )
        found[pin.package] = path, item
    return found


def _leave_out(pin: Pin, offline: bool) -> None:
    """Refuse unless the package may be missing."""
    if pin.role == "optional":
        return
    if offline:
        raise ToolchainError(f"{pin.package} was not downloaded before and --offline given", "run without --offline")
    raise ProfileGoneError(
        f"the mirror has no {pin.package} for the HIP version of {pin.version}",
        f"take another profile: hipport sdk install --profile {' or '.join(PROFILES)}",
    )


def _kept(archives: Path, pin: Pin) -> Path | None:
    """The downloaded file of a pinned version, when its hash is right."""
    for path in sorted(archives.glob(f"{pin.package}_*.deb")):
        if _sha256(path) == pin.sha256:
            return path
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextlib.contextmanager
def _lock(say: Say) -> Iterator[None]:
    path = cache_root() / "sdk" / ".lock"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("w")
    except OSError as error:
        raise HipportError(
            f"cannot write {path}: {error.strerror}", "set HIPPORT_CACHE to a writable folder"
        ) from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another install is running: waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _staging(parent: Path) -> Iterator[Path]:
    """A folder for the new SDK; removed whatever happens, and what killed installs left behind with it."""
    for stale in parent.glob(".install-*"):
        shutil.rmtree(stale, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".install-", dir=parent) as name:
        yield Path(name)


def _replace(final: Path, new: Path, staging: Path) -> None:
    if final.is_symlink():
        final.unlink()
    elif final.exists():
        os.rename(final, staging / "old")  # noqa: PTH104 - a directory, within one file system
    os.rename(new, final)  # noqa: PTH104
