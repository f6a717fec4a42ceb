"""``hipport lint``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.output import plural, print_json
from hipport.core import HipportError, SourceFile

if TYPE_CHECKING:
    from hipport.lint import Finding, Report
    from hipport.rulebook import Rulebook

_MAX_BYTES = 16 << 20
_SKIPPED = frozenset((".git", ".hg", ".svn", ".jj", "__pycache__", ".venv", ".hipport"))
_SLUGS = ("wrong-on-wave64", "cannot-tell", "safe-on-logical32-only", "safe-on-both", "never")
_COLOURS = {
    "wrong on wave64": "red",
    "cannot tell": "yellow",
    "safe on logical32 only": "cyan",
    "safe on both": "green",
}
_LEVELS = {
    "wrong on wave64": "error",
    "cannot tell": "warning",
    "safe on logical32 only": "note",
    "safe on both": "none",
}


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--format", "style", type=click.Choice(("text", "json", "sarif")), default="text", help="Output format.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--file", "-f", "file", type=click.Path(path_type=Path), help="Write there instead of stdout.")
@click.option("--all", "everything", is_flag=True, help="Text: list what is safe on both, too.")
@click.option("--quiet", "-q", is_flag=True, help="Text: only what --fail-on counts, without traces.")
@click.option(
    "--fail-on",
    type=click.Choice(_SLUGS),
    default="cannot-tell",
    show_default=True,
    help="Exit with 1 for findings as bad as this.",
)
@click.option("--baseline", type=click.Path(path_type=Path), help="Leave out findings that this file knows.")
@click.option("--write-baseline", is_flag=True, help="Write the findings to the --baseline file, and exit with 0.")
@click.option("--root", type=click.Path(path_type=Path), help="Folder that paths are relative to [default: current].")
@click.option("--exclude", multiple=True, help="Glob of paths to leave out, repeatable.")
def command(
    paths: tuple[Path, ...],
    style: str,
    as_json: bool,
    file: Path | None,
    everything: bool,
    quiet: bool,
    fail_on: str,
    baseline: Path | None,
    write_baseline: bool,
    root: Path | None,
    exclude: tuple[str, ...],
) -> int:
    """Report what in CUDA or HIP sources depends on the warp size, with a verdict and its reason.

    Nothing is translated or written. Each finding says where 32, 31, 5 or warpSize comes from and what it decides.
    A comment "// hipport: ignore[HP220] why" silences ids on its line, or alone on a line, on the next one.

    \b
    Verdicts, the worst first:
      wrong on wave64         wrong, faulty or not built where a wavefront has 64 lanes
      cannot tell             depends on a value that these files do not fix
      safe on logical32 only  right while a warp has 32 lanes, as hipport translate keeps it
      safe on both            the same result for 32 and 64 lanes

    \b
    Examples:
      hipport lint csrc
      hipport lint csrc --format sarif --file lint.sarif
      hipport lint csrc --baseline lint.json --write-baseline

    \b
    Exit codes: 0 nothing as bad as --fail-on, 1 findings, 2 bad usage or input.
    """
    from hipport.core.files import rules_root, write_atomic
    from hipport.lint import Verdict, lint, new_findings
    from hipport.lint import write_baseline as write
    from hipport.pipeline.settings import load_settings
    from hipport.rulebook import load_rulebook

    if write_baseline and baseline is None:
        raise HipportError("--write-baseline needs a file", "add --baseline FILE")
    book = load_rulebook((rules_root(), *load_settings().rule_folders()))
    report = lint(_sources(paths, root, exclude), book)
    findings: Sequence[Finding] = report.findings
    if write_baseline and baseline is not None:
        counted = [f for f in findings if f.verdict is not Verdict.SAFE]
        write(baseline, counted)
        click.echo(f"wrote {plural(len(counted), 'finding')} to {baseline}", err=True)
        return 0
    if baseline is not None:
        findings = new_findings(baseline, findings)
    limit = {v.slug: v.rank for v in Verdict}.get(fail_on, len(Verdict))
    bad = sum(f.verdict.rank >= limit for f in findings)
    style = "json" if as_json else style
    if style == "json" and file is None:
        print_json(_as_json(findings, report))
    elif style == "text" and file is None:
        _print(findings, report, limit if quiet else 0 if everything else 1, quiet)
    else:
        text = _sarif(findings, book) if style == "sarif" else _text(findings, report, style)
        if file is None:
            click.echo(text, nl=False)
        else:
            write_atomic(file, text.encode("utf-8", "backslashreplace"))
            click.echo(f"wrote {file}", err=True)
    return int(bad > 0)


def _sources(paths: tuple[Path, ...], root: Path | None, exclude: tuple[str, ...]) -> list[SourceFile]:
    """Files to lint, with paths relative to the root."""
    from fnmatch import fnmatchcase

    from hipport.lint import SUFFIXES
    from hipport.pipeline.walk import tree_root

    here = Path.cwd()
    if root is None and all(p.absolute().resolve().is_relative_to(here.resolve()) for p in paths):
        root = here
    base = tree_root(paths, root)
    found: dict[str, SourceFile] = {}
    for path in (file for given in paths for file in _files(given)):
        name = os.path.relpath(path.absolute(), base).replace(os.sep, "/")
        if any(fnmatchcase(name, glob) for glob in exclude):
            continue
        if path not in paths and path.suffix.lower() not in SUFFIXES:
            continue
        try:
            if path.stat().st_size <= _MAX_BYTES:
                found[name] = SourceFile(name, path.read_bytes())
        except OSError as error:
            raise HipportError(f"cannot read {name}: {error.strerror}", "check permissions") from error
    if not found:
        raise HipportError("no C++, CUDA or HIP sources there", "name a file or a folder that has some")
    return [found[name] for name in sorted(found)]


def _files(given: Path) -> Iterator[Path]:
    """A file itself, or the regular files below a folder; links to folders and version control are left out."""
    if not given.is_dir():
        yield given
        return
    for folder, folders, names in os.walk(given):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        yield from (path for name in sorted(names) if (path := Path(folder, name)).is_file())


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    counts = Counter(f.verdict.value for f in findings)
    return {verdict: counts[verdict] for verdict in _COLOURS}


def _as_json(findings: Sequence[Finding], report: Report) -> dict[str, Any]:
    return {
        "files": report.n_files,
        "suppressed": report.n_suppressed,
        "verdicts": _counts(findings),
        "findings": [
            {
                "id": f.id,
                "verdict": f.verdict.value,
                "path": f.path,
                "line": f.line,
                "column": f.column,
                "subject": f.subject,
                "reason": f.reason,
                "fix": f.fix,
                "trace": [{"path": s.path, "line": s.line, "column": s.column, "text": s.text} for s in f.trace],
                "fingerprint": f.fingerprint,
            }
            for f in findings
        ],
    }


def _text(findings: Sequence[Finding], report: Report, style: str) -> str:
    """JSON or plain text for a file."""
    import json

    if style == "json":
        return json.dumps(_as_json(findings, report), indent=1, ensure_ascii=True) + "\n"
    lines = [line for f in findings for line in _lines(f, trace=True)]
    return click.unstyle("\n".join([*lines, _summary(findings, report)])) + "\n"


def _lines(finding: Finding, *, trace: bool) -> list[str]:
    verdict = click.style(finding.verdict.value, fg=_COLOURS[finding.verdict.value])
    place = f"{finding.path}:{finding.line}:{finding.column}"
    lines = [f"{place}: {verdict} {finding.id}: {finding.subject}", f"    {finding.reason}"]
    if trace and finding.trace:
        for step in finding.trace:
            where = f"{step.line}" if step.path == finding.path else f"{step.path}:{step.line}"
            lines.append(click.style(f"      {where}: {step.text}", dim=True))
    if finding.fix:
        lines.append(f"    fix: {finding.fix}")
    return lines


def _summary(findings: Sequence[Finding], report: Report) -> str:
    counts = ", ".join(f"{n} {verdict}" for verdict, n in _counts(findings).items() if n) or "nothing found"
    silenced = f", {report.n_suppressed} suppressed" if report.n_suppressed else ""
    return f"{plural(report.n_files, 'file')}: {counts}{silenced}"


def _print(findings: Sequence[Finding], report: Report, lowest: int, quiet: bool) -> None:
    """Findings in groups, one per file."""
    last = ""
    for finding in findings:
        if finding.verdict.rank < lowest:
            continue
        if last and finding.path != last:
            click.echo()
        last = finding.path
        for line in _lines(finding, trace=not quiet):
            click.echo(line)
    if not quiet:
        click.echo(_summary(findings, report), err=True)


def _sarif(findings: Sequence[Finding], book: Rulebook) -> str:
    from hipport import __version__
    from hipport.report.sarif import SarifPlace, SarifResult, render_sarif, rules_of

    results = [
        SarifResult(
            f.id,
            _LEVELS[f.verdict.value],
            f"{f.verdict.value}: {f.reason}{f'. Fix: {f.fix}' if f.fix else ''}",
            SarifPlace(f.path, f.line, f.column, f.subject),
            tuple(SarifPlace(s.path, s.line, s.column, s.text) for s in f.trace),
            f.fingerprint,
            (("verdict", f.verdict.value),),
        )
        for f in findings
    ]
    return render_sarif(results, rules_of({r.rule for r in results}, book), __version__)
