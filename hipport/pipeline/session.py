"""Translations of one run: taken over from the last manifest or the cache where nothing changed, made where it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.core import Diagnostic, FileResult, FileState, HipportError, Severity, SourceFile, TranslateOptions
from hipport.core.facts import UnitFacts
from hipport.emit.licences import notices
from hipport.emit.manifest import FileRecord, Manifest, count_lines, record_of, sha256
from hipport.emit.planning import Item
from hipport.emit.pristine import Pack, load_pack, save_pack
from hipport.emit.support import FOLDER, needed_headers
from hipport.emit.transaction import hash_file
from hipport.pipeline.engine import Engine, Progress, load_engine, translate_all, translate_one
from hipport.pipeline.identity import rulebook_identity, run_key
from hipport.pipeline.kinds import Kind, copied_with_care, kind_of
from hipport.pipeline.project import Declared, declared, folders_above, project_key, without_runtime
from hipport.pipeline.walk import InputFile

if TYPE_CHECKING:
    from hipport.pipeline.facts import FactsRequest

SUPPORT = "support"


@dataclass(frozen=True, slots=True)
class Text:
    """An input as read: its bytes (None when too large), their hash, and the CUDA-like names that it defines."""

    file: InputFile
    data: bytes | None
    digest: str
    declared: Declared


Texts = list[Text]


@dataclass(slots=True)
class Project:
    """The tree around every file."""

    files: set[str] = field(default_factory=set)
    macros: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    above: str = ""

    def add(self, path: str, own: Declared) -> None:
        """Add one file; only what can be included is of interest."""
        if kind_of(path, b"") is Kind.SOURCE:
            self.files.add(path)
        self.macros.update(own.macros)
        self.names.update(own.names)

    def key(self) -> str:
        """Hash of all of it."""
        return project_key(self.files, self.macros, self.names, self.above)


class Session:
    """What is known about translating one input tree into one output tree.

    Args:
        root: input root.
        out: output tree: names the cache entry.
        options: of this run.
        rule_folders: besides hipport's own.
        old: manifest of the last run.
        max_bytes: larger files are copied, not read into memory.
        jobs: processes, 0 for as many as pay off.
        in_place: the inputs may be the outputs of the last run.
        facts: ask a compiler front end, with flags from there.
    """

    def __init__(
        self,
        root: Path,
        out: Path,
        options: TranslateOptions,
        rule_folders: tuple[Path, ...],
        old: Manifest | None,
        max_bytes: int = 16 << 20,
        jobs: int = 0,
        in_place: bool = False,
        facts: FactsRequest | None = None,
    ) -> None:
        self.root = root
        self.out = out
        self.options = options
        self.rule_folders = rule_folders
        self.old = old
        self.max_bytes = max_bytes
        self.jobs = jobs
        self.in_place = in_place
        self.facts = facts
        self.identity = rulebook_identity(rule_folders)
        self.diagnostics: list[Diagnostic] = []
        self.unreadable: set[str] = set()
        self.n_translated = 0
        self.cache_problem = ""
        self._project = Project()
        self._bare: frozenset[str] = frozenset()
        self._known: dict[str, UnitFacts] = {}
        self._fresh: dict[str, bytes] = {}

    @cached_property
    def pack(self) -> Pack | None:
        """The pristine cache of the output tree; opened only when something is missing."""
        return load_pack(self.out)

    @cached_property
    def engine(self) -> Engine:
        """The translator; loaded only when something must be translated."""
        project = self._project
        return load_engine(
            self.rule_folders, project.files, project.macros, project.names, project.above, self._bare, self._known
        )

    @cached_property
    def run(self) -> str:
        """Run key of this run; known after `read`."""
        return run_key(self.identity, self.options, self._project.key())

    def read(self, files: Iterable[InputFile], around: Iterable[str], in_scope: Callable[[FileRecord], bool]) -> Texts:
        """Read the inputs, and learn from them what decides every translation.

        Args:
            files: inputs.
            around: paths of the other files of the tree.
            in_scope: tells which records of the last run this run makes anew; the facts of the others count on.
        """
        known = {f.path: f for f in self.old.files if f.kind != SUPPORT} if self.old else {}
        texts: Texts = []
        project = Project(files=set(around), above=folders_above(self.root))
        for file in files:
            data: bytes | None = None
            try:
                if file.size > self.max_bytes:
                    digest = hash_file(Path(file.absolute))
                else:
                    data = Path(file.absolute).read_bytes()
                    digest = sha256(data)
            except OSError as error:
                self._unreadable(file.path, error)
                continue
            old = known.get(file.path)
            if self.old and self.old.rulebook == self.identity and old and old.input_sha256 == digest:
                own = Declared(old.macros, old.names)
            else:
                own = declared(file.path, data or b"")
            texts.append(Text(file, data, digest, own))
            project.add(file.path, own)
        for record in known.values():
            if not in_scope(record):
                project.add(record.path, Declared(record.macros, record.names))
        self._project = project
        self._bare = without_runtime({t.file.path: t.data for t in texts if t.data is not None}, project.files)
        if self.facts is not None:
            from hipport.pipeline.facts import facts_of_tree

            found = facts_of_tree(self.root, [(t.file.path, t.data) for t in texts], self.facts, self.jobs)
            self._known = found.files
            self.diagnostics += found.diagnostics
        return texts

    def items(self, texts: Texts, progress: Progress | None = None) -> list[Item]:
        """One item per text, in order; translates what changed."""
        known = {f.path: f for f in self.old.files if f.kind != SUPPORT} if self.old else {}
        outputs = self.old.by_output() if self.old and self.in_place else {}
        rows: list[FileRecord | None] = []
        waiting: list[tuple[int, Kind, Text]] = []
        for index, text in enumerate(texts):
            path, data = text.file.path, text.data
            if data is None:
                rows.append(self._too_large(text))
                continue
            record = self._reusable(known.get(path), path, text.digest)
            if (
                (done := outputs.get(path))
                and done.run.partition("-")[0] == self.run
                and done.pristine_sha256 == text.digest
            ):
                record = done  # what the last run made of it: its record, edits included, stays
            rows.append(record)
            if record is not None:
                continue
            kind = kind_of(path, data)
            if kind is Kind.OTHER:
                findings = copied_with_care(path, data)
                result = FileResult(path, path, FileState.COPIED, text.digest, data, diagnostics=findings)
                rows[-1] = self._keep(result, kind, text)
            else:
                waiting.append((index, kind, text))
        if waiting:
            sources = [SourceFile(text.file.path, text.data or b"") for _, _, text in waiting]
            results = translate_all(self.engine, sources, self.options, self.jobs, progress)
            self.n_translated = len(results)
            for (index, kind, text), result in zip(waiting, results, strict=True):
                rows[index] = self._keep(result, kind, text)
        return [
            Item(record, self._content_of(record, text.file), text.file.executable)
            for record, text in zip(rows, texts, strict=True)
            if record is not None
        ]

    def support_items(self, includes: Iterable[str]) -> list[Item]:
        """hipport's own headers that the given include directives need."""
        headers, missing = needed_headers(includes)
        for name in missing:
            self.diagnostics.append(
                Diagnostic(
                    "HP944",
                    Severity.ERROR,
                    f"the output includes <{name}>, which this hipport does not ship",
                    subject=name,
                    next_step="correct the include, or report the rule that wrote it",
                )
            )
        found = []
        for path, data in sorted(headers.items()):
            digest = sha256(data)
            self._fresh[digest] = data
            record = FileRecord(
                path=path,
                output_path=path,
                kind=SUPPORT,
                state=FileState.COPIED,
                run=self.run,
                input_sha256=digest,
                pristine_sha256=digest,
                output_sha256=digest,
                lines=count_lines(data),
                lines_unchanged=count_lines(data),
                licence=notices(data),
            )
            found.append(Item(record, _constant(data)))
        return found

    def base(self, digest: str, record: FileRecord | None) -> bytes | None:
        """Pristine bytes by hash: from this run, the cache, or made again from an unchanged input by the same rules."""
        if digest in self._fresh:
            return self._fresh[digest]
        found = self.pack.pristine(digest) if self.pack else None
        if found is not None or record is None or self.old is None or record.pristine_sha256 != digest:
            return found
        if record.kind == SUPPORT:
            source = needed_headers([f"<{record.path.removeprefix(FOLDER + '/')}>"])[0].get(record.path)
            return source if source is not None and sha256(source) == digest else None
        run = run_key(self.identity, self.old.options, self._project.key())
        if record.run != run + self._circumstances(record.path):
            return None
        try:
            data = (self.root / record.path).read_bytes()
        except OSError:
            return None
        if sha256(data) != record.input_sha256:
            return None
        output = self._translate(SourceFile(record.path, data), self.old.options)
        return output if sha256(output) == digest else None

    def save(self, records: Iterable[FileRecord], bases: set[str]) -> None:
        """Bring the cache up to date; nothing to do when nothing was translated.

        The bases of the last run stay for one more: a run that fails after this point still finds them.
        """
        rows = [replace(r, output_sha256=r.pristine_sha256, patch_sha256="", conflict=False) for r in records]
        wanted = {r.pristine_sha256 for r in rows} | bases
        if self.pack is not None and self.n_translated == 0 and wanted <= self.pack.frames.keys():
            return
        previous = {f.pristine_sha256 for f in self.old.files} if self.old else set()
        try:
            save_pack(self.out, self.root, rows, self._fresh, self.pack, bases | previous)
        except HipportError as error:  # it can be made again: no reason to withhold the output
            self.cache_problem = error.message

    def _translate(self, source: SourceFile, options: TranslateOptions) -> bytes:
        if kind_of(source.path, source.data) is Kind.OTHER:
            return source.data
        return translate_one(self.engine, source, options).output

    def _run_of(self, path: str) -> str:
        """Run key of one file."""
        return self.run + self._circumstances(path)

    def _circumstances(self, path: str) -> str:
        """What decides a file's translation besides its bytes: whether it lacks the runtime's header, known facts."""
        facts = self._known.get(path)
        return ("-bare" if path in self._bare else "") + (f"-facts-{facts.identity}" if facts else "")

    def _reusable(self, old: FileRecord | None, path: str, digest: str) -> FileRecord | None:
        run = self._run_of(path)
        for record in (old, None if old and old.input_sha256 == digest and old.run == run else self._packed(path)):
            if record and record.input_sha256 == digest and record.run == run and not _too_large_then(record):
                return replace(record, output_sha256=record.pristine_sha256, patch_sha256="", conflict=False)
        return None

    def _packed(self, path: str) -> FileRecord | None:
        return self.pack.records.get(path) if self.pack else None

    def _keep(self, result: FileResult, kind: Kind, text: Text) -> FileRecord:
        source = text.data or b""
        record = record_of(result, kind.value, self._run_of(result.path), source, notices(source))
        self._fresh[record.pristine_sha256] = result.output
        return replace(record, macros=text.declared.macros, names=text.declared.names)

    def _content_of(self, record: FileRecord, file: InputFile) -> Callable[[], bytes | Path]:
        def content() -> bytes | Path:
            if file.size > self.max_bytes:
                return Path(file.absolute)
            known = self._fresh.get(record.pristine_sha256)
            if known is not None:
                return known
            if record.pristine_sha256 != record.input_sha256:
                found = self.pack.pristine(record.pristine_sha256) if self.pack else None
                if found is not None:
                    return found
            data = Path(file.absolute).read_bytes()
            if sha256(data) != record.input_sha256:
                raise HipportError(f"{record.path} changed while hipport was reading it", "run the command again")
            output = data
            if record.pristine_sha256 != record.input_sha256:
                output = self._translate(SourceFile(record.path, data), self.options)
            self._fresh[record.pristine_sha256] = output
            return output

        return content

    def _unreadable(self, path: str, error: OSError) -> None:
        self.unreadable.add(path)
        self.diagnostics.append(
            Diagnostic(
                "HP930",
                Severity.ERROR,
                f"cannot be read: {error.strerror}",
                path=path,
                next_step="check permissions; what the output held of it was left alone",
            )
        )

    def _too_large(self, text: Text) -> FileRecord:
        file = text.file
        kind = kind_of(file.path, b"")
        findings: tuple[Diagnostic, ...] = ()
        if kind is not Kind.OTHER:
            findings = (
                Diagnostic(
                    "HP933",
                    Severity.ERROR,
                    f"too large to analyse ({file.size >> 20} MiB, limit {self.max_bytes >> 20}): copied as it is",
                    path=file.path,
                    next_step="split it, exclude it, or raise max_file_mib in hipport.toml",
                ),
            )
        return FileRecord(
            path=file.path,
            output_path=file.path,
            kind=kind.value,
            state=FileState.FAILED if findings else FileState.COPIED,
            run=self.run,
            input_sha256=text.digest,
            pristine_sha256=text.digest,
            output_sha256=text.digest,
            diagnostics=findings,
        )


def _too_large_then(record: FileRecord) -> bool:
    """True when the size limit, which is no part of the run key, decided the record."""
    return any(d.id == "HP933" for d in record.diagnostics)


def _constant(data: bytes) -> Callable[[], bytes | Path]:
    return lambda: data
