"""``manifest.json``: what was translated, from what, by which rule, with which findings.

The manifest is reproducible byte for byte: it holds hashes, rule ids and paths relative to the tree, no times and no
absolute paths. Its schema is versioned; later stages (build, report, verify) read nothing else about a translation.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hipport import __version__
from hipport.core import Diagnostic, FileResult, FileState, HipportError, Severity, TranslateOptions

SCHEMA = 1
MANIFEST = "manifest.json"
SUMMARY = "manifest-summary.json"
_EXCERPT_CHARACTERS = 240


@dataclass(frozen=True, slots=True)
class EditRecord:
    """One edit for the reviewer: where (1-based line of the input), by which rule, why, the text before and after."""

    line: int
    rule: str
    reason: str
    before: str
    after: str
    safety: str = "safe"
    pass_number: int = 1


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file of the output tree.

    Attributes:
        path: input path relative to the tree root.
        output_path: path in the output tree.
        kind: see `hipport.pipeline.kinds.Kind`; ``support`` for hipport's own headers.
        state: see `FileState`.
        run: short hash of everything besides the bytes that decided the translation (tool, rules, options).
        input_sha256: of the input.
        pristine_sha256: of the translation before hand edits.
        output_sha256: of the bytes hipport wrote: the pristine translation with the saved hand edit replayed.
        lines: lines of the input.
        lines_unchanged: lines of the input that occur unchanged in the pristine output.
        patch_sha256: of the hand-edit patch that was replayed, empty without one.
        conflict: the hand edit could not be replayed; the output is the pristine translation.
        parse_errors_before: ERROR and MISSING nodes in the input's syntax tree.
        parse_errors_after: the same for the output.
        includes: include directives as written in the output.
        licence: SPDX and copyright lines found in the file.
        macros: CUDA-like names that the file defines as macros: they are the project's, not CUDA's.
        names: the same for functions, types, aliases and namespaces.
        edits: in order of application.
        diagnostics: the translator's findings in this file.
    """

    path: str
    output_path: str
    kind: str
    state: FileState
    run: str
    input_sha256: str
    pristine_sha256: str
    output_sha256: str
    lines: int = 0
    lines_unchanged: int = 0
    patch_sha256: str = ""
    conflict: bool = False
    parse_errors_before: int = 0
    parse_errors_after: int = 0
    includes: tuple[str, ...] = ()
    licence: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    edits: tuple[EditRecord, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Manifest:
    """An output tree.

    Attributes:
        root: input root relative to the folder that holds the output tree, empty when it lies elsewhere.
        rulebook: identity of rules and engine that translated last.
        options: the options of the last translation.
        files: sorted by output path.
        diagnostics: findings that are not the translator's: unreadable inputs, hand edits, stale outputs.
        licence_files: licence, notice and authors files of the tree.
        tool_version: hipport's version.
    """

    root: str
    rulebook: str
    options: TranslateOptions
    files: tuple[FileRecord, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    licence_files: tuple[str, ...] = ()
    tool_version: str = __version__

    def all_diagnostics(self) -> tuple[Diagnostic, ...]:
        """Every finding of the tree: by path, line, column, id."""
        found = [*self.diagnostics, *(d for f in self.files for d in f.diagnostics)]
        return tuple(sorted(found, key=lambda d: (d.path, d.line, d.column, d.id, d.subject)))

    def by_output(self) -> dict[str, FileRecord]:
        """Records by output path."""
        return {f.output_path: f for f in self.files}


def sha256(data: bytes) -> str:
    """Hex SHA-256."""
    return hashlib.sha256(data).hexdigest()


def text_of(data: bytes) -> str:
    """Bytes as readable text; what is not UTF-8 shows as ``\\xNN``."""
    return data.decode("utf-8", "backslashreplace")


def excerpt(data: bytes) -> str:
    """Text of an edit for the manifest: whole when short, otherwise its start, length and hash."""
    text = text_of(data)
    if len(text) <= _EXCERPT_CHARACTERS:
        return text
    return f"{text[:_EXCERPT_CHARACTERS]}… ({len(data)} bytes, sha256 {sha256(data)[:16]})"


def count_lines(data: bytes) -> int:
    """Lines of a text, the last one counted also without a line end."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def lines_in_common(before: bytes, after: bytes) -> int:
    """Lines of ``before`` that occur in ``after`` (as multisets: translation does not reorder lines)."""
    if before == after:
        return count_lines(before)
    return sum((Counter(before.splitlines()) & Counter(after.splitlines())).values())


def record_of(result: FileResult, kind: str, run: str, source: bytes, licence: tuple[str, ...]) -> FileRecord:
    """The record of a fresh translation, hand edits not yet replayed."""
    pristine = sha256(result.output)
    return FileRecord(
        path=result.path,
        output_path=result.output_path,
        kind=kind,
        state=result.state,
        run=run,
        input_sha256=result.input_sha256,
        pristine_sha256=pristine,
        output_sha256=pristine,
        lines=count_lines(source),
        lines_unchanged=lines_in_common(source, result.output),
        parse_errors_before=result.parse_errors_before,
        parse_errors_after=result.parse_errors_after,
        includes=result.includes,
        licence=licence,
        edits=tuple(
            EditRecord(
                line=a.line,
                rule=a.edit.rule,
                reason=a.edit.reason,
                before=excerpt(a.before),
                after=excerpt(a.edit.replacement),
                safety=a.edit.safety.value,
                pass_number=a.pass_number,
            )
            for a in result.edits
        ),
        diagnostics=result.diagnostics,
    )


# --- JSON ---------------------------------------------------------------------------------------------------------
# Fields that hold their default are left out: most records have no patch, no conflict, no finding.


def _compact(record: Any) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for f in fields(record):
        value = getattr(record, f.name)
        if value == f.default and f.name not in ("path", "state"):
            continue
        row[f.name] = list(value) if isinstance(value, tuple) else value
    return row


def file_to_json(record: FileRecord) -> dict[str, Any]:
    """A record as plain JSON data; `file_from_json` is the inverse."""
    row = _compact(record)
    row["state"] = record.state.value
    if record.edits:
        row["edits"] = [_compact(e) for e in record.edits]
    if record.diagnostics:
        row["diagnostics"] = [diagnostic_to_json(d) for d in record.diagnostics]
    return row


def file_from_json(row: dict[str, Any]) -> FileRecord:
    """Inverse of `file_to_json`."""
    data = dict(row)
    data["state"] = FileState(data["state"])
    data["edits"] = tuple(EditRecord(**e) for e in data.get("edits", ()))
    data["diagnostics"] = tuple(diagnostic_from_json(d) for d in data.get("diagnostics", ()))
    for name in ("includes", "licence", "macros", "names"):
        data[name] = tuple(data.get(name, ()))
    return FileRecord(**data)


def diagnostic_to_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A finding as plain JSON data."""
    row = _compact(diagnostic)
    row["severity"] = diagnostic.severity.value
    return row


def diagnostic_from_json(row: dict[str, Any]) -> Diagnostic:
    """Inverse of `diagnostic_to_json`."""
    data = dict(row)
    data["severity"] = Severity(data["severity"])
    data.setdefault("path", "")
    return Diagnostic(**data)


def options_to_json(options: TranslateOptions) -> dict[str, Any]:
    """Options as plain JSON data, all of them: whoever reads a manifest need not know our defaults."""
    values = {f.name: getattr(options, f.name) for f in fields(options)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def options_from_json(row: dict[str, Any]) -> TranslateOptions:
    """Inverse of `options_to_json`."""
    return TranslateOptions(**{name: _frozen(value) for name, value in row.items()})


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(", ", ": "))


def _rows(name: str, rows: Iterable[Any]) -> str:
    lines = ",\n  ".join(_dump(r) for r in rows)
    return f' "{name}": [\n  {lines}\n ]' if lines else f' "{name}": []'


def dump_manifest(manifest: Manifest) -> bytes:
    """The file's bytes: one line per file and per finding, so that version control shows readable differences."""
    parts = [
        f' "schema": {SCHEMA}',
        f' "tool": {_dump({"name": "hipport", "version": manifest.tool_version})}',
        f' "rulebook": {_dump(manifest.rulebook)}',
        f' "root": {_dump(manifest.root)}',
        f' "options": {_dump(options_to_json(manifest.options))}',
        _rows("licence_files", manifest.licence_files),
        _rows("diagnostics", (diagnostic_to_json(d) for d in manifest.diagnostics)),
        _rows("files", (file_to_json(f) for f in manifest.files)),
    ]
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode("ascii")


def parse_manifest(data: bytes, name: str = MANIFEST) -> Manifest:
    """Read what `dump_manifest` wrote.

    Raises:
        HipportError: not a manifest, or one of another schema.
    """
    try:
        row = json.loads(data)
        schema = row["schema"]
        if schema != SCHEMA:
            raise HipportError(
                f"{name} has schema {schema}, this hipport reads {SCHEMA}",
                "translate again with --force, or use the hipport version that wrote it",
            )
        return Manifest(
            root=row["root"],
            rulebook=row["rulebook"],
            options=options_from_json(row["options"]),
            files=tuple(file_from_json(f) for f in row["files"]),
            diagnostics=tuple(diagnostic_from_json(d) for d in row["diagnostics"]),
            licence_files=tuple(row["licence_files"]),
            tool_version=row["tool"]["version"],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HipportError(
            f"{name} is not a manifest of hipport: {error!r}", "move it away, or choose another --out"
        ) from error


def find_manifest(tree: Path) -> Path:
    """Where the manifest of an output tree lies: in the tree, or in ``.hipport/`` when translated in place.

    Raises:
        HipportError: there is none.
    """
    for path in (tree / MANIFEST, tree / ".hipport" / MANIFEST):
        if path.is_file():
            return path
    raise HipportError(f"{tree} holds no {MANIFEST}", "run hipport translate first, or name the output tree with --out")


def load_manifest(tree: Path) -> Manifest:
    """The manifest of an output tree.

    Raises:
        HipportError: there is none, it cannot be read, or it is not ours.
    """
    path = find_manifest(tree)
    try:
        return parse_manifest(path.read_bytes(), str(path))
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of a tree, for the summary line, the summary file and the report.

    Attributes:
        files: by state.
        edits: by rule.
        diagnostics: places by id, pass-through files left out.
        severities: the same by severity.
        passthrough: places by severity in vendored files (CUTLASS): copied byte for byte, but for named patches.
        lines: of analysed files; copied ones would flatter the share.
        lines_unchanged: of them.
    """

    files: dict[str, int] = field(default_factory=dict)
    edits: dict[str, int] = field(default_factory=dict)
    diagnostics: dict[str, int] = field(default_factory=dict)
    severities: dict[str, int] = field(default_factory=dict)
    passthrough: dict[str, int] = field(default_factory=dict)
    lines: int = 0
    lines_unchanged: int = 0

    @property
    def need_person(self) -> int:
        """Findings that a person must look at, pass-through files left out."""
        return _need_person(self.severities)

    @property
    def passthrough_need_person(self) -> int:
        """The same in pass-through files: they matter where such a file is compiled for an AMD target."""
        return _need_person(self.passthrough)


def _need_person(severities: dict[str, int]) -> int:
    return sum(n for severity, n in severities.items() if Severity(severity).needs_person)


def counts_of(manifest: Manifest) -> Counts:
    """Totals of a manifest."""
    own = [f for f in manifest.files if f.kind != "support"]
    analysed = [f for f in own if f.state in (FileState.TRANSLATED, FileState.UNCHANGED)]
    ids: Counter[str] = Counter()
    severities: Counter[str] = Counter()
    passthrough: Counter[str] = Counter()
    for d in findings(manifest, passthrough=False):
        ids[d.id] += d.count
        severities[d.severity.value] += d.count
    for d in findings(manifest, passthrough=True):
        passthrough[d.severity.value] += d.count
    return Counts(
        files=dict(sorted(Counter(f.state.value for f in own).items())),
        edits=dict(sorted(Counter(e.rule for f in manifest.files for e in f.edits).items())),
        diagnostics=dict(sorted(ids.items())),
        severities={s.value: severities[s.value] for s in Severity},
        passthrough={s.value: passthrough[s.value] for s in Severity},
        lines=sum(f.lines for f in analysed),
        lines_unchanged=sum(f.lines_unchanged for f in analysed),
    )


def findings(manifest: Manifest, passthrough: bool) -> list[Diagnostic]:
    """Findings in vendored files (passed through, or patched by a rule that names the file), or all others.

    By path, line, column, id.
    """
    vendored = manifest.options.passthrough
    copied = {
        f.path
        for f in manifest.files
        if f.state is FileState.PASSTHROUGH or any(fnmatchcase(f.path, pattern) for pattern in vendored)
    }
    return [d for d in manifest.all_diagnostics() if (d.path in copied) == passthrough]


def dump_summary(manifest: Manifest) -> bytes:
    """``manifest-summary.json``: small enough to commit, so that a change of the output shows in review."""
    counts = counts_of(manifest)
    tree = hashlib.sha256()
    for record in manifest.files:
        tree.update(f"{record.output_sha256} {record.output_path}\n".encode("utf-8", "surrogateescape"))
    inputs = hashlib.sha256()
    for record in sorted(manifest.files, key=lambda f: f.path):
        inputs.update(f"{record.input_sha256} {record.path}\n".encode("utf-8", "surrogateescape"))
    summary = {
        "schema": SCHEMA,
        "tool": {"name": "hipport", "version": manifest.tool_version},
        "rulebook": manifest.rulebook,
        "root": manifest.root,
        "options": options_to_json(manifest.options),
        "input_tree_sha256": inputs.hexdigest(),
        "output_tree_sha256": tree.hexdigest(),
        "files": counts.files,
        "lines": counts.lines,
        "lines_unchanged": counts.lines_unchanged,
        "edits": counts.edits,
        "diagnostics": counts.diagnostics,
        "severities": counts.severities,
        "passthrough_severities": counts.passthrough,
        "hand_edits": sorted(f.output_path for f in manifest.files if f.patch_sha256),
        "licence_files": list(manifest.licence_files),
    }
    return (json.dumps(summary, indent=1, ensure_ascii=True) + "\n").encode("ascii")
