"""Find an archive on the package index that pip is configured for.

Protocol: "Simple repository API" of the Python packaging specifications, HTML (PEP 503) and JSON (PEP 691), and
folders of archives (pip's find-links).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from hipport.core import HipportError
from hipport.upstream.http import Http, UnreachableError, passwords_in, redacted

_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"

# pip merges its configuration files, PIP_* variables and built-in defaults itself: ask it rather than imitate it.
_ASK_PIP = """
import json
from pip._internal.commands import create_command
options, _ = create_command("download").parse_args([])
names = "index_url extra_index_urls no_index find_links cert client_cert proxy timeout trusted_hosts".split()
print(json.dumps({name: getattr(options, name, None) for name in names}))
"""


@dataclass(frozen=True)
class IndexConfig:
    """Where pip would look.

    Attributes:
        indexes: simple repository roots, in pip's order.
        links: folders or pages of archives.
        http: how to connect.
    """

    indexes: tuple[str, ...]
    links: tuple[str, ...]
    http: Http


@dataclass(frozen=True)
class ArchiveLink:
    """One archive on an index.

    Attributes:
        url: where.
        filename: its name.
        sha256: what the index says, empty when it says nothing.
    """

    url: str
    filename: str
    sha256: str


def pip_config() -> IndexConfig:
    """pip's effective configuration.

    Raises:
        HipportError: there is no pip and no ``PIP_INDEX_URL``.
    """
    done = subprocess.run([sys.executable, "-c", _ASK_PIP], capture_output=True, text=True, check=False)
    if done.returncode == 0:
        found = json.loads(done.stdout)
    elif index := os.environ.get("PIP_INDEX_URL"):
        extra = os.environ.get("PIP_EXTRA_INDEX_URL", "").split()
        found = {
            "index_url": index,
            "extra_index_urls": extra,
            "find_links": os.environ.get("PIP_FIND_LINKS", "").split(),
        }
    else:
        raise HipportError("pip is not installed here, so no package index is known", "set PIP_INDEX_URL")
    urls = [] if found.get("no_index") else [found.get("index_url"), *(found.get("extra_index_urls") or [])]
    indexes = tuple(dict.fromkeys(url.rstrip("/") for url in urls if url))
    return IndexConfig(
        indexes,
        tuple(found.get("find_links") or []),
        Http(
            certificates=found.get("cert") or "",
            client_certificate=found.get("client_cert") or "",
            proxy=found.get("proxy") or "",
            timeout_s=float(found.get("timeout") or 15),
            trusted_hosts=tuple(found.get("trusted_hosts") or []),
            passwords=passwords_in(indexes),
        ),
    )


def find_archive(config: IndexConfig, name: str, version: str, sha256: str = "") -> ArchiveLink:
    """The sdist of that version (the wheel when there is no sdist).

    Args:
        config: where to look.
        name: distribution name.
        version: exact version.
        sha256: prefer the archive with this hash.

    Raises:
        HipportError: not found, or no index answers.
    """
    problems: list[str] = []
    for place in (*(f"{index}/{canonicalize_name(name)}/" for index in config.indexes), *config.links):
        try:
            links = _links(place, config.http)
        except UnreachableError as error:
            problems.append(str(error))
            continue
        matching = [link for link in links if _is_version(link.filename, name, Version(version))]
        wanted = sha256 or None
        matching.sort(key=lambda link: (link.sha256 != wanted, link.filename.endswith(".whl"), link.filename))
        if matching:
            return matching[0]
    if problems:
        raise HipportError(
            f"cannot find {name} {version}: {problems[0]}",
            "check the network, proxy and pip settings (pip config list)",
        )
    where = ", ".join(redacted(url) for url in (*config.indexes, *config.links)) or "no index"
    raise HipportError(f"{name} {version} is not on the configured index ({where})", "check name and version")


def _is_version(filename: str, name: str, version: Version) -> bool:
    try:
        if filename.endswith(".whl"):
            found_name, found_version, _, _ = parse_wheel_filename(filename)
        elif filename.endswith((".tar.gz", ".zip")):
            found_name, found_version = parse_sdist_filename(filename)
        else:
            return False
    except (InvalidSdistFilename, InvalidWheelFilename):
        return False
    return found_name == canonicalize_name(name) and found_version == version


def _links(place: str, http: Http) -> list[ArchiveLink]:
    """Archives listed at a place: a page, a ``file:`` page or a folder. None there is an empty list."""
    folder = _local_folder(place)
    if folder is not None:
        page = folder / "index.html" if folder.is_dir() else folder
        if page.is_file():
            return _html_links(page.read_text(encoding="utf-8", errors="replace"), page.parent.as_uri() + "/")
        if folder.is_dir():
            return [ArchiveLink(path.as_uri(), path.name, "") for path in sorted(folder.iterdir()) if path.is_file()]
        return []
    answer = http.get(place, _ACCEPT)
    if answer is None:
        return []
    if "json" in answer.content_type:
        return _json_links(answer.body, answer.url)
    return _html_links(answer.body.decode("utf-8", "replace"), answer.url)


def _local_folder(place: str) -> Path | None:
    if place.startswith("file:"):
        return Path(urllib.parse.unquote(urllib.parse.urlsplit(place).path))
    return None if "://" in place else Path(place).expanduser()


def _json_links(body: bytes, base: str) -> list[ArchiveLink]:
    try:
        files = json.loads(body)["files"]
        return [
            ArchiveLink(urllib.parse.urljoin(base, f["url"]), f["filename"], f.get("hashes", {}).get("sha256", ""))
            for f in files
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise UnreachableError(f"{redacted(base)} answers with a damaged file list") from error


def _html_links(text: str, base: str) -> list[ArchiveLink]:
    parser = _Anchors()
    parser.feed(text)
    found = []
    for href in parser.hrefs:
        url, _, fragment = urllib.parse.urljoin(base, href).partition("#")
        hashes = dict(part.partition("=")[::2] for part in fragment.split("&"))
        filename = urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
        found.append(ArchiveLink(url, filename, hashes.get("sha256", "")))
    return found


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for key, value in attrs if key == "href" and value]
