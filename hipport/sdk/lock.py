"""The lock table: which packages make a profile, which versions were checked, and what to take when they are gone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from hipport.core import ToolchainError
from hipport.sdk.apt import Candidate

_TABLE = Path(__file__).with_name("lock.tsv")


@dataclass(frozen=True)
class Pin:
    """One row of the lock table.

    Attributes:
        package: name.
        version: the version that was checked.
        suite: where it was.
        role: ``core`` (its HIP version makes the profile), ``required`` or ``optional``.
        sha256: of the ``.deb``.
        instead: packages that serve as well, in order of preference.
    """

    package: str
    version: str
    suite: str
    role: str
    sha256: str
    instead: tuple[str, ...] = ()


def read_lock(profile: str, table: Path = _TABLE) -> list[Pin]:
    """The pins of a profile.

    Raises:
        ToolchainError: no such profile.
    """
    rows = [line.split("\t") for line in table.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    known = list(dict.fromkeys(row[0] for row in rows[1:]))
    if profile not in known:
        raise ToolchainError(f"no SDK profile {profile!r}", f"choose from {', '.join(known)}")
    return [
        Pin(row[1], row[2], row[3], row[4], row[5], tuple(row[6].split()) if len(row) > 6 else ())
        for row in rows[1:]
        if row[0] == profile
    ]


def choose(pin: Pin, offers: dict[str, list[Candidate]]) -> Candidate | None:
    """The version to take: the pinned one, else the nearest.

    Nearest: same upstream version; same major.minor, newest; for packages that do not make the profile, the smallest
    distance in major.minor (the newer of two). A ``core`` package of another major.minor is another profile: None.
    """
    for package in (pin.package, *pin.instead):
        candidates = offers.get(package, [])  # newest first, and min() keeps the first of equals
        if pin.role == "core":
            candidates = [c for c in candidates if _major_minor(c.version) == _major_minor(pin.version)]
        if candidates:
            return min(candidates, key=lambda c: _nearness(c.version, pin.version))
    return None


def _nearness(version: str, wanted: str) -> tuple[bool, bool, int, int]:
    (major, minor), (wanted_major, wanted_minor) = _major_minor(version), _major_minor(wanted)
    difference = (major - wanted_major) * 100 + minor - wanted_minor
    return version != wanted, _upstream(version) != _upstream(wanted), abs(difference), -difference


def _upstream(version: str) -> str:
    """Upstream part of a Debian version, without epoch, revision and repack suffix (deb-version(7))."""
    version = version.partition(":")[2] or version
    version = version.rpartition("-")[0] or version
    return re.sub(r"[+~](dfsg|ds).*$", "", version)


def _major_minor(version: str) -> tuple[int, int]:
    numbers = [int(part) for part in re.findall(r"\d+", _upstream(version))[:2]]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (numbers[0] if numbers else 0, 0)
