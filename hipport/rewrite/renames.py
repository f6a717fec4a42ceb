"""Renames: one dictionary probe per identifier, one per include directive."""

from __future__ import annotations

import bisect
import posixpath
import re
from collections.abc import Iterator
from typing import Any

from hipport.core import Diagnostic, Edit, Severity, Span, TranslateOptions
from hipport.rewrite.change import Change, Finding, Project
from hipport.rulebook import Row, Rulebook
from hipport.syntax import ParsedFile, Reach
from hipport.syntax.tokens import Include

RENAME = "HP199"
RENAMED_FILE = "HP407"
OWN_NAME = "HP918"
# Blanks before a "::" that has none behind it separate: ``return ::cudaFree``, ``typename ::cub::X``, a macro's name.
_QUALIFIER = re.compile(rb"(?:(?!(?:return|typename|new|case|else|throw)\b)[A-Za-z_]\w*(?:\s*::\s+|::))+\Z")
# An enumerator may stand behind its enum's name, before or after that was renamed: CUresult::CUDA_SUCCESS.
_ENUM_TYPE = re.compile(r"(?:::)?(?:(?:cuda|hip)[A-Z]\w*|CU[a-z]\w*|(?:cu|hip|nccl)\w+_t)::")
_HAS_INCLUDE = re.compile(rb"""\b__has_include(?:_next)?\s*\(\s*(<[^>\n]*>|"[^"\n]*")""")
_SKIPPED_HEADER = re.compile(r"(?:^|/)\.\.?/")


def renames(
    parsed: ParsedFile, rulebook: Rulebook, options: TranslateOptions, project: Project
) -> Iterator[Change | Finding]:
    """Changes for names and headers that tables rename, findings for those that tables refuse."""
    yield from _includes(parsed, rulebook, options, project)
    names = rulebook.names
    defined = parsed.defined
    for start, name in parsed.scan.identifiers:
        rows = names.get(name)
        if rows is None or name in defined:
            continue
        row = applicable(parsed, rows, Span(start, start + len(name)), options)
        if row is None or row.state == "same" or parsed.reach(start) is not Reach.SHARED:
            continue
        if row.state == "none":
            yield Finding(start, refusal(row, name.decode("ascii", "replace"), rulebook), refusal=True)
            continue
        yield _renamed(parsed, row, start, name)


def needed_headers(parsed: ParsedFile, rulebook: Rulebook, options: TranslateOptions) -> set[str]:
    """hipport's own headers that declare names which the text uses unchanged (rows of state ``same``)."""
    names = rulebook.names
    needed: set[str] = set()
    for start, name in parsed.scan.identifiers:
        rows = names.get(name)
        if rows is None or name in parsed.defined or not any(Row(*cells).include for cells in rows):
            continue
        row = applicable(parsed, rows, Span(start, start + len(name)), options)
        if row is not None and row.state == "same" and row.include and parsed.reach(start) is Reach.SHARED:
            needed.add(row.include)
    return needed


def applicable(
    parsed: ParsedFile, rows: tuple[tuple[Any, ...], ...], span: Span, options: TranslateOptions
) -> Row | None:
    """The row that means the identifier at ``span``: by qualification, by member access, by HIP version.

    A name of which every row is for another HIP version gives a row of state ``none`` that says so. A name that the
    front end knows as the tree's own has none, nor has one that a class or namespace around it declares.
    """
    row = None if parsed.facts.is_own(span.start) else _by_spelling(parsed, rows, span, options)
    if (
        row is None
        or row.kind in ("field", "namespace")
        or "::" in row.cuda
        or code_before(parsed, span.start).endswith(b"::")
    ):
        return row
    return None if parsed.is_own(span.start, parsed.text(span)) else row


def own_names(parsed: ParsedFile, rulebook: Rulebook, options: TranslateOptions) -> Iterator[Finding]:
    """Names that the tables would have renamed by their spelling, had the front end not known better."""
    for start, name in parsed.scan.identifiers:
        rows = rulebook.names.get(name)
        if rows is None or name in parsed.defined:
            continue
        known = parsed.facts.reference_at(start)
        row = _by_spelling(parsed, rows, Span(start, start + len(name)), options)
        if known is None:
            by_text = row is not None and row.kind not in ("field", "namespace") and row.state != "same"
            if by_text and parsed.own_declaration(start, name) and parsed.reach(start) is Reach.SHARED:
                message = (
                    f"{name.decode()} is declared here inside the program's own scope and is left; where it is used"
                    " without a qualifier outside of that scope, it is taken for CUDA's"
                )
                yield Finding(start, Diagnostic(OWN_NAME, Severity.NOTE, message, subject=name.decode()))
            continue
        if known.own and row is not None and row.state != "same" and parsed.reach(start) is Reach.SHARED:
            yield Finding(
                start,
                Diagnostic(
                    OWN_NAME, Severity.NOTE,
                    f"{name.decode()} is the program's own {known.kind} {known.name}, not CUDA's, and is left",
                    subject=name.decode(),
                ),
            )  # fmt: skip


def _by_spelling(
    parsed: ParsedFile, rows: tuple[tuple[Any, ...], ...], span: Span, options: TranslateOptions
) -> Row | None:
    data = parsed.data
    stripped = code_before(parsed, span.start)
    member = stripped.endswith((b".", b"->")) and not stripped.endswith(b"...")
    qualifier = ""
    if stripped.endswith(b"::"):
        match = _QUALIFIER.search(stripped + data[span.start - 1 : span.start].replace(b":", b""))
        qualifier = re.sub(r"\s", "", match[0].decode("ascii", "replace")) if match else "::"
    found: list[Row] = []
    for cells in rows:
        row = Row(*cells)
        if _means(row, data, span, member=member, qualifier=qualifier):
            found.append(row)
    if not found:
        return None
    # The longest qualified name is the most specific one.
    found.sort(key=lambda row: (-row.cuda.count("::"), row.table, row.line))
    best = [row for row in found if row.cuda.count("::") == found[0].cuda.count("::")]
    for row in best:
        if row.covers(options.rocm):
            return row
    return _other_version(best[0], options)


def _means(row: Row, data: bytes, span: Span, *, member: bool, qualifier: str) -> bool:
    if row.kind == "field":
        return member
    if member:
        return False
    owner, separator, _ = row.cuda.rpartition("::")
    if separator:
        # ``at::cuda::x`` is also what ``cuda::x`` inside ``namespace at`` means, but that cannot be told from here.
        return qualifier == f"{owner}::" or qualifier.endswith(f"::{owner}::")
    if row.kind == "namespace":
        following = data[span.end : span.end + 80].lstrip()
        return qualifier in ("", "::") and (
            following.startswith(b"::")
            or bool(re.search(rb"\bnamespace\s+\Z|=\s*\Z", data[max(0, span.start - 60) : span.start]))
        )
    return qualifier in ("", "::") or (row.kind == "enum" and bool(_ENUM_TYPE.fullmatch(qualifier)))


def code_before(parsed: ParsedFile, offset: int) -> bytes:
    """Up to 160 bytes of code that end before ``offset``, blanks and comments between them left out."""
    data, comments, end = parsed.data, parsed.scan.comments, offset
    while True:
        while end > 0 and data[end - 1] in b" \t\r\n":
            end -= 1
        at = bisect.bisect_left(comments, Span(end, 0)) - 1
        if at < 0 or comments[at].end < end:
            return data[max(0, end - 160) : end]
        end = comments[at].start


def _other_version(row: Row, options: TranslateOptions) -> Row:
    have = ".".join(str(part) for part in options.rocm)
    limits = f"from {row.rocm_min}" if row.rocm_min else ""
    limits += f"{' ' if limits else ''}up to {row.rocm_max}" if row.rocm_max else ""
    return Row(
        row.cuda, "", row.kind, "none", row.diag or "HP101", "", "", row.source,
        f"{row.hip} exists in HIP {limits}, the output is for {have}", row.table, row.line,
    )  # fmt: skip


def refusal(row: Row, name: str, rulebook: Rulebook) -> Diagnostic:
    """The diagnostic of a row in state ``none``; the next step is that of its diagnostic id."""
    known = rulebook.explain(row.diag)
    return Diagnostic(
        row.diag,
        Severity.WARNING,
        f"{name} has no HIP counterpart: {row.note}",
        next_step=known.next_step.replace("NAME", name) if known else "",
        subject=name,
    )


def _renamed(parsed: ParsedFile, row: Row, start: int, name: bytes) -> Change:
    """Rename the last component, or the whole qualified name where its qualifier changes too."""
    end = start + len(name)
    owner, separator, last = row.hip.rpartition("::")
    old_owner = row.cuda.rpartition("::")[0]
    span = Span(start, end)
    text = row.hip
    if separator and owner == old_owner:
        text = last
    elif old_owner:
        qualified = re.compile(rb"\s*::\s*".join(re.escape(p.encode()) for p in old_owner.split("::")) + rb"\s*::\s*\Z")
        match = qualified.search(parsed.data, max(0, start - 200), start)
        if match:
            span = Span(match.start(), end)
    findings: tuple[Finding, ...] = ()
    if row.state == "review":
        note = Diagnostic(row.diag, Severity.WARNING, f"{row.cuda} became {row.hip}: {row.note}", subject=row.cuda)
        findings = (Finding(start, note),)
    edit = Edit(span, text.encode(), RENAME, f"{row.cuda} is {row.hip} in HIP ({row.table}:{row.line})")
    return Change((edit,), RENAME, (row.include,) if row.include else (), findings=findings, rank=0)


def _includes(
    parsed: ParsedFile, rulebook: Rulebook, options: TranslateOptions, project: Project
) -> Iterator[Change | Finding]:
    for include in (*parsed.scan.includes, *_asked_for(parsed)):
        if parsed.reach(include.span.start) is not Reach.SHARED:
            continue
        quoted = include.path.startswith('"')
        cells = rulebook.headers.get(include.name)
        if cells is None or (quoted and _own_file(parsed.source.path, include.name, project)):
            if options.rename:
                yield from _follow_rename(parsed, include.name, include.span, quoted=quoted, project=project)
            continue
        row = Row(*cells)
        if not row.covers(options.rocm):
            row = _other_version(row, options)
        if row.state == "none":
            yield Finding(include.span.start, refusal(row, include.path, rulebook), refusal=True)
        elif row.state in ("ok", "review"):
            findings: tuple[Finding, ...] = ()
            if row.state == "review":
                note = Diagnostic(
                    row.diag, Severity.WARNING, f"<{row.cuda}> became <{row.hip}>: {row.note}", subject=include.path
                )
                findings = (Finding(include.span.start, note),)
            text = include.path[0] + row.hip + include.path[-1]
            edit = Edit(include.span, text.encode(), RENAME, f"HIP's header for {row.cuda} ({row.table}:{row.line})")
            yield Change((edit,), RENAME, (row.include,) if row.include else (), findings=findings, rank=0)


def _asked_for(parsed: ParsedFile) -> Iterator[Include]:
    """Headers of ``__has_include(<...>)``: the answer must be that of the header that is included then."""
    for directive in parsed.scan.directives:
        if directive.keyword not in ("if", "elif"):
            continue
        for match in _HAS_INCLUDE.finditer(parsed.data, directive.rest.start, directive.rest.end):
            path = match[1].decode("utf-8", "surrogateescape")
            yield Include(path, Span(*match.span(1)), directive.span)


def _own_file(path: str, name: str, project: Project) -> bool:
    """Whether a quoted include means a file of the tree."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) in project.files or any(
        posixpath.normpath(posixpath.join(folder, name)) in project.files for folder in ("", "include", "src", "csrc")
    )


def output_path(path: str, options: TranslateOptions) -> str:
    """Path in the output tree. ``--rename`` makes ``.cu`` to ``.hip`` and ``.cuh`` to ``.hip.h``."""
    if not options.rename:
        return path
    stem, suffix = posixpath.splitext(path)
    return stem + {".cu": ".hip", ".cuh": ".hip.h"}.get(suffix, suffix)


def _follow_rename(parsed: ParsedFile, name: str, span: Span, *, quoted: bool, project: Project) -> Iterator[Change]:
    """An include of a file that is renamed names its new name. An angled include only when the tree has such a file."""
    renamed = output_path(name, TranslateOptions(rename=True))
    if renamed == name:
        return
    known = _own_file(parsed.source.path, name, project) or any(
        f == name or f.endswith("/" + name) for f in project.files
    )
    if known or (quoted and not project.files):
        inner = Span(span.start + 1, span.end - 1)
        edit = Edit(inner, renamed.encode("utf-8", "surrogateescape"), RENAMED_FILE, f"{name} is renamed in the output")
        yield Change((edit,), RENAMED_FILE, rank=0)
