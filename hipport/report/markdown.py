"""The review report in Markdown: what a reviewer of a translation needs, in the order in which it matters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hipport.core import Diagnostic, FileState, Severity
from hipport.emit.manifest import EditRecord, FileRecord, Manifest, counts_of, findings

_SHOWN_PLACES = 20
_CODE_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """All findings of one id and severity."""

    id: str
    title: str
    severity: Severity
    count: int
    next_steps: tuple[str, ...]
    places: tuple[Diagnostic, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class EditGroup:
    """Equal edits of one file: the same rule, text before and after."""

    rule: str
    reason: str
    before: str
    after: str
    safety: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FileSection:
    """One file that changed."""

    record: FileRecord
    unchanged: float
    groups: tuple[EditGroup, ...]


def render_markdown(manifest: Manifest, titles: Mapping[str, str], full: bool = False) -> str:
    """The report as text; the same manifest gives the same bytes.

    Args:
        manifest: of the output tree.
        titles: titles of rule and diagnostic ids; ids without one are shown alone.
        full: list every place of every finding, not the first 20.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hipport.report"),
        autoescape=False,  # Markdown; text from sources goes through `code` and `cell`
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(code=code, cell=cell, percent=percent, lines=line_list)
    counts = counts_of(manifest)
    text = environment.get_template("report.md").render(
        manifest=manifest,
        counts=counts,
        share=percent(counts.lines_unchanged, counts.lines),
        findings=finding_groups(findings(manifest, passthrough=False), titles, None if full else _SHOWN_PLACES),
        rules=[(rule, titles.get(rule, ""), n) for rule, n in counts.edits.items()],
        files=file_sections(manifest),
        hand_edits=[f for f in manifest.files if f.patch_sha256 or f.conflict],
        failed=[f for f in manifest.files if f.state is FileState.FAILED],
        n_passed_through=sum(f.state is FileState.PASSTHROUGH for f in manifest.files),
        passed_through=finding_groups(findings(manifest, passthrough=True), titles, 0),
        notices=licence_table(manifest),
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def finding_groups(
    diagnostics: Sequence[Diagnostic], titles: Mapping[str, str], limit: int | None
) -> list[FindingGroup]:
    """Findings by severity, then id."""
    by_key: dict[tuple[int, str], list[Diagnostic]] = {}
    order = list(Severity)
    for d in diagnostics:
        by_key.setdefault((order.index(d.severity), d.id), []).append(d)
    groups = []
    for (severity, number), found in sorted(by_key.items()):
        shown = found if limit is None else found[:limit]
        groups.append(
            FindingGroup(
                id=number,
                title=titles.get(number, ""),
                severity=order[severity],
                count=sum(d.count for d in found),
                next_steps=tuple(dict.fromkeys(d.next_step for d in found if d.next_step))[:5],
                places=tuple(shown),
                left_out=len(found) - len(shown),
            )
        )
    return groups


def file_sections(manifest: Manifest) -> list[FileSection]:
    """Every file with edits, by path."""
    return [
        FileSection(f, 100 * f.lines_unchanged / f.lines if f.lines else 100.0, tuple(edit_groups(f.edits)))
        for f in manifest.files
        if f.edits
    ]


def edit_groups(edits: Sequence[EditRecord]) -> list[EditGroup]:
    """Equal edits together, in the order of their first line."""
    by_key: dict[tuple[str, str, str, str, str], list[int]] = {}
    for e in edits:
        by_key.setdefault((e.rule, e.reason, e.before, e.after, e.safety), []).append(e.line)
    groups = [EditGroup(*key, lines=tuple(sorted(lines))) for key, lines in by_key.items()]
    return sorted(groups, key=lambda g: (g.lines[0], g.rule))


def licence_table(manifest: Manifest) -> list[tuple[str, int]]:
    """Licence and copyright lines with the number of files that carry them, the most common first."""
    counts: dict[str, int] = {}
    for f in manifest.files:
        for line in f.licence:
            counts[line] = counts.get(line, 0) + 1
    return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def code(text: str) -> str:
    """Text as inline code for a table cell: one line, fences longer than any run of backticks in it."""
    if not text:
        return "*(nothing)*"
    shown = text.replace("\r", "").replace("\n", "⏎").replace("\t", " ")
    if len(shown) > _CODE_CHARACTERS:
        shown = shown[: _CODE_CHARACTERS - 1] + "…"
    shown = shown.replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") or not shown.strip() else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def cell(text: str) -> str:
    """Plain text for a table cell or a list: no markup comes out of it."""
    shown = " ".join(text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").split())
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", shown)


def percent(part: int, whole: int) -> str:
    """``94.8 %``; a dash when there is nothing to divide by."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


def line_list(lines: Sequence[int]) -> str:
    """``3, 7, 12`` and how many more."""
    shown = ", ".join(str(n) for n in lines[:8])
    return shown + (f" and {len(lines) - 8} more" if len(lines) > 8 else "")
