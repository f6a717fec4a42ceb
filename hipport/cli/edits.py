"""``hipport edits``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from hipport.cli.output import changed_lines, plural, print_diff, print_json, print_list

if TYPE_CHECKING:
    from hipport.emit.planning import Plan
    from hipport.pipeline.edits import EditedTree

_F = TypeVar("_F", bound=Callable[..., Any])


def _common(function: _F) -> _F:
    options = (
        click.option("--out", "-o", type=click.Path(path_type=Path), help="Output tree [default: generated_hip]."),
        click.option("--patches", type=click.Path(path_type=Path), help="Patch folder [default: patches/ beside it]."),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group("edits")
def command() -> None:
    """Keep hand edits of the output as patches.

    Edit files in generated_hip/ as you like, then save: the edit becomes a patch under patches/ (commit it), and every
    later translation carries it over by a three-way merge. What you did not save is never overwritten.

    \b
    Examples:
      hipport edits show                      what was edited
      hipport edits save                      all of it
      hipport edits save csrc/a.cu            one file
      hipport edits drop csrc/a.cu            back to the translation
    """


@command.command("save")
@click.argument("paths", nargs=-1)
@_common
def save(paths: tuple[str, ...], out: Path | None, patches: Path | None, as_json: bool) -> int:
    """Write a patch per edited file (PATHS relative to the output tree; default: every edited file)."""
    tree = _tree(out, patches)
    saved = tree.save(paths)
    if as_json:
        print_json({"saved": saved})
    elif saved:
        print_list(f"saved under {tree.folder.name}/ (commit it):", saved)
    else:
        click.echo("no hand edits to save")
    return 0


@command.command("show")
@click.argument("paths", nargs=-1)
@click.option("--diff", "show_diff", is_flag=True, help="Print the edits themselves.")
@_common
def show(paths: tuple[str, ...], show_diff: bool, out: Path | None, patches: Path | None, as_json: bool) -> int:
    """List edited files. Exit 1 unless all are saved.

    States: saved, unsaved, conflict (edit FILE.conflict, move it over FILE, save), lost (a patch whose file is gone).
    """
    edits = [e for e in _tree(out, patches).edits() if not paths or e.path in paths]
    if as_json:
        rows = []
        for e in edits:
            added, removed = changed_lines(e.diff)
            rows.append({"path": e.path, "state": e.state, "added": added, "removed": removed})
        print_json({"edits": rows})
    else:
        for e in edits:
            added, removed = changed_lines(e.diff)
            click.echo(f"{e.state:9} {e.path}  +{added} -{removed}")
            if show_diff:
                print_diff(e.diff, colour=sys.stdout.isatty())
        if not edits:
            click.echo("no hand edits")
    return int(any(e.state != "saved" for e in edits))


@command.command("apply")
@click.argument("paths", nargs=-1)
@_common
def apply(paths: tuple[str, ...], out: Path | None, patches: Path | None, as_json: bool) -> int:
    """Replay saved edits on the output as it is, without translating (after pulling somebody's patches)."""
    return _done(_tree(out, patches).apply(paths), as_json)


@command.command("drop")
@click.argument("paths", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Also edits that were not saved; a backup is kept.")
@_common
def drop(paths: tuple[str, ...], force: bool, out: Path | None, patches: Path | None, as_json: bool) -> int:
    """Delete the patches of PATHS and put the pristine translation back."""
    plan = _tree(out, patches).drop(paths, force)
    if not as_json:
        print_list(f"{plural(len(paths), 'hand edit')} dropped", paths)
    return _done(plan, as_json)


def _tree(out: Path | None, patches: Path | None) -> EditedTree:
    from hipport.pipeline.edits import EditedTree
    from hipport.pipeline.settings import load_settings

    settings = load_settings()
    if patches is None and settings.patches:
        patches = settings.folder / settings.patches
    return EditedTree(out or settings.folder / settings.out, patches, settings.rule_folders())


def _done(plan: Plan, as_json: bool) -> int:
    from hipport.emit.manifest import diagnostic_to_json

    if as_json:
        print_json({"changed": plan.changes(), "diagnostics": [diagnostic_to_json(d) for d in plan.diagnostics]})
    else:
        print_list(f"{plural(len(plan.changes()), 'file')} changed", plan.changes())
        for d in plan.diagnostics:
            click.echo(d.format())
    return int(any(d.severity.needs_person for d in plan.diagnostics))
