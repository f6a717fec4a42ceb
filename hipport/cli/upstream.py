"""`hipport upstream`: fetch pinned upstream sources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.core import HipportError

if TYPE_CHECKING:
    from hipport.upstream.fetch import Progress
    from hipport.upstream.sync import SyncResult

_root = click.option(
    "--root",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("upstream_cuda"),
    show_default=True,
    help="Folder that holds upstream.toml.",
)
_offline = click.option("--offline", is_flag=True, help="Use only archives that were downloaded before.")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_quiet = click.option("--quiet", "-q", is_flag=True, help="Print errors only.")


@click.group(name="upstream")
def command() -> None:
    """Fetch pinned upstream sources.

    upstream_cuda/upstream.toml names each source by version and sha256. The archive comes from the package index
    that pip is configured for; its setup code is never run, and only the listed paths are unpacked.
    """


@command.command()
@click.argument("name", required=False)
@click.option("--group", "groups", multiple=True, metavar="GROUP", help="Also fetch this group of paths (repeatable).")
@click.option("--force", is_flag=True, help="Overwrite files that were changed here.")
@_root
@_offline
@_quiet
def sync(name: str | None, groups: tuple[str, ...], force: bool, root: Path, offline: bool, quiet: bool) -> None:
    """Bring the tree to what upstream.toml pins; NAME picks one source.

    Group `main` is always fetched. Safe to run again: when the tree is right, nothing is done; files that you
    changed are kept, unless --force is given.
    """
    from hipport.upstream import read_pins
    from hipport.upstream.sync import sync as sync_source

    pins = [pin for pin in read_pins(root) if name in (None, pin.name)]
    if not pins:
        raise HipportError(f"{root / 'upstream.toml'} pins no {name}", f"run: hipport upstream add {name}==VERSION")
    known = {group for pin in pins for group in pin.groups}
    for group in groups:
        if group not in known:
            raise HipportError(f"no group {group!r}", f"choose from {', '.join(sorted(known))}")
    for pin in pins:
        with _progress(f"{pin.name} {pin.version}", quiet) as progress:
            own = tuple(group for group in groups if group in pin.groups)
            result = sync_source(root, pin, own, force=force, offline=offline, progress=progress)
        if not quiet:
            click.echo(_describe(result, root))


@command.command()
@click.argument("requirement", metavar="NAME==VERSION")
@_root
@_offline
@_quiet
def add(requirement: str, root: Path, offline: bool, quiet: bool) -> None:
    """Fetch another package that ships CUDA, and pin it.

    The sources go to ROOT/NAME-VERSION/, the pin is appended to upstream.toml.
    """
    from packaging.requirements import InvalidRequirement, Requirement

    from hipport.upstream.sync import add as add_source

    try:
        parsed = Requirement(requirement)
    except InvalidRequirement as error:
        raise HipportError(f"{requirement!r} is not NAME==VERSION", "for example: torch-cluster==1.6.3") from error
    pinned = [specifier.version for specifier in parsed.specifier if specifier.operator == "=="]
    if len(parsed.specifier) != 1 or not pinned or "*" in pinned[0]:
        raise HipportError(f"{requirement!r} names no exact version", "for example: torch-cluster==1.6.3")
    with _progress(f"{parsed.name} {pinned[0]}", quiet) as progress:
        result = add_source(root, parsed.name, pinned[0], offline=offline, progress=progress)
    if not quiet:
        click.echo(_describe(result, root))
        click.echo(f"  sha256 {result.pin.sha256}, licence {result.pin.license}: pinned in {root / 'upstream.toml'}")


@command.command()
@_root
@_json
def show(root: Path, as_json: bool) -> None:
    """Show each source: pinned version, groups, what is unpacked, and files changed here."""
    from hipport.upstream import read_pins
    from hipport.upstream.fetch import cached_archive
    from hipport.upstream.sync import changed_files, read_state

    rows: list[dict[str, Any]] = []
    for pin in read_pins(root):
        state = read_state(root, pin)
        rows.append(
            {
                "name": pin.name,
                "version": pin.version,
                "sha256": pin.sha256,
                "license": pin.license,
                "folder": pin.folder,
                "groups": {group: list(paths) for group, paths in pin.groups.items()},
                "archive_cached": cached_archive(pin.sha256) is not None,
                "unpacked_version": state.version if state else "",
                "unpacked_groups": list(state.groups) if state else [],
                "n_files": len(state.files) if state else 0,
                "changed_files": changed_files(root / pin.folder, state) if state else [],
            }
        )
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['name']} {row['version']}  ({row['license']})")
        click.echo(f"  sha256   {row['sha256']}")
        click.echo(f"  groups   {', '.join(row['groups'])}")
        unpacked = f"{row['n_files']} files of {', '.join(row['unpacked_groups'])}" if row["n_files"] else "nothing"
        stale = f" of version {row['unpacked_version']}" if row["unpacked_version"] not in ("", row["version"]) else ""
        click.echo(f"  unpacked {unpacked}{stale}")
        for path in row["changed_files"]:
            click.echo(f"  changed  {path}")


def _describe(result: SyncResult, root: Path) -> str:
    where = root / result.pin.folder
    head = f"{result.pin.name} {result.pin.version}: {result.n_files} files in {where} ({', '.join(result.groups)})"
    removed = f", {result.removed} removed" if result.removed else ""
    done = f"{result.written} written{removed}" if result.written or result.removed else "up to date"
    kept = f"\n  your changes are kept in: {', '.join(result.kept)}" if result.kept else ""
    return f"{head}, {done}{kept}"


@contextmanager
def _progress(title: str, quiet: bool) -> Iterator[Progress | None]:
    """A progress bar on a terminal; elsewhere nothing but the result line."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    with Bar(TextColumn(title), BarColumn(), DownloadColumn(), TransferSpeedColumn(), console=console) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)
