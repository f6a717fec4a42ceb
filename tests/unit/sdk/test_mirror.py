"""Reading apt's sources. Formats: sources.list(5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipport.core import ToolchainError
from hipport.sdk.mirror import (
    AptSource,
    debian_source,
    parse_deb822,
    parse_one_line,
    read_sources,
    release_sources,
)

ONE_LINE = """
# deb http://old.example/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/a.gpg] http://mirror.example/debian bookworm main contrib # comment
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/debian-security bookworm-security main
"""
DEB822 = """
# a comment
Types: deb deb-src
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
URIs: http://off.example/debian
Suites: sid
Components: main
Enabled: no

Types: deb-src
URIs: http://mirror.example/debian
Suites: sid
Components: main
"""


def test_one_line_format() -> None:
    first, second = parse_one_line(ONE_LINE)
    assert first == AptSource(
        ("http://mirror.example/debian",),
        ("bookworm",),
        ("main", "contrib"),
        (("Signed-By", "/usr/share/keyrings/a.gpg"),),
    )
    assert second.suites == ("bookworm-security",)


def test_deb822_format_keeps_an_inline_key_and_skips_disabled_and_source_stanzas() -> None:
    (source,) = parse_deb822(DEB822)
    assert source.suites == ("bookworm", "bookworm-updates")
    assert dict(source.options)["Signed-By"].count("\n") == 4
    (again,) = parse_deb822(source.stanza())
    assert again == source


def test_sources_come_from_the_list_and_its_folder(tmp_path: Path) -> None:
    (tmp_path / "sources.list").write_text("deb http://a.example/debian sid main\n")
    folder = tmp_path / "sources.list.d"
    folder.mkdir()
    (folder / "b.sources").write_text("Types: deb\nURIs: http://b.example/debian\nSuites: sid\nComponents: main\n")
    (folder / "ignored.list.save").write_text("deb http://c.example/debian sid main\n")
    assert [source.uris[0] for source in read_sources(tmp_path)] == [
        "http://a.example/debian",
        "http://b.example/debian",
    ]


def test_debian_mirror_is_preferred_over_third_parties_that_use_debian_suite_names() -> None:
    sources = parse_one_line(
        "deb https://node.example/node_20.x bookworm main\n"
        "deb https://docker.example/linux/debian bookworm stable\n"
        "deb [signed-by=/k.gpg] http://mirror.example/debian/ trixie main\n"
    )
    found = debian_source(sources)
    assert found.uris == ("http://mirror.example/debian/",)
    assert found.suites == ("forky", "sid", "experimental")
    assert found.options == (("Signed-By", "/k.gpg"),)


def test_a_security_mirror_alone_is_no_debian_mirror() -> None:
    with pytest.raises(ToolchainError):
        debian_source(parse_one_line("deb http://mirror.example/debian-security bookworm-security main"))


def test_ubuntu_is_told_what_to_do() -> None:
    sources = parse_one_line("deb http://archive.example/ubuntu noble main universe")
    with pytest.raises(ToolchainError, match=r"Ubuntu 24\.04.*no Debian mirror") as caught:
        debian_source(sources, "Ubuntu 24.04")
    assert "--mirror" in caught.value.next_step
    assert "ROCM_PATH" in caught.value.next_step


def test_release_sources_leave_third_parties_out() -> None:
    sources = parse_one_line(
        "deb http://m.example/debian bookworm main\n"
        "deb http://m.example/debian-security bookworm-security main\n"
        "deb http://m.example/debian sid main\n"
        "deb http://other.example/apt stable main\n"
    )
    assert [s.suites[0] for s in release_sources(sources, "bookworm")] == ["bookworm", "bookworm-security"]
