"""``hipport explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hipport.cli.output import print_json
from hipport.core import HipportError

if TYPE_CHECKING:
    from hipport.rulebook import Rule, Rulebook

_SECTIONS = {
    "1": "API",
    "2": "warps",
    "3": "memory",
    "4": "launches",
    "5": "PTX",
    "6": "tensor cores",
    "7": "libraries",
    "8": "build and numerics",
    "9": "hipport itself",
}


@click.command("explain")
@click.argument("id", required=False)
@click.option("--rules", multiple=True, type=click.Path(path_type=Path), help="Folder of further rules, repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(id: str | None, rules: tuple[Path, ...], as_json: bool) -> int:  # noqa: A002 - the argument's name
    """Explain a diagnostic or rule: what it means, what the output means, what to do. Without ID: list all.

    \b
    Examples:
      hipport explain HP910
      hipport explain | grep -i warp
    """
    from hipport.core.files import rules_root
    from hipport.pipeline.settings import load_settings
    from hipport.rulebook import load_rulebook

    settings = load_settings()
    folders = (*settings.rule_folders(), *rules)
    book = load_rulebook((rules_root(), *folders))
    if id is None:
        _list(book, as_json)
        return 0
    number = id.upper()
    found = _explanation(book, number)
    if found is None:
        known = sorted({*(r.id for r in book.rules), *book.explanations})
        near = [i for i in known if i[:3] == number[:3]]
        raise HipportError(
            f"no diagnostic or rule {id!r}",
            f"known in this block: {', '.join(near)}"
            if near
            else "hipport explain lists all ids; hipport query shows a CUDA name",
        )
    if as_json:
        print_json(found)
    else:
        _print(found)
    return 0


def _explanation(book: Rulebook, number: str) -> dict[str, Any] | None:
    entry = book.explain(number)
    if entry is None:
        return None
    rules = [r for r in book.rules if r.id == number]
    return {
        "id": number,
        "title": entry.title,
        "docs": entry.docs.strip(),
        "next_step": entry.next_step,
        "sources": list(entry.sources),
        "file": entry.file,
        "safety": rules[0].safety if rules else "",
        "examples": [_example(e) for r in rules for e in r.examples],
    }


def _example(example: Any) -> dict[str, Any]:
    return {"name": example.name, "before": example.before, "after": example.after, "keep": example.keep}


def _print(found: dict[str, Any]) -> None:
    click.echo(f"{click.style(found['id'], bold=True)}: {found['title']}")
    if found["safety"]:
        click.echo(f"safety: {found['safety']}")
    if found["docs"]:
        click.echo(f"\n{found['docs']}")
    if found["next_step"]:
        click.echo(f"\nnext step: {found['next_step']}")
    for example in found["examples"]:
        click.echo(f"\nexample: {example['name']}{' (left as it is)' if example['keep'] else ''}")
        if example["keep"]:
            _block(" ", example["before"])
        else:
            _block("-", example["before"])
            _block("+", example["after"])
    if found["sources"]:
        click.echo(f"\nsources: {'; '.join(found['sources'])}")
    click.echo(f"\ndefined in rules/{found['file']}")


def _block(mark: str, text: str) -> None:
    for line in text.strip("\n").split("\n"):
        click.echo(f"  {mark} {line}")


def _list(book: Rulebook, as_json: bool) -> None:
    titles: dict[str, str] = {r.id: _rule_title(r) for r in book.rules}
    titles.update({i: e.title for i, e in book.explanations.items()})
    if as_json:
        print_json([{"id": i, "title": titles[i]} for i in sorted(titles)])
        return
    section = ""
    for number in sorted(titles):
        if number[2] != section:
            section = number[2]
            click.echo(f"{_SECTIONS.get(section, '')}:")
        click.echo(f"  {number}  {titles[number]}")


def _rule_title(rule: Rule) -> str:
    return rule.title
