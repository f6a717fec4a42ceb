"""``hipport translate``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.output import by_severity, plural, print_diff, print_findings, print_json, print_list
from hipport.core.target import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hipport.pipeline.engine import Progress
    from hipport.pipeline.run import Outcome, Request
    from hipport.pipeline.settings import Settings


@click.command("translate")
@click.argument("inputs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Output tree [default: generated_hip].")
@click.option("--root", type=click.Path(path_type=Path), help="Folder that output paths are relative to.")
@click.option("--target", "-t", "targets", multiple=True, help=f"AMD target, repeatable: {', '.join(TARGETS)}.")
@click.option("--warp-model", help="What becomes of 32-lane warps: logical32 (default), native64, padded.")
@click.option("--launch", help="Kernel launches: chevron keeps <<<>>> (default), macro writes hipLaunchKernelGGL.")
@click.option("--rocm", metavar="X.Y", help="HIP version that the output is written for [default: 6.4].")
@click.option("--rename", is_flag=True, default=None, help="Rename .cu and .cuh files, and the includes with them.")
@click.option("--unsafe", is_flag=True, default=None, help="Also apply edits that may change meaning.")
@click.option("--facts", is_flag=True, default=None, help="Ask a compiler front end for types and declarations.")
@click.option(
    "--compile-commands",
    type=click.Path(path_type=Path),
    help="Compile database with the flags of the units; implies --facts.",
)
@click.option("--rules", multiple=True, type=click.Path(path_type=Path), help="Folder of further rules, repeatable.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out, repeatable: 'third_party/**', '*.bak'.")
@click.option("--in-place", is_flag=True, help="Change the inputs themselves; they must be committed to git.")
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@click.option("--check", is_flag=True, help="Exit with 1 when the output is out of date; write nothing.")
@click.option("--diff", "show_diff", is_flag=True, help="Print the translation as a unified diff; write nothing.")
@click.option("--force", is_flag=True, help="Discard hand edits (with a backup); in place: do without git.")
@click.option("--patches", type=click.Path(path_type=Path), help="Saved hand edits [default: patches/ beside --out].")
@click.option("--config", type=click.Path(path_type=Path), help="Settings [default: the nearest hipport.toml].")
@click.option("-j", "--jobs", type=click.IntRange(min=0), help="Processes [default: as many as pay off].")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--quiet", "-q", is_flag=True, help="Print nothing but what stops the command; see the exit code.")
@click.option("--verbose", "-v", is_flag=True, help="Print every finding, not one line per kind.")
def command(
    inputs: tuple[Path, ...],
    out: Path | None,
    root: Path | None,
    in_place: bool,
    dry_run: bool,
    check: bool,
    show_diff: bool,
    force: bool,
    config: Path | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    **given: object,
) -> int:
    """Translate CUDA files or trees to HIP.

    The output mirrors the input: same folders, same file names, every byte that no rule names unchanged. What cannot
    be translated is reported with a reason and the next step; `hipport explain ID` tells more.

    \b
    Examples:
      hipport translate upstream_cuda/                      -> generated_hip/
      hipport translate kernel.cu --out hip/ -t gfx1100
      hipport translate src/ --diff | less                  look first
      hipport translate src/ --check                        for CI: is the output current?
      hipport translate src/ --compile-commands build/compile_commands.json    with types
      hipport translate src/ --in-place                     git can undo it

    \b
    Exit codes: 0 clean, 1 findings that need a person (with --check: output out
    of date), 2 bad usage or input, nothing written.
    """
    from hipport.emit.manifest import findings
    from hipport.pipeline.run import translate_tree

    if sum((dry_run, check, show_diff)) > 1:
        raise click.UsageError("--dry-run, --check and --diff exclude each other")
    if in_place and out is not None:
        raise click.UsageError("--in-place and --out exclude each other")
    settings = merged_settings(config, given)
    request = _request(settings, inputs, out, root, in_place, force, not (dry_run or check or show_diff))
    bar = _Bar(enabled=not (quiet or as_json) and sys.stderr.isatty())
    try:
        outcome = translate_tree(request, bar)
    finally:
        bar.close()
    if outcome.cache_problem and not quiet:
        click.echo(f"hipport: {outcome.cache_problem}; without a cache, hand edits may lack a merge base", err=True)
    stale = _stale(outcome) if check else []
    needs_person = any(d.severity.needs_person for d in outcome.manifest.all_diagnostics())
    code = int(bool(stale) if check else needs_person)
    if as_json:
        print_json(_json(outcome, stale, code))
    elif show_diff:
        for diff in tree_diff(outcome):
            print_diff(diff, colour=sys.stdout.isatty())
        if not quiet:
            _print(outcome, verbose, err=True)
    elif check:
        if stale:
            print_list(f"{outcome.out.name} is out of date:", stale)
        elif not quiet:
            click.echo(f"{outcome.out.name} is up to date")
    elif dry_run:
        removed = set(outcome.removed)
        print_list(
            f"{outcome.out.name}: {plural(len(outcome.changes), 'file')} would change",
            (f"{'remove' if p in removed else 'write '} {p}" for p in outcome.changes),
        )
        print_findings(findings(outcome.manifest, passthrough=False))
    elif not quiet:
        _print(outcome, verbose)
    return code


def merged_settings(config: Path | None, given: dict[str, object]) -> Settings:
    """Settings of the project with what the command line gave on top (absent options are None or empty)."""
    from dataclasses import replace

    from hipport.pipeline.settings import FILE_NAME, load_settings

    settings = load_settings(config)
    if settings.folder.is_absolute() and (settings.folder / FILE_NAME).is_file():
        from hipport.build.settings import read_settings

        read_settings(settings.folder)  # a wrong key of [build] is an error here as it is for hipport build
    changes: dict[str, object] = {}
    for name, value in given.items():
        if value is None or value == ():
            continue
        if name == "rules":
            assert isinstance(value, tuple)
            changes[name] = settings.rules + tuple(str(Path(v).absolute()) for v in value)
        elif name == "exclude":
            assert isinstance(value, tuple)
            changes[name] = settings.exclude + value
        elif name == "patches":
            changes[name] = str(Path(str(value)).absolute())
        elif name == "compile_commands":
            changes |= {name: str(Path(str(value)).absolute()), "facts": True}
        else:
            changes[name] = value
        if name == "warp_model":
            changes |= {"file_warp_models": (), "kernel_warp_models": ()}
    return replace(settings, **changes)  # type: ignore[arg-type]  # names and types are those of the options above


def _request(
    settings: Settings,
    inputs: tuple[Path, ...],
    out: Path | None,
    root: Path | None,
    in_place: bool,
    force: bool,
    write: bool,
) -> Request:
    from hipport.pipeline.run import Request

    return Request(
        inputs=inputs,
        out=out if out is not None else settings.folder / settings.out,
        options=settings.translate_options(),
        root=root,
        patches=settings.folder / settings.patches if settings.patches else None,
        rules=settings.rule_folders(),
        exclude=settings.exclude,
        in_place=in_place,
        force=force,
        write=write,
        jobs=settings.jobs,
        max_bytes=settings.max_file_mib << 20,
        facts=settings.facts_request(),
    )


class _Bar:
    """A progress bar on stderr, made when the first file is done: a run that finds nothing to do imports no rich."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._stop: Progress | None = None
        self._update: Progress | None = None

    def __call__(self, done: int, total: int) -> None:
        if not self.enabled:
            return
        if self._update is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            bar = Bar(console=Console(stderr=True), transient=True)
            task = bar.add_task("translating", total=total)
            bar.start()
            self._update = lambda done, total: bar.update(task, completed=done, total=total)
            self._stop = lambda done, total: bar.stop()
        self._update(done, total)

    def close(self) -> None:
        """Remove the bar."""
        if self._stop is not None:
            self._stop(0, 0)


def _stale(outcome: Outcome) -> list[str]:
    """Output paths that are out of date.

    Where only the committed summary is there (``generated_hip/`` is usually not committed), the summary decides.
    """
    from hipport.emit.manifest import MANIFEST, SUMMARY

    if not (outcome.out / MANIFEST).exists() and (outcome.out / SUMMARY).exists():
        return [SUMMARY] if SUMMARY in outcome.changes else []
    return sorted({*outcome.changes, *(f"{p} (hand edit must be carried over)" for p in outcome.refreshed)})


def tree_diff(outcome: Outcome) -> Iterator[bytes]:
    """Unified diffs from input to output, one per file that differs."""
    from hipport.emit.patches import unified_diff

    for record in outcome.manifest.files:
        if record.input_sha256 == record.output_sha256 and record.path == record.output_path:
            continue
        try:
            before = (outcome.root / record.path).read_bytes()
        except OSError:
            continue
        after = outcome.content(record.output_path)
        if after is not None and before != after:
            yield unified_diff(before, after, f"a/{record.path}", f"b/{record.output_path}")


def _print(outcome: Outcome, verbose: bool, err: bool = False) -> None:
    from hipport.core import FileState
    from hipport.emit.manifest import counts_of, findings

    counts = counts_of(outcome.manifest)
    states = ", ".join(f"{n:,} {state}" for state, n in counts.files.items())
    support = {f.output_path for f in outcome.manifest.files if f.kind == "support"}
    n_headers = len(support.intersection(outcome.changes))
    written = plural(len(outcome.changes) - len(outcome.removed) - n_headers, "file") + " written"
    if n_headers:
        written += f" and {plural(n_headers, 'header')} of hipport"
    removed = f", {len(outcome.removed):,} removed" if outcome.removed else ""
    click.echo(
        f"{outcome.out.name}: {plural(sum(counts.files.values()), 'file')} ({states}); {written}{removed}", err=err
    )
    share = (
        f", {100 * counts.lines_unchanged / counts.lines:.1f} % of {plural(counts.lines, 'line')} unchanged"
        if counts.lines
        else ""
    )
    click.echo(f"{plural(sum(counts.edits.values()), 'edit')} by {plural(len(counts.edits), 'rule')}{share}", err=err)
    for path in outcome.refreshed:
        click.echo(f"hand edit carried over: {path}", err=err)
    for path in outcome.backups:
        click.echo(f"discarded, backup: {outcome.out.name}/{path}", err=err)
    click.echo(f"findings: {by_severity(counts.severities)}", err=err)
    if verbose:
        for d in outcome.manifest.all_diagnostics():
            click.echo(d.format(), err=err)
    else:
        print_findings(findings(outcome.manifest, passthrough=False), err=err)
    if any(counts.passthrough.values()):
        n = counts.files[FileState.PASSTHROUGH.value]
        click.echo(f"in {plural(n, 'file')} passed through as they are: {by_severity(counts.passthrough)}", err=err)
    if counts.need_person + counts.passthrough_need_person:
        found = [*findings(outcome.manifest, passthrough=False), *findings(outcome.manifest, passthrough=True)]
        example = next(d.id for d in found if d.severity.needs_person)
        click.echo(f"next: hipport report for the whole list, hipport explain {example} for what one means", err=err)


def _json(outcome: Outcome, stale: list[str], code: int) -> dict[str, object]:
    from hipport.emit.manifest import counts_of, diagnostic_to_json

    counts = counts_of(outcome.manifest)
    return {
        "out": str(outcome.out),
        "exit_code": code,
        "files": counts.files,
        "edits": counts.edits,
        "severities": counts.severities,
        "passthrough_severities": counts.passthrough,
        "lines": counts.lines,
        "lines_unchanged": counts.lines_unchanged,
        "translated_now": outcome.n_translated,
        "changes": list(outcome.changes),
        "removed": list(outcome.removed),
        "hand_edits_carried_over": list(outcome.refreshed),
        "backups": list(outcome.backups),
        "stale": stale,
        "diagnostics": [diagnostic_to_json(d) for d in outcome.manifest.all_diagnostics()],
    }
