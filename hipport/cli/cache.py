"""``hipport cache``."""

from __future__ import annotations

from pathlib import Path

import click

from hipport.cli.output import plural, print_json


@click.group("cache")
def command() -> None:
    """Show or prune hipport's caches.

    Everything in the cache can be made again. It lies in $HIPPORT_CACHE, else in ~/.cache/hipport.

    \b
    Examples:
      hipport cache show
      hipport cache prune             translations whose output tree is gone
      hipport cache prune --all       everything but the AMD toolchain
    """


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def show(as_json: bool) -> int:
    """List what the cache holds, with sizes."""
    from hipport.core.files import cache_root
    from hipport.pipeline.cache import sections, translations

    areas = sections()
    packs = translations()
    if as_json:
        print_json(
            {
                "folder": str(cache_root()),
                "sections": [{"name": a.name, "files": a.n_files, "bytes": a.n_bytes} for a in areas],
                "translations": [
                    {"out": p.out, "files": p.n_files, "bytes": p.n_bytes, "output_exists": p.alive} for p in packs
                ],
            }
        )
        return 0
    click.echo(cache_root())
    for area in areas:
        click.echo(f"  {area.name:12} {_size(area.n_bytes):>10}  {plural(area.n_files, 'file')}")
    for pack in packs:
        gone = "" if pack.alive else "  (output gone: hipport cache prune)"
        click.echo(f"  translation  {_size(pack.n_bytes):>10}  {plural(pack.n_files, 'file')} of {pack.out}{gone}")
    if not areas:
        click.echo("  empty")
    return 0


@command.command("prune")
@click.option("--all", "everything", is_flag=True, help="Remove everything but the AMD toolchain and downloads.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def prune(everything: bool, dry_run: bool, as_json: bool) -> int:
    """Remove translations whose output tree is gone; with --all, everything that costs only time to make again.

    A cached translation is the merge base of hand edits: without --all it stays while its output tree is there.
    """
    from hipport.pipeline.cache import prune as remove

    removed = remove(everything, dry_run)
    if as_json:
        print_json({"removed": [{"path": str(Path(r.name)), "bytes": r.n_bytes} for r in removed]})
    else:
        verb = "would be removed" if dry_run else "removed"
        click.echo(f"{plural(len(removed), 'item')} {verb}, {_size(sum(r.n_bytes for r in removed))}")
    return 0


def _size(n_bytes: int) -> str:
    size = float(n_bytes)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
