"""Check the LDS of tiles, stated as data, against the targets that the output is meant for.

Each ``[[variant]]`` of a rule has

- ``kernel``: what the tiles are for, for the message;
- ``table``: one of hipport's headers that lists them, or nothing when the translated file does;
- ``row``: a regular expression for one of them. Named groups are its numbers; a group ``target`` names the only target
  that the tile is compiled for, any other word there means all;
- ``lds``: its bytes of LDS: expressions in those numbers, separated by commas, where the largest counts.

A tile over the LDS of a target is an error; so is a table without a row (HP904).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core import TARGETS, Severity, Target, target_named
from hipport.core.files import include_root
from hipport.rewrite.change import Change, Context, Finding
from hipport.syntax import ParsedFile
from hipport.syntax.constants import fold


def fit_lds(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """One finding per tile that does not fit."""
    if context.pass_number != 1:
        return
    place = min(parsed.data.find(word.encode()) for word in context.rule.anchors if word.encode() in parsed.data)
    for variant in context.rule.variants:
        table = variant["table"]
        text = (include_root() / table).read_text(encoding="utf-8") if table else parsed.data.decode("utf-8", "replace")
        rows = list(re.finditer(variant["row"], text, re.MULTILINE))
        if not rows:
            yield context.report(
                place,
                f"{table or parsed.source.path} lists no tile of {variant['kernel']} as the rule expects them",
                id="HP904",
                severity=Severity.ERROR,
                next_step=f"correct 'row' in {context.rule.file}",
                subject=context.rule.id,
            )
        for row in rows:
            n_bytes = _lds_bytes(parsed, variant["lds"], row)
            over = [target for target in _targets(context, row) if n_bytes is None or n_bytes > target.lds_bytes]
            if over:
                names = ", ".join(f"{target.name} ({target.lds_bytes})" for target in over)
                needs = f"{n_bytes} bytes" if n_bytes is not None else "an unknown number of bytes"
                yield context.report(
                    place,
                    f"{variant['kernel']}: {row[0].strip()} takes {needs} of LDS, more than a workgroup has on {names}",
                    severity=Severity.ERROR,
                    subject=variant["kernel"],
                )


def _targets(context: Context, row: re.Match[str]) -> list[Target]:
    """Targets of the translation that the tile is compiled for."""
    only = row.groupdict().get("target")
    chosen = [target_named(name) for name in context.options.targets]
    return [target for target in chosen if only not in TARGETS or target.name == only]


def _lds_bytes(parsed: ParsedFile, formula: str, row: re.Match[str]) -> int | None:
    """The largest of the formula's expressions; None when one has no value."""
    numbers = {name: value for name, value in row.groupdict().items() if value is not None}
    values = []
    for expression in formula.split(","):
        text = re.sub(r"[A-Za-z_]\w*", lambda word: numbers.get(word[0], word[0]), expression)
        values.append(fold(parsed, text.encode()))
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None
