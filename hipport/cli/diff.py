"""``hipport diff``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.output import changed_lines, plural, print_diff, print_json
from hipport.core import HipportError

if TYPE_CHECKING:
    from hipport.emit.manifest import FileRecord, Manifest


@click.command("diff")
@click.argument("paths", nargs=-1)
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Output tree [default: generated_hip].")
@click.option("--input", "source", type=click.Path(path_type=Path), help="Input root [default: as last translated].")
@click.option("--stat", is_flag=True, help="One line per file: lines added and removed.")
@click.option(
    "--context", "-U", default=3, show_default=True, type=click.IntRange(min=0), help="Lines around a change."
)
@click.option("--color/--no-color", "colour", default=None, help="Colour [default: on a terminal].")
@click.option("--json", "as_json", is_flag=True, help="The --stat figures as JSON.")
def command(
    paths: tuple[str, ...],
    out: Path | None,
    source: Path | None,
    stat: bool,
    context: int,
    colour: bool | None,
    as_json: bool,
) -> int:
    """Show what translation (and hand edits) changed: the output against its input.

    PATHS are files or folders relative to the trees; default: everything.

    \b
    Examples:
      hipport diff --stat
      hipport diff csrc/layer_norm | less -R
      hipport diff csrc/flash_attn/src/utils.h -U0
    """
    from hipport.emit.manifest import load_manifest
    from hipport.pipeline.edits import input_root
    from hipport.pipeline.settings import load_settings

    settings = load_settings()
    tree = (out or settings.folder / settings.out).absolute()
    manifest = load_manifest(tree)
    root = source or input_root(tree, manifest)
    if root is None or not root.is_dir():
        raise HipportError("the input tree is not known or gone", "name it with --input")
    if root.absolute() == tree:
        raise HipportError("the tree was translated in place", "use git diff")
    rows = []
    total = [0, 0]
    for record, diff in _diffs(manifest, _selected(manifest, paths), root, tree, context):
        added, removed = changed_lines(diff)
        total[0] += added
        total[1] += removed
        rows.append({"path": record.output_path, "added": added, "removed": removed})
        if as_json:
            continue
        if stat:
            click.echo(f"{record.output_path}  +{added} -{removed}")
        else:
            print_diff(diff, sys.stdout.isatty() if colour is None else colour)
    if as_json:
        print_json({"files": rows, "added": total[0], "removed": total[1]})
    elif stat:
        click.echo(f"{plural(len(rows), 'file')}, +{total[0]} -{total[1]}")
    return 0


def _selected(manifest: Manifest, paths: tuple[str, ...]) -> list[FileRecord]:
    wanted = [p.rstrip("/") for p in paths]
    records = [f for f in manifest.files if f.kind != "support"]
    if not wanted:
        return records

    def below(record: FileRecord, path: str) -> bool:
        return any(p == path or p.startswith(path + "/") for p in (record.path, record.output_path))

    for path in wanted:
        if not any(below(r, path) for r in records):
            raise HipportError(f"{path} is not in the translation", "give paths relative to the input or output tree")
    return [r for r in records if any(below(r, p) for p in wanted)]


def _diffs(
    manifest: Manifest, records: list[FileRecord], root: Path, out: Path, context: int
) -> Iterator[tuple[FileRecord, bytes]]:
    from hipport.emit.patches import unified_diff

    for record in records:
        try:
            before = (root / record.path).read_bytes()
            after = (out / record.output_path).read_bytes()
        except OSError as error:
            click.echo(f"{record.path}: {error.strerror}", err=True)
            continue
        if before != after:
            yield (
                record,
                unified_diff(before, after, f"a/{record.path}", f"b/{record.output_path}", context),
            )
