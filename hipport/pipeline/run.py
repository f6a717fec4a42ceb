"""``hipport translate``: from input files to an output tree, a manifest and a cache entry."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hipport.core import HipportError, TranslateOptions
from hipport.core.files import write_atomic
from hipport.emit.git import require_committed
from hipport.emit.licences import is_licence_file
from hipport.emit.manifest import (
    MANIFEST,
    SUMMARY,
    FileRecord,
    Manifest,
    dump_manifest,
    dump_summary,
    find_manifest,
    load_manifest,
)
from hipport.emit.patches import find_patches, patch_path
from hipport.emit.planning import Item, Plan, Tree, plan_tree
from hipport.emit.support import FOLDER
from hipport.emit.transaction import STATE_DIR, Transaction, back_up, hash_file, locked
from hipport.pipeline.engine import Progress
from hipport.pipeline.globs import matcher
from hipport.pipeline.kinds import Kind, kind_of
from hipport.pipeline.session import SUPPORT, Session
from hipport.pipeline.walk import Inputs, find_inputs, names_below, tree_root

if TYPE_CHECKING:
    from hipport.pipeline.facts import FactsRequest

_MOST_FILES_AROUND = 20_000


@dataclass(frozen=True, slots=True)
class Request:
    """What to translate, and where to.

    Attributes:
        inputs: files and folders.
        out: output tree; ignored in place.
        options: what may change a translation.
        root: folder that output paths are relative to; None: the input folder, or the one common to all inputs.
        patches: folder of saved hand edits; None: ``patches/`` beside the output tree.
        rules: rule folders besides hipport's own.
        exclude: path patterns that are left out.
        in_place: change the inputs themselves.
        force: discard hand edits (with a backup); in place: do without version control.
        write: False plans only (``--dry-run``, ``--check``, ``--diff``).
        jobs: processes, 0 for as many as pay off.
        max_bytes: larger files are copied, not analysed.
        facts: ask a compiler front end, with flags from there.
    """

    inputs: tuple[Path, ...]
    out: Path
    options: TranslateOptions = field(default_factory=TranslateOptions)
    root: Path | None = None
    patches: Path | None = None
    rules: tuple[Path, ...] = ()
    exclude: tuple[str, ...] = ()
    in_place: bool = False
    force: bool = False
    write: bool = True
    jobs: int = 0
    max_bytes: int = 16 << 20
    facts: FactsRequest | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run did, or with ``write=False`` would do.

    Attributes:
        root: input root, absolute.
        out: output tree, absolute.
        manifest: of the output tree after the run.
        changes: output paths written or removed, sorted; manifest files included.
        removed: those of them that were removed.
        refreshed: output paths whose saved hand edit was carried over to a new translation.
        backups: where discarded hand edits went, relative to the output tree.
        n_translated: files that were really translated; the others came from the manifest or the cache.
        cache_problem: why the cache could not be written, empty otherwise. Later hand edits may then lack their base.
        content: gives the bytes of an output path after the run, None when it has none.
    """

    root: Path
    out: Path
    manifest: Manifest
    changes: tuple[str, ...]
    removed: tuple[str, ...]
    refreshed: tuple[str, ...]
    backups: tuple[str, ...]
    n_translated: int
    cache_problem: str
    content: Callable[[str], bytes | None]


def translate_tree(request: Request, progress: Progress | None = None) -> Outcome:
    """Translate a tree.

    Raises:
        HipportError: bad input paths, an output that cannot be written, another run on the same output, wrong rules.
            Nothing is changed then.
    """
    root = tree_root(request.inputs, request.root)
    out = root if request.in_place else Path(os.path.normpath(request.out.absolute()))
    _check_places(root, out, request)
    with locked(out) if request.write else contextlib.nullcontext():
        return _translate(request, root, out, progress)


def _check_places(root: Path, out: Path, request: Request) -> None:
    if out.exists() and not out.is_dir():
        raise HipportError(f"the output {out} is a file", "choose another --out")
    if request.in_place:
        return
    real_root, real_out = root.resolve(), out.resolve()
    for given in request.inputs:
        real = given.resolve()
        if real_out == real or real_out in real.parents:
            raise HipportError(
                f"the output {out} contains the input {given}", "choose another --out, or use --in-place"
            )
    if real_out == real_root:
        raise HipportError(f"the output {out} is the input's folder", "choose another --out, or use --in-place")


def _translate(request: Request, root: Path, out: Path, progress: Progress | None) -> Outcome:
    old = _old_manifest(out, request)
    name = "" if request.in_place else _root_name(root, out)
    if old and old.root and old.root != name and not request.force:
        if request.write:
            raise HipportError(
                f"{out} holds the translation of {old.root!r}, not of {name or str(root)!r}",
                "choose another --out, give the same --root, or replace it by --force",
            )
        old = None  # what would be there instead
    inputs = _inputs(request, root, out)
    session = Session(
        root, out, request.options, request.rules, old, request.max_bytes, request.jobs, request.in_place, request.facts
    )

    def in_scope(record: FileRecord) -> bool:
        if record.kind == SUPPORT:
            return True
        return inputs.covers(record.path) and record.path not in session.unreadable

    texts = session.read(inputs.files, _around(request, inputs, out), in_scope)
    items = session.items(texts, progress)
    includes = [i for item in items for i in item.record.includes]
    if old:
        includes += [i for f in old.files if not in_scope(f) for i in f.includes]
    support = session.support_items(includes)
    taken = {item.record.output_path for item in support}
    items = [item for item in items if item.record.output_path not in taken] + support
    if request.in_place:
        plan = _plan_in_place(items, out)
    else:
        folder = request.patches or out.parent / "patches"
        tree = Tree(out, old, find_patches(folder), session.base, request.force)
        plan = plan_tree(tree, items, in_scope)
    diagnostics = sorted(
        [*inputs.diagnostics, *session.diagnostics, *plan.diagnostics], key=lambda d: (d.path, d.line, d.id, d.message)
    )
    records = tuple(plan.records)
    manifest = Manifest(
        root=name,
        rulebook=session.identity,
        options=request.options,
        files=records,
        diagnostics=tuple(diagnostics),
        licence_files=tuple(f.output_path for f in records if is_licence_file(f.output_path)),
    )
    _plan_manifest(request, plan, manifest, out)
    backups: list[str] = []
    if request.write and (plan.changes() or plan.refreshed):
        if request.in_place and not request.force:
            touched = [p for p in plan.changes() if (out / p).exists() and not _ours(p)]
            require_committed(out, touched)
        backups = _write(request, out, plan, session, records)

    def content(path: str) -> bytes | None:
        planned = plan.writes.get(path)
        if planned is None and (out / path).is_file():
            planned = out / path
        return planned.read_bytes() if isinstance(planned, Path) else planned

    return Outcome(
        root=root,
        out=out,
        manifest=manifest,
        changes=tuple(plan.changes()),
        removed=tuple(sorted(plan.removals)),
        refreshed=tuple(sorted(plan.refreshed)),
        backups=tuple(backups),
        n_translated=session.n_translated,
        cache_problem=session.cache_problem,
        content=content,
    )


def _old_manifest(out: Path, request: Request) -> Manifest | None:
    try:
        find_manifest(out)
    except HipportError:
        return None
    try:
        return load_manifest(out)
    except HipportError:
        if request.force:
            return None
        raise


def _root_name(root: Path, out: Path) -> str:
    """Input root relative to the folder that holds the output; empty when it lies elsewhere (no absolute paths)."""
    relative = os.path.relpath(root, out.parent)
    return "" if relative.split(os.sep, 1)[0] == os.pardir else relative.replace(os.sep, "/")


def _inputs(request: Request, root: Path, out: Path) -> Inputs:
    excluded = matcher(request.exclude)
    if not request.in_place:
        return find_inputs(request.inputs, root, excluded, out)
    own = f"{FOLDER}/hipport"  # headers that an earlier run put there
    return find_inputs(
        request.inputs,
        root,
        lambda path: path == own or path.startswith(own + "/") or excluded(path),
        root / STATE_DIR,
        follow_links=False,
    )


def _around(request: Request, inputs: Inputs, out: Path) -> set[str]:
    """Source files of the root that are not inputs: includes may name them. Empty when the root is huge."""
    if inputs.scope == ("",):
        return set()
    names = names_below(inputs.root, matcher(request.exclude), out, _MOST_FILES_AROUND)
    return set() if len(names) >= _MOST_FILES_AROUND else {n for n in names if kind_of(n, b"") is Kind.SOURCE}


def _ours(path: str) -> bool:
    return path.startswith((f"{FOLDER}/hipport/", f"{STATE_DIR}/"))


def _plan_in_place(items: list[Item], out: Path) -> Plan:
    """Only what differs is written; a renamed file leaves its old name."""
    plan = Plan()
    for item in items:
        record = item.record
        path = record.output_path
        plan.records.append(record)
        final = out / path
        if final.is_file() and hash_file(final) == record.pristine_sha256:
            continue
        if path != record.path:
            if final.exists():
                raise HipportError(
                    f"{record.path} cannot become {path}: a file of that name exists",
                    "translate without --rename, or rename one of them",
                )
            plan.removals.append(record.path)
        plan.writes[path] = item.content()
        if item.executable:
            plan.executable.add(path)
    plan.records.sort(key=lambda r: r.output_path)
    return plan


def _plan_manifest(request: Request, plan: Plan, manifest: Manifest, out: Path) -> None:
    folder = f"{STATE_DIR}/" if request.in_place else ""
    for name, data in ((SUMMARY, dump_summary(manifest)), (MANIFEST, dump_manifest(manifest))):
        path = out / (folder + name)
        try:
            same = path.read_bytes() == data
        except OSError:
            same = False
        if not same:
            plan.writes[folder + name] = data


def _write(request: Request, out: Path, plan: Plan, session: Session, records: tuple[FileRecord, ...]) -> list[str]:
    """Cache first (it holds the merge bases), then the tree at once, then the refreshed patches.

    A stop between any two of these leaves a state from which the next run arrives at the same result.
    """
    with Transaction(out) as transaction:
        for path in plan.writes:  # the manifest comes last: insertion order
            transaction.write(path, plan.writes[path], executable=path in plan.executable)
        for path in plan.removals:
            transaction.remove(path)
        if not request.in_place:
            session.save(records, plan.bases)
        backups = [back_up(out, path) for path in plan.backups]
        transaction.commit()
    folder = request.patches or out.parent / "patches"
    for path, data in plan.refreshed.items():
        write_atomic(patch_path(folder, path), data)
    return backups


def summary_is_current(outcome: Outcome, path: Path) -> bool:
    """True when a committed ``manifest-summary.json`` is what this run would write."""
    try:
        return path.read_bytes() == dump_summary(outcome.manifest)
    except OSError:
        return False
