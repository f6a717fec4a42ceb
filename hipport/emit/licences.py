"""Licence notices: which files hold them, which lines of a source name a licence or a holder."""

from __future__ import annotations

import re

_HEAD_BYTES = 8192
_LINES = 12
_LINE_CHARACTERS = 160
_NOTICE = re.compile(
    rb"^.*?(SPDX-[A-Za-z-]+:.*|(?:Copyright|\(c\)|\xc2\xa9)\s.*\d{4}.*)$", re.IGNORECASE | re.MULTILINE
)
_FILE = re.compile(r"(?:^|/)(?:LICEN[CS]E|COPYING|NOTICE|AUTHORS|COPYRIGHT)(?:[._-][^/]*)?$", re.IGNORECASE)


def notices(data: bytes) -> tuple[str, ...]:
    """SPDX and copyright lines in the first 8 KiB of a file, without comment marks."""
    found: list[str] = []
    for match in _NOTICE.finditer(data[:_HEAD_BYTES]):
        text = match[1].decode("utf-8", "replace").strip().rstrip("*/# ").rstrip()
        if text and text not in found:
            found.append(text[:_LINE_CHARACTERS])
    return tuple(found[:_LINES])


def is_licence_file(path: str) -> bool:
    """True for LICENSE, COPYING, NOTICE, AUTHORS and their variants."""
    return _FILE.search(path) is not None
