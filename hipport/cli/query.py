"""``hipport query``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.output import print_json
from hipport.core import HipportError

if TYPE_CHECKING:
    from hipport.rulebook import Row, Rule, Rulebook
    from hipport.semantics.declared import Declared

_STATES = ("ok", "same", "review", "none")
_MEANING = {
    "ok": "renamed",
    "same": "HIP has the same name",
    "review": "renamed, and reported: a person must look",
    "none": "no counterpart: left and reported",
}
_COLOURS = {"ok": "green", "same": "green", "review": "yellow", "none": "red"}


@click.command("query")
@click.argument("name", required=False)
@click.option("--prefix", is_flag=True, help="NAME is the beginning of names: list them.")
@click.option("--state", type=click.Choice(_STATES), help="Only rows of this state: list them.")
@click.option("--table", help="Only rows of this table, for example api/runtime.tsv: list them.")
@click.option(
    "--at",
    metavar="FILE:LINE:COLUMN",
    help="What the compiler knows about a place of a translated file: type, declaration, macro, host or device.",
)
@click.option(
    "--database",
    type=click.Path(path_type=Path, dir_okay=False),
    help="compile_commands.json with the flags of FILE [default: beside FILE or above it].",
)
@click.option("--rules", multiple=True, type=click.Path(path_type=Path), help="Folder of further rules, repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(
    name: str | None,
    prefix: bool,
    state: str | None,
    table: str | None,
    at: str | None,
    database: Path | None,
    rules: tuple[Path, ...],
    as_json: bool,
) -> int:
    """Show how a CUDA name or header maps to HIP, or where a HIP name comes from.

    \b
    Examples:
      hipport query cudaMallocAsync
      hipport query hipHostMalloc            which CUDA names become this one
      hipport query cublasLt --prefix
      hipport query --state none --table libraries/cufft.tsv
      hipport query --at generated_hip/a.cu:12:7     is this max mine or HIP's?
    """
    from hipport.core.files import rules_root
    from hipport.pipeline.settings import load_settings
    from hipport.rulebook import load_rulebook

    if at is not None:
        from hipport.cli.place import show_place

        show_place(at, database, as_json)
        return 0
    wanted = (name or "").strip("<>\"'")
    if not wanted and not (state or table):
        raise HipportError("nothing to look for", "give a NAME, --state, --table or --at")
    book = load_rulebook((rules_root(), *load_settings().rule_folders(), *rules))
    rows = sorted(book.all_rows(), key=lambda row: (row.cuda, row.kind))
    listing = prefix or not wanted
    if listing:
        found = [row for row in rows if row.cuda.startswith(wanted) or _last(row.cuda).startswith(wanted)]
    else:
        found = [row for row in rows if wanted in (row.cuda, _last(row.cuda))]
        found = [row for row in found if row.cuda == wanted] or found or _owner(rows, wanted)
    reverse = [] if listing else [row for row in rows if wanted in (row.hip, _last(row.hip)) and row not in found]
    found = [row for row in found if _fits(row, state, table)]
    reverse = [row for row in reverse if _fits(row, state, table)]
    handled = [] if listing or state or table else _rules_of(book, wanted)
    if not found and not reverse and not handled:
        raise HipportError(f"no table has {wanted or 'such rows'}", _suggestion(wanted, rows))
    facts = _facts([*found, *reverse])
    if as_json:
        records = {"rows": [_as_record(r, facts) for r in found], "from": [_as_record(r, facts) for r in reverse]}
        print_json({**records, "rules": [rule.id for rule in handled]})
    elif listing:
        _print_list(found)
    else:
        for row in found:
            _print(row, facts.get(row.cuda), _title(book, row))
        if handled and not found:
            click.echo(click.style(wanted, bold=True))
        for rule in handled:
            does = "looks at it" if rule.safety == "advise" else "goes first"
            click.echo(f"  rule     {rule.id} {does}: {rule.title}; hipport explain {rule.id}")
        _print_reverse(wanted, reverse)
    return 0


def _owner(rows: list[Row], wanted: str) -> list[Row]:
    """The row of the namespace that ``wanted`` is in: it decides where the name has no row of its own."""
    owners = [row for row in rows if row.kind == "namespace" and wanted.startswith(f"{row.cuda}::")]
    return sorted(owners, key=lambda row: -len(row.cuda))[:1]


def _rules_of(book: Rulebook, wanted: str) -> list[Rule]:
    """Rules that look at a name: by anchor or variant. A rule's edit stands over a row's."""
    last = _last(wanted)
    return [r for r in book.rules if last in r.anchors or any(last in variant.values() for variant in r.variants)]


def _fits(row: Row, state: str | None, table: str | None) -> bool:
    return (state is None or row.state == state) and (table is None or row.table == table)


def _last(name: str) -> str:
    return name.rsplit("::", 1)[-1]


def _title(book: Any, row: Row) -> str:
    entry = book.explain(row.diag) if row.diag else None
    return str(entry.title) if entry else ""


def _facts(rows: list[Row]) -> dict[str, Declared]:
    from hipport.semantics.declared import declared

    return declared({row.cuda for row in rows})


def _suggestion(wanted: str, rows: list[Row]) -> str:
    import difflib

    if not wanted:
        return "remove --state or --table"
    names = {row.cuda for row in rows} | {row.hip for row in rows if row.hip}
    lower = {name.lower(): name for name in sorted(names)}
    close = difflib.get_close_matches(wanted.lower(), lower, n=4, cutoff=0.75)
    if close:
        return f"did you mean {', '.join(lower[c] for c in close)}?"
    return f"hipport query {wanted[:6]} --prefix lists what begins like it"


def _as_record(row: Row, facts: dict[str, Declared]) -> dict[str, Any]:
    record: dict[str, Any] = {
        key: getattr(row, key)
        for key in ("cuda", "hip", "kind", "state", "diag", "rocm_min", "rocm_max", "source", "note", "table", "line")
    }
    fact = facts.get(row.cuda)
    record["declared"] = (
        {
            "cuda_header": fact.cuda_header,
            "cuda_versions": list(fact.cuda_versions),
            "cuda_parameters": list(fact.cuda_parameters),
            "hip_header": fact.hip_header,
            "hip_versions": list(fact.hip_versions),
            "hip_parameters": list(fact.hip_parameters),
        }
        if fact
        else None
    )
    return record


def _print(row: Row, fact: Declared | None, title: str) -> None:
    target = row.hip if row.hip and row.hip != row.cuda else ""
    head = click.style(row.cuda, bold=True) + (f" -> {click.style(target, bold=True)}" if target else "")
    click.echo(f"{head}  ({row.kind.replace('_', ' ')})")
    click.echo(f"  state    {click.style(row.state, fg=_COLOURS[row.state])}: {_MEANING[row.state]}")
    if row.rocm_min or row.rocm_max:
        since = f"from {row.rocm_min}" if row.rocm_min else ""
        click.echo(f"  HIP      {' '.join(filter(None, (since, f'up to {row.rocm_max}' if row.rocm_max else '')))}")
    if fact:
        _print_side("CUDA", fact.cuda_header, fact.cuda_versions, fact.cuda_parameters)
        if fact.hip_header:
            _print_side("HIP", fact.hip_header, fact.hip_versions, fact.hip_parameters)
    if row.include:
        click.echo(f"  header   {row.include}, which the output includes then")
    if row.note:
        click.echo(f"  note     {row.note}")
    if row.diag:
        click.echo(f"  reports  {row.diag}{f' ({title})' if title else ''}; hipport explain {row.diag}")
    click.echo(f"  source   {_source(row)}, rules/{row.table}:{row.line}")


def _source(row: Row) -> str:
    return "derived from both vendors' headers" if row.source == "derived" else row.source


def _print_side(vendor: str, header: str, versions: tuple[str, ...], parameters: tuple[int, ...]) -> None:
    counts = f", {' or '.join(map(str, parameters))} parameters" if parameters else ""
    click.echo(f"  {vendor:<8} {header} of {', '.join(versions)}{counts}")


def _print_list(rows: list[Row]) -> None:
    width = min(48, max(len(row.cuda) for row in rows))
    for row in rows:
        state = click.style(f"{row.state:<6}", fg=_COLOURS[row.state])
        text = row.note if row.state == "none" else row.hip
        click.echo(f"{row.cuda:<{width}}  {state}  {text}")
    click.echo(f"{len(rows)} rows", err=True)


def _print_reverse(wanted: str, rows: list[Row]) -> None:
    if not rows:
        return
    click.echo(f"{click.style(wanted, bold=True)} is what these become:")
    for row in rows:
        note = f"  {row.note}" if row.note else ""
        click.echo(f"  {row.cuda:<32} {click.style(f'{row.state:<6}', fg=_COLOURS[row.state])}{note}")
