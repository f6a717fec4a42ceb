"""Name the places of a known file that no pack rewrites yet, each with what it assumes.

Each ``[[variant]]`` of a rule has ``file`` (its name), ``find`` (exact text), ``expect`` (how often it occurs) and
``note`` (what it assumes, for the reader). Another count means that upstream has changed (HP904).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from hipport.core import Severity
from hipport.rewrite.change import Change, Context, Finding
from hipport.syntax import ParsedFile


def places(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """One finding per place."""
    if context.pass_number != 1:
        return
    name = posixpath.basename(parsed.source.path)
    for site in context.rule.variants:
        if site["file"] != name:
            continue
        starts = [match.start() for match in re.finditer(re.escape(site["find"].encode()), parsed.data)]
        if len(starts) != int(site["expect"]):
            yield context.report(
                0,
                f"{site['find']!r} occurs {len(starts)} times, {site['expect']} expected: the input changed",
                id="HP904",
                severity=Severity.ERROR,
                next_step=f"compare the file with {context.rule.file} and correct the rule",
                subject=context.rule.id,
            )
        for start in starts:
            yield context.report(
                start, f"{site['find']}: {site['note']}", severity=Severity.ERROR, subject=site["find"]
            )
