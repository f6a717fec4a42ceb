"""What happens to each file of the output tree: written, left alone, removed, or kept because a person edited it.

The rule: bytes that hipport did not write are never overwritten. hipport wrote them when their hash is the manifest's.
A saved hand edit (`hipport.emit.patches`) is replayed on every new translation by a three-way merge whose base is the
translation that the edit was made for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from hipport.core import Diagnostic, HipportError, Severity
from hipport.emit.manifest import MANIFEST, SUMMARY, FileRecord, Manifest, sha256
from hipport.emit.merge import merge
from hipport.emit.patches import Patch, apply_patch, dump_patch, make_patch, parse_patch
from hipport.emit.transaction import STATE_DIR, hash_file

CONFLICT = ".conflict"


@dataclass(frozen=True, slots=True)
class Item:
    """One file that this run wants in the output.

    Attributes:
        record: as translated, hand edit not replayed.
        content: gives the pristine bytes, or the file to copy (large ones); called only when needed.
        executable: keep the executable bit.
    """

    record: FileRecord
    content: Callable[[], bytes | Path]
    executable: bool = False


@dataclass(slots=True)
class Plan:
    """What to do to the output tree; nothing is done yet.

    Attributes:
        writes: content by output path; ``executable`` names those that keep the bit.
        removals: output paths.
        backups: output paths to back up before they are discarded (``--force``).
        refreshed: patch files to write, by output path: the edit as it applies to the new translation.
        records: for the new manifest.
        diagnostics: findings about the output tree.
        bases: pristine hashes that the cache must keep.
    """

    writes: dict[str, bytes | Path] = field(default_factory=dict)
    executable: set[str] = field(default_factory=set)
    removals: list[str] = field(default_factory=list)
    backups: list[str] = field(default_factory=list)
    refreshed: dict[str, bytes] = field(default_factory=dict)
    records: list[FileRecord] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    bases: set[str] = field(default_factory=set)

    def changes(self) -> list[str]:
        """Every output path that would change, sorted."""
        return sorted({*self.writes, *self.removals})


@dataclass(frozen=True, slots=True)
class Tree:
    """The output tree as it is.

    Attributes:
        out: its folder.
        old: the manifest of the last run, None on the first.
        patches: saved hand edits by output path.
        base: finds pristine bytes by hash (cache, or regenerated); None when they are gone.
        force: discard hand edits and foreign files, with a backup.
    """

    out: Path
    old: Manifest | None
    patches: dict[str, Path]
    base: Callable[[str, FileRecord | None], bytes | None]
    force: bool = False


def plan_tree(tree: Tree, items: Sequence[Item], in_scope: Callable[[FileRecord], bool]) -> Plan:
    """Plan a whole run.

    Args:
        tree: the output as it is.
        items: what this run wants there.
        in_scope: tells for a record of the old manifest whether this run covered its input; what is outside stays.

    Raises:
        HipportError: two inputs want the same output path.
    """
    plan = Plan()
    _refuse_collisions(items)
    known = tree.old.by_output() if tree.old else {}
    wanted = {i.record.output_path for i in items}
    for item in items:
        _plan_file(tree, plan, item, known.get(item.record.output_path))
    for path, record in known.items():
        if path in wanted:
            continue
        if in_scope(record):
            _plan_stale(tree, plan, record)
        else:
            plan.records.append(record)
            plan.bases.add(record.pristine_sha256)
    held = {r.output_path for r in plan.records}
    for path in tree.patches:
        if path not in held:
            plan.diagnostics.append(
                Diagnostic(
                    "HP941",
                    Severity.WARNING,
                    "a saved hand edit belongs to a file that is not in the output",
                    path=path,
                    next_step=f"hipport edits drop {path}, or move the patch to the file's new name",
                )
            )
    plan.records.sort(key=lambda r: r.output_path)
    return plan


def _refuse_collisions(items: Sequence[Item]) -> None:
    owner: dict[str, str] = {}
    for item in items:
        record = item.record
        other = owner.setdefault(record.output_path, record.path)
        if other != record.path:
            raise HipportError(
                f"{other} and {record.path} would both become {record.output_path}",
                "translate without --rename, or rename one of them",
            )


def _on_disk(path: Path) -> str | None:
    """Hash of an output file; None when there is none (or a folder, which staging reports)."""
    try:
        return hash_file(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}", "check permissions") from error


def _plan_file(tree: Tree, plan: Plan, item: Item, old: FileRecord | None) -> None:
    new = item.record
    path = new.output_path
    if path in (MANIFEST, SUMMARY) or path.split("/", 1)[0] == STATE_DIR:
        plan.diagnostics.append(
            Diagnostic(
                "HP935",
                Severity.WARNING,
                "the name is hipport's own in the output: the file was not copied",
                path=new.path,
                next_step="rename it, or translate in place",
            )
        )
        return
    disk = _on_disk(tree.out / path)
    patch = _read_patch(tree, plan, path)
    ours = {new.pristine_sha256}
    if old:
        ours.add(old.output_sha256)
    elif patch:
        ours.add(patch.result_sha256)
    if disk is not None and disk not in ours:
        if not tree.force:
            plan.records += _keep(plan, new, old)
            return
        plan.backups.append(path)
    final, record = _replay(tree, plan, item, old, patch)
    plan.records.append(record)
    plan.bases.add(record.pristine_sha256)
    if disk != record.output_sha256:
        plan.writes[path] = item.content() if final is None else final
        if item.executable:
            plan.executable.add(path)


def _keep(plan: Plan, new: FileRecord, old: FileRecord | None) -> list[FileRecord]:
    """Leave a file that hipport did not write; the record stays true to what is there."""
    path = new.output_path
    if old is None:
        plan.diagnostics.append(
            Diagnostic(
                "HP936",
                Severity.ERROR,
                "the output has a file of this name that hipport did not write: it was left alone",
                path=path,
                next_step="move it away, or discard it (with a backup) by --force",
            )
        )
        return []
    plan.bases.add(old.pristine_sha256)
    if old.pristine_sha256 == new.pristine_sha256:
        plan.diagnostics.append(
            Diagnostic(
                "HP937",
                Severity.NOTE,
                "edited by hand and not saved; the translation did not change, the edit was left alone",
                path=path,
                next_step=f"hipport edits save {path}",
            )
        )
        return [replace(new, output_sha256=old.output_sha256, patch_sha256=old.patch_sha256, conflict=old.conflict)]
    plan.diagnostics.append(
        Diagnostic(
            "HP937",
            Severity.ERROR,
            "edited by hand and not saved, and the translation changed: the edit was left alone, "
            "so the file is out of date",
            path=path,
            next_step=f"hipport edits save {path}, then translate again to merge; or --force to discard the edit",
        )
    )
    return [old]


def _read_patch(tree: Tree, plan: Plan, path: str) -> Patch | None:
    file = tree.patches.get(path)
    if file is None:
        return None
    try:
        return parse_patch(file.read_bytes(), file.name)
    except OSError as error:
        raise HipportError(f"cannot read {file}: {error.strerror}") from error
    except HipportError as error:
        plan.diagnostics.append(_refused(path, error.message, error.next_step))
        return None


def _refused(path: str, reason: str, next_step: str) -> Diagnostic:
    return Diagnostic(
        "HP939",
        Severity.ERROR,
        f"the saved hand edit was not replayed: {reason}",
        path=path,
        next_step=next_step or "apply it by hand (patch -p1), then run hipport edits save",
    )


def _replay(
    tree: Tree, plan: Plan, item: Item, old: FileRecord | None, patch: Patch | None
) -> tuple[bytes | None, FileRecord]:
    """The final bytes (None: the pristine ones, or what is there already) and the record that says so."""
    new = item.record
    path = new.output_path
    if patch is None:
        return None, new
    plan.bases.add(patch.base_sha256)
    digest = sha256(dump_patch(patch))
    if (tree.out / (path + CONFLICT)).exists():
        plan.diagnostics.append(_conflict(path, pending=True))
        return None, replace(new, conflict=True)
    if patch.base_sha256 == new.pristine_sha256 and _on_disk(tree.out / path) == patch.result_sha256:
        return None, replace(new, output_sha256=patch.result_sha256, patch_sha256=digest)
    try:
        fresh = item.content()
        if isinstance(fresh, Path):
            raise HipportError("the file is too large to merge")
        if patch.base_sha256 == new.pristine_sha256:
            final = apply_patch(patch, fresh, path)
            return final, replace(new, output_sha256=sha256(final), patch_sha256=digest)
        base = tree.base(patch.base_sha256, old)
        if base is None:
            raise HipportError(
                "the translation that it was made for is neither in the cache nor can it be made again",
                f"apply it by hand (patch -p1 in {tree.out.name}), then run hipport edits save",
            )
        edited = apply_patch(patch, base, path)
        merged = merge(base, edited, fresh)
        if merged is None:
            raise HipportError("git cannot merge a binary file")
    except HipportError as error:
        plan.diagnostics.append(_refused(path, error.message, error.next_step))
        return None, replace(new, conflict=True)
    if merged.conflicts:
        plan.writes[path + CONFLICT] = merged.data
        plan.diagnostics.append(_conflict(path, pending=False))
        return None, replace(new, conflict=True)
    if merged.data == fresh:  # the translation now does what the edit did
        plan.diagnostics.append(
            Diagnostic(
                "HP941",
                Severity.WARNING,
                "the new translation contains the saved hand edit: nothing is left of it",
                path=path,
                next_step=f"hipport edits drop {path}",
            )
        )
        return None, new
    refreshed = dump_patch(make_patch(path, fresh, merged.data))
    plan.refreshed[path] = refreshed
    return merged.data, replace(new, output_sha256=sha256(merged.data), patch_sha256=sha256(refreshed))


def _conflict(path: str, pending: bool) -> Diagnostic:
    state = "still waits to be resolved" if pending else "conflicts with the new translation"
    return Diagnostic(
        "HP938",
        Severity.ERROR,
        f"the saved hand edit {state}: the output holds the translation without it",
        path=path,
        next_step=f"edit {path}{CONFLICT}, move it over {path}, then run hipport edits save",
    )


def _plan_stale(tree: Tree, plan: Plan, record: FileRecord) -> None:
    """A file whose input is gone: removed if it is still as hipport wrote it."""
    path = record.output_path
    disk = _on_disk(tree.out / path)
    if disk is None:
        return
    if disk != record.output_sha256 or (record.patch_sha256 and not tree.force):
        if not tree.force:
            plan.diagnostics.append(
                Diagnostic(
                    "HP940",
                    Severity.WARNING,
                    "its input is gone, but it was edited by hand: it was left alone",
                    path=path,
                    next_step="delete it, or let --force remove it with a backup",
                )
            )
            plan.records.append(record)
            plan.bases.add(record.pristine_sha256)
            return
        plan.backups.append(path)
    plan.removals.append(path)
