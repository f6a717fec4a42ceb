"""``hipport report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hipport.cli.output import print_json

if TYPE_CHECKING:
    from hipport.emit.manifest import Manifest


@click.command("report")
@click.option("--out", "-o", type=click.Path(path_type=Path), help="Output tree [default: generated_hip].")
@click.option("--file", "-f", "file", type=click.Path(path_type=Path), help="Write there instead of stdout.")
@click.option(
    "--format",
    "style",
    type=click.Choice(("markdown", "sarif")),
    default="markdown",
    show_default=True,
    help="The review report, or its findings as SARIF 2.1.0.",
)
@click.option("--full", is_flag=True, help="List every place of every finding.")
@click.option("--json", "as_json", is_flag=True, help="Totals and findings as JSON.")
def command(out: Path | None, file: Path | None, style: str, full: bool, as_json: bool) -> int:
    """Write the review report of a translation, in Markdown, or its findings as SARIF.

    Findings by severity with their next steps, what each rule changed in each file and why, how much of the source is
    unchanged, hand edits, licences: what belongs into a pull request.

    \b
    Examples:
      hipport report > report.md
      hipport report --file report.md --full
      hipport report --format sarif --file report.sarif
      hipport report --json | jq '.severities'

    \b
    Exit codes: 0 no findings that need a person, 1 some, 2 no translation there.
    """
    from hipport.core.files import write_atomic
    from hipport.emit.manifest import counts_of, diagnostic_to_json, load_manifest
    from hipport.pipeline.settings import load_settings
    from hipport.report import render_markdown

    settings = load_settings()
    manifest = load_manifest(out or settings.folder / settings.out)
    counts = counts_of(manifest)
    if as_json:
        print_json(
            {
                "files": counts.files,
                "edits": counts.edits,
                "diagnostics": counts.diagnostics,
                "severities": counts.severities,
                "passthrough_severities": counts.passthrough,
                "lines": counts.lines,
                "lines_unchanged": counts.lines_unchanged,
                "licence_files": list(manifest.licence_files),
                "findings": [diagnostic_to_json(d) for d in manifest.all_diagnostics()],
            }
        )
    else:
        ids = {*counts.edits, *counts.diagnostics}
        if style == "sarif":
            text = _sarif(manifest, ids, settings.rule_folders())
        else:
            text = render_markdown(manifest, _titles(ids, settings.rule_folders()), full)
        if file is None:
            click.echo(text, nl=False)
        else:
            write_atomic(file, text.encode("utf-8", "backslashreplace"))
            click.echo(f"wrote {file}", err=True)
    return int(counts.need_person + counts.passthrough_need_person > 0)


def _sarif(manifest: Manifest, ids: set[str], rule_folders: tuple[Path, ...]) -> str:
    from hipport import __version__
    from hipport.core.files import rules_root
    from hipport.report.sarif import rules_of
    from hipport.report.sarif_manifest import translation_sarif
    from hipport.rulebook import load_rulebook

    book = load_rulebook((rules_root(), *rule_folders))
    return translation_sarif(manifest, rules_of(ids, book), __version__)


def _titles(ids: set[str], rule_folders: tuple[Path, ...]) -> dict[str, str]:
    from hipport.core.files import rules_root
    from hipport.rulebook import load_rulebook

    book = load_rulebook((rules_root(), *rule_folders))
    found = {i: book.explain(i) for i in sorted(ids)}
    return {i: e.title for i, e in found.items() if e is not None}
