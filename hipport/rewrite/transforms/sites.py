"""Replace text at known places of a known file: packs for one version of one upstream project.

Each ``[[variant]]`` of a rule has

- ``find`` and ``replace``: exact text, line ends aside;
- ``expect``: how often ``find`` occurs in the file;
- ``context``: first 8 hex digits of the SHA-256 of the lines that hold the occurrences with one line before and behind,
  so that a place that moved or was swapped with another does not pass as the same one.

All places of a rule are replaced or none: a count or a context that differs is an error (HP904), never a partial patch.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from hipport.core import Severity, Span
from hipport.rewrite.change import Change, Context, Finding
from hipport.syntax import ParsedFile

_OWN_NAMES = re.compile(rb"hipport::[\w:]+")


def replace(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Yield one change with every site of the rule, or one finding that says what differs."""
    data = parsed.data
    edits = []
    applied = 0
    for site in context.rule.variants:
        find, wanted = _as_in(data, site["find"]), _as_in(data, site["replace"])
        starts = [match.start() for match in re.finditer(re.escape(find), data)]
        if (not starts or find in wanted) and _applied(wanted, data):
            applied += 1
            continue
        if len(starts) != int(site["expect"]):
            yield _differs(context, f"{site['find'].strip().splitlines()[0]!r} occurs {len(starts)} times, "
                           f"{site['expect']} expected")  # fmt: skip
            return
        found = surroundings(data, starts, len(find))
        if found != site["context"]:
            yield _differs(context, f"the lines around {site['find'].strip().splitlines()[0]!r} hash to {found}, "
                           f"{site['context']} expected")  # fmt: skip
            return
        edits += [context.edit(Span(at, at + len(find)), wanted) for at in starts]
    if edits and applied:
        yield _differs(context, "some places are replaced already, others are not")
    elif edits:
        yield context.change(edits)


def surroundings(data: bytes, starts: list[int], length: int) -> str:
    """Hash of the lines of all occurrences and their neighbours, white space folded."""
    digest = hashlib.sha256()
    for at in starts:
        begin = data.rfind(b"\n", 0, max(data.rfind(b"\n", 0, at), 0)) + 1
        end = data.find(b"\n", at + length)
        end = data.find(b"\n", end + 1) if end >= 0 else -1
        digest.update(b" ".join(data[begin : end if end >= 0 else len(data)].split()) + b"\n")
    return digest.hexdigest()[:8]


def _applied(wanted: bytes, data: bytes) -> bool:
    """Whether the replacement is there. Other rules may have edited it since, but they leave hipport's names alone."""
    names = set(_OWN_NAMES.findall(wanted))
    return all(name in data for name in names) if names else wanted in data


def _as_in(data: bytes, text: str) -> bytes:
    encoded = text.encode()
    return encoded.replace(b"\n", b"\r\n") if b"\r\n" in data[:4096] else encoded


def _differs(context: Context, what: str) -> Finding:
    return context.report(
        0,
        f"{what}: this is not the version the pack was made for; nothing of {context.rule.id} was applied",
        id="HP904",
        severity=Severity.ERROR,
        next_step=f"compare the file with {context.rule.file} and correct the pack",
        subject=context.rule.id,
    )
