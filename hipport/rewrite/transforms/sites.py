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


def replace(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Yield one change with every site of the rule, or one finding that says what differs."""
    data = parsed.data
    sites = [(_as_in(data, site["find"]), _as_in(data, site["replace"]), site) for site in context.rule.variants]
    if context.pass_number > 1 or _translated(parsed, context, [wanted for _, wanted, _ in sites]):
        for find, wanted, site in sites:
            if find in data and find not in wanted:
                yield _differs(context, f"{_first_line(site['find'])} is still there after the sites were replaced")
                return
        return
    edits = []
    for find, wanted, site in sites:
        starts = [match.start() for match in re.finditer(re.escape(find), data)]
        if len(starts) != int(site["expect"]):
            yield _differs(
                context, f"{_first_line(site['find'])} occurs {len(starts)} times, {site['expect']} expected"
            )
            return
        found = surroundings(data, starts, len(find))
        if found != site["context"]:
            yield _differs(
                context, f"the lines around {_first_line(site['find'])} hash to {found}, {site['context']} expected"
            )
            return
        edits += [context.edit(Span(at, at + len(find)), wanted) for at in starts]
    yield context.change(edits)


def _translated(parsed: ParsedFile, context: Context, wanted: list[bytes]) -> bool:
    """Whether an earlier run translated this text: the rule's headers are there, or else its replacements."""
    if context.rule.include:
        return set(context.rule.include) <= {include.path for include in parsed.scan.includes}
    return all(text in parsed.data for text in wanted) and not any(
        _as_in(parsed.data, site["find"]) in parsed.data for site in context.rule.variants
    )


def _first_line(text: str) -> str:
    return repr(text.strip().splitlines()[0])


def surroundings(data: bytes, starts: list[int], length: int) -> str:
    """Hash of the lines of all occurrences and their neighbours, white space folded."""
    digest = hashlib.sha256()
    for at in starts:
        begin = data.rfind(b"\n", 0, max(data.rfind(b"\n", 0, at), 0)) + 1
        end = data.find(b"\n", at + length)
        end = data.find(b"\n", end + 1) if end >= 0 else -1
        digest.update(b" ".join(data[begin : end if end >= 0 else len(data)].split()) + b"\n")
    return digest.hexdigest()[:8]


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
