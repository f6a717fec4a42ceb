"""Path patterns of ``exclude``: ``*`` and ``?`` within a folder, ``**`` across folders."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence


def pattern_to_regex(pattern: str) -> str:
    """Regular expression for one pattern.

    A pattern without a slash matches a name at any depth and one that starts with a slash only at the top, as in
    ``.gitignore``; a pattern also matches everything below a folder that it matches.
    """
    body = pattern.strip("/")
    prefix = "" if "/" in body or pattern.startswith("/") else "(?:.*/)?"
    out = []
    at = 0
    while at < len(body):
        if body.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif body.startswith("**", at):
            out.append(".*")
            at += 2
        elif body[at] == "*":
            out.append("[^/]*")
            at += 1
        elif body[at] == "?":
            out.append("[^/]")
            at += 1
        else:
            out.append(re.escape(body[at]))
            at += 1
    return f"{prefix}{''.join(out)}(?:/.*)?"


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """A test for paths relative to the tree root, forward slashes."""
    if not patterns:
        return lambda path: False
    compiled = re.compile("|".join(f"(?:{pattern_to_regex(p)})" for p in patterns), re.DOTALL)
    return lambda path: compiled.fullmatch(path) is not None
