"""Hand edits of the output: list them, save them as patches, replay them, drop them.

`hipport.emit.planning` says how they survive a translation; this module is what ``hipport edits`` does in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hipport.core import Diagnostic, HipportError
from hipport.core.files import write_atomic
from hipport.emit.manifest import (
    MANIFEST,
    SUMMARY,
    FileRecord,
    Manifest,
    dump_manifest,
    dump_summary,
    load_manifest,
    sha256,
)
from hipport.emit.patches import dump_patch, find_patches, make_patch, parse_patch, patch_path
from hipport.emit.planning import CONFLICT, Item, Plan, Tree, plan_tree
from hipport.emit.pristine import load_pack
from hipport.emit.transaction import Transaction, back_up, locked
from hipport.pipeline.session import Session
from hipport.pipeline.walk import find_inputs

_MARKERS = re.compile(rb"^(?:<{7} |\|{7} |>{7} )", re.MULTILINE)
_EDIT_FINDINGS = {"HP937", "HP938", "HP939", "HP941"}


@dataclass(frozen=True, slots=True)
class HandEdit:
    """One edited output file.

    Attributes:
        path: output path.
        state: ``saved`` (as the patch says), ``unsaved`` (differs from what hipport wrote), ``conflict`` (a saved edit
            waits to be merged) or ``lost`` (a patch whose file is not in the output).
        diff: from the pristine translation to the file, or the patch's text.
    """

    path: str
    state: str
    diff: bytes


class EditedTree:
    """An output tree and the patches that belong to it.

    Args:
        out: output tree.
        patches: folder of saved edits; None: ``patches/`` beside the tree.
        rule_folders: besides hipport's own, for making a lost translation again.

    Raises:
        HipportError: no manifest, or the tree was translated in place.
    """

    def __init__(self, out: Path, patches: Path | None = None, rule_folders: tuple[Path, ...] = ()) -> None:
        self.out = out.absolute()
        self.folder = patches or self.out.parent / "patches"
        self.rule_folders = rule_folders
        self.manifest: Manifest = load_manifest(self.out)
        if not (self.out / MANIFEST).is_file():
            raise HipportError(f"{out} was translated in place: your edits are in the sources themselves")

    def edits(self) -> list[HandEdit]:
        """Every hand edit, by path."""
        patches = find_patches(self.folder)
        found = []
        for record in self.manifest.files:
            data = self._on_disk(record)
            path = record.output_path
            if (self.out / (path + CONFLICT)).exists() or (record.conflict and path in patches):
                found.append(HandEdit(path, "conflict", self._patch_text(patches[path]) if path in patches else b""))
            elif data is not None and sha256(data) != record.output_sha256:
                base = self.pristine(record)
                diff = make_patch(path, base, data).diff if base is not None else b""
                found.append(HandEdit(path, "unsaved", diff))
            elif path in patches:
                found.append(HandEdit(path, "saved", self._patch_text(patches[path])))
        known = {r.output_path for r in self.manifest.files}
        found += [HandEdit(p, "lost", self._patch_text(f)) for p, f in patches.items() if p not in known]
        return sorted(found, key=lambda e: e.path)

    def save(self, paths: Sequence[str] = ()) -> list[str]:
        """Write a patch for every edited file (or those named); returns their paths.

        Raises:
            HipportError: a conflict is not resolved, or the pristine translation cannot be found.
        """
        with locked(self.out):
            records = {r.output_path: r for r in self.manifest.files}
            wanted = self._select(paths)
            writes: dict[Path, bytes | None] = {}
            saved = []
            for path in wanted:
                record = records[path]
                data = self._on_disk(record)
                if data is None or sha256(data) == record.output_sha256:
                    continue
                patch = self._make_patch(record, data)
                writes[patch_path(self.folder, path)] = patch
                records[path] = replace(
                    record,
                    output_sha256=sha256(data),
                    patch_sha256=sha256(patch) if patch else "",
                    conflict=False,
                )
                saved.append(path)
            for file, content in writes.items():
                if content is None:
                    file.unlink(missing_ok=True)
                else:
                    write_atomic(file, content)
            if saved:
                kept = [d for d in self.manifest.diagnostics if d.path not in saved or d.id not in _EDIT_FINDINGS]
                self._store(Plan(), [records[r.output_path] for r in self.manifest.files], kept)
            return saved

    def apply(self, paths: Sequence[str] = ()) -> Plan:
        """Replay saved edits on the output as it is, without translating; returns what was done and found."""
        return self._replay(self._select(paths), find_patches(self.folder), force=False)

    def drop(self, paths: Sequence[str], force: bool = False) -> Plan:
        """Forget the saved edits of ``paths``, with their unresolved conflicts: the output gets the translation back.

        Raises:
            HipportError: a path has no hand edit, or edits that were never saved (unless ``force``: with a backup).
        """
        patches = find_patches(self.folder)
        known = {r.output_path for r in self.manifest.files}
        unknown = [p for p in paths if p not in patches and p not in known]
        if unknown:
            raise HipportError(f"no hand edit of {unknown[0]}", "hipport edits show lists them")
        if not force:
            unsaved = [e.path for e in self.edits() if e.path in paths and e.state == "unsaved"]
            if unsaved:
                raise HipportError(
                    f"{unsaved[0]} has edits that were not saved", "save them first, or use --force (keeps a backup)"
                )
        left = {p: f for p, f in patches.items() if p not in paths}
        plan = self._replay([p for p in paths if p in known], left, force)
        for path in paths:
            if path in patches:
                patches[path].unlink(missing_ok=True)
                (self.out / (path + CONFLICT)).unlink(missing_ok=True)
        return plan

    def pristine(self, record: FileRecord) -> bytes | None:
        """The translation before hand edits: from the file itself, the cache, or made again; None when it is gone."""
        data = self._on_disk(record)
        if data is not None and sha256(data) == record.pristine_sha256:
            return data
        found = self._session.base(record.pristine_sha256, record)
        if found is None and self._read_project():
            found = self._session.base(record.pristine_sha256, record)
        return found

    @cached_property
    def _session(self) -> Session:
        return Session(self._root, self.out, self.manifest.options, self.rule_folders, self.manifest)

    @cached_property
    def _root(self) -> Path:
        return input_root(self.out, self.manifest) or Path("/nonexistent")

    def _read_project(self) -> bool:
        """Let the session learn what the inputs declare; False when they are gone."""
        if not self._root.is_dir():
            return False
        inputs = find_inputs((self._root,), self._root, lambda path: False, self.out)
        self._session.read(inputs.files, (), lambda record: True)
        return True

    def _on_disk(self, record: FileRecord) -> bytes | None:
        try:
            return (self.out / record.output_path).read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        except OSError as error:
            raise HipportError(f"cannot read {self.out / record.output_path}: {error.strerror}") from error

    def _select(self, paths: Sequence[str]) -> Sequence[str]:
        known = [r.output_path for r in self.manifest.files]
        unknown = [p for p in paths if p not in set(known)]
        if unknown:
            raise HipportError(
                f"{unknown[0]} is not a file of {self.out.name}", "give paths relative to the output tree"
            )
        return list(paths) or known

    def _make_patch(self, record: FileRecord, data: bytes) -> bytes | None:
        """The patch file's bytes; None when the file is the pristine translation again."""
        path = record.output_path
        if (self.out / (path + CONFLICT)).exists():
            raise HipportError(
                f"{path} has an unresolved conflict", f"edit {path}{CONFLICT} and move it over {path}, then save"
            )
        if _MARKERS.search(data):
            raise HipportError(f"{path} still contains conflict markers", "resolve them, then save")
        base = self.pristine(record)
        if base is None:
            raise HipportError(
                f"the pristine translation of {path} is neither in the cache nor can it be made again",
                f"keep a copy of {path}, translate again with --force, and put your edit back in",
            )
        return None if data == base else dump_patch(make_patch(path, base, data))

    def _replay(self, paths: Sequence[str], patches: dict[str, Path], force: bool) -> Plan:
        selected = set(paths)
        with locked(self.out):
            items = [
                Item(replace(r, output_sha256=r.pristine_sha256, patch_sha256="", conflict=False), self._content(r))
                for r in self.manifest.files
                if r.output_path in selected
            ]
            tree = Tree(self.out, self.manifest, patches, self._session.base, force)
            plan = plan_tree(tree, items, lambda record: False)
            kept = [d for d in self.manifest.diagnostics if d.path not in selected or d.id not in _EDIT_FINDINGS]
            self._store(plan, plan.records, [*kept, *plan.diagnostics])
        for path, data in plan.refreshed.items():
            write_atomic(patch_path(self.folder, path), data)
        return plan

    def _content(self, record: FileRecord) -> Callable[[], bytes | Path]:
        def content() -> bytes | Path:
            found = self.pristine(record)
            if found is None:
                raise HipportError(f"the pristine translation of {record.output_path} is gone", "translate again")
            return found

        return content

    def _store(self, plan: Plan, records: Sequence[FileRecord], diagnostics: Sequence[Diagnostic]) -> None:
        """Write the planned files with the manifest that says so."""
        ordered = tuple(sorted(set(diagnostics), key=lambda d: (d.path, d.line, d.id, d.message)))
        self.manifest = replace(self.manifest, files=tuple(records), diagnostics=ordered)
        with Transaction(self.out) as transaction:
            for path, data in plan.writes.items():
                transaction.write(path, data)
            transaction.write(SUMMARY, dump_summary(self.manifest))
            transaction.write(MANIFEST, dump_manifest(self.manifest))
            for path in plan.backups:
                back_up(self.out, path)
            transaction.commit()

    def _patch_text(self, file: Path) -> bytes:
        try:
            return parse_patch(file.read_bytes(), file.name).diff
        except HipportError:
            return file.read_bytes()


def input_root(out: Path, manifest: Manifest) -> Path | None:
    """Where the inputs of an output tree lie: as the manifest says, or as the cache remembers."""
    if manifest.root:
        return out.parent / manifest.root
    if not (out / MANIFEST).is_file():
        return out  # in place
    pack = load_pack(out)
    return Path(pack.root) if pack and pack.root else None
