"""Read the machine's own apt sources, to find the Debian mirror that it is configured for.

Formats: sources.list(5), "THE DEB AND DEB-SRC TYPES: ONE-LINE-STYLE FORMAT" and "DEB822-STYLE FORMAT". Nothing here
writes to the system.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hipport.core import ToolchainError

SDK_SUITES = ("forky", "sid", "experimental")  # where Debian carries HIP 6.4 and 7.2
_DEBIAN_SUITES = {
    *("oldstable", "stable", "testing", "unstable", "experimental", "sid"),
    *("bullseye", "bookworm", "trixie", "forky", "duke"),
}
_UPDATE_SUFFIXES = ("-updates", "-security", "-proposed-updates", "-backports")


@dataclass(frozen=True)
class AptSource:
    """One source of binary packages.

    Attributes:
        uris: mirrors.
        suites: releases (``bookworm``, ``bookworm-updates``).
        components: ``main`` and others.
        options: the other deb822 fields as written (``Signed-By``), continuation lines kept.
    """

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    options: tuple[tuple[str, str], ...] = ()

    def stanza(self) -> str:
        """The source in deb822 format."""
        fields = [
            ("Types", "deb"),
            ("URIs", " ".join(self.uris)),
            ("Suites", " ".join(self.suites)),
            ("Components", " ".join(self.components)),
            *self.options,
        ]
        return "".join(f"{name}: {value}\n" for name, value in fields)


def read_sources(etc_apt: Path = Path("/etc/apt")) -> list[AptSource]:
    """Every enabled binary source of the machine, in apt's order."""
    files = [etc_apt / "sources.list", *sorted((etc_apt / "sources.list.d").glob("*"))]
    found: list[AptSource] = []
    for path in files:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # absent, or not for our eyes: apt itself would skip or report it
        if path.suffix == ".sources":
            found += parse_deb822(text)
        elif path.suffix == ".list":
            found += parse_one_line(text)
    return found


def parse_one_line(text: str) -> list[AptSource]:
    """Sources of a ``.list`` file."""
    return [source for line in text.splitlines() if (source := _one_line(line)) is not None]


def _one_line(line: str) -> AptSource | None:
    match = re.match(r"\s*deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<rest>[^#]*)", line)
    if match is None:
        return None
    options = tuple(
        (_FIELD_NAMES.get(name, name.title()), value.replace(",", " "))
        for name, _, value in (option.partition("=") for option in (match["options"] or "").split())
        if value and name in _FIELD_NAMES
    )
    return AptSource((match["uri"],), (match["suite"],), tuple(match["rest"].split()), options)


_FIELD_NAMES = {
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-valid-until": "Check-Valid-Until",
    "check-date": "Check-Date",
    "allow-insecure": "Allow-Insecure",
}


def parse_deb822(text: str) -> list[AptSource]:
    """Sources of a ``.sources`` file."""
    found = []
    for fields in _stanzas(text):
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").strip().lower() in _NO:
            continue
        options = tuple((title, fields[name]) for name, title in _FIELD_NAMES.items() if name in fields)
        uris, suites, components = (tuple(fields.get(name, "").split()) for name in ("uris", "suites", "components"))
        if uris and suites:
            found.append(AptSource(uris, suites, components, options))
    return found


_NO = {"no", "false", "without", "off", "disable"}


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    fields: dict[str, str] = {}
    name = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield fields
            fields, name = {}, ""
        elif line[0] in " \t" and name:
            fields[name] += "\n" + line
        else:
            key, _, value = line.partition(":")
            name = key.strip().lower()
            fields[name] = value.strip()


def release_sources(sources: list[AptSource], codename: str) -> list[AptSource]:
    """The distribution's own sources: those of its release, without third parties' repositories."""
    return [s for s in sources if "main" in s.components and any(_base(suite) == codename for suite in s.suites)]


def debian_source(sources: list[AptSource], system: str = "this system") -> AptSource:
    """A source for `SDK_SUITES` on the Debian mirror that the machine already uses.

    Args:
        sources: the machine's sources.
        system: its name, for the message.

    Raises:
        ToolchainError: the machine uses no Debian mirror.
    """
    usable = [
        source
        for source in sources
        if "main" in source.components and any(s in _DEBIAN_SUITES or _is_updates(s) for s in source.suites)
    ]
    # A mirror's path ends in /debian by convention; others may carry a Debian suite name by chance.
    usable.sort(key=lambda source: not source.uris[0].rstrip("/").endswith("/debian"))
    if not usable:
        raise ToolchainError(
            f"{system}: no Debian mirror among this machine's package sources, and HIP without ROCm comes from Debian",
            "name one: hipport sdk install --mirror URL (with the package debian-archive-keyring), or install ROCm "
            "and set ROCM_PATH",
        )
    return AptSource((usable[0].uris[0],), SDK_SUITES, ("main",), usable[0].options)


def _base(suite: str) -> str:
    for suffix in _UPDATE_SUFFIXES:
        suite = suite.removesuffix(suffix)
    return suite.removesuffix("/updates")


def _is_updates(suite: str) -> bool:
    return suite.endswith(("-updates", "-backports")) and _base(suite) in _DEBIAN_SUITES
