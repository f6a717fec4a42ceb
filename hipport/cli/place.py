"""``hipport query --at``: what a compiler front end knows about one place of a translated file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from hipport.cli.output import print_json
from hipport.core import HipportError, SourceFile, Span

_PLACE = re.compile(r"(.+):([1-9]\d*):([1-9]\d*)\Z", re.DOTALL)
_WORD = re.compile(rb"[A-Za-z_]\w*")


def show_place(place: str, database: Path | None, as_json: bool) -> None:
    """Parse the file as HIP for gfx942 and print what is known about the place.

    Raises:
        HipportError: the place is malformed or outside the file, or there is no toolchain.
    """
    match = _PLACE.match(place)
    if match is None:
        raise HipportError(f"{place!r} is no place", "write FILE:LINE:COLUMN")
    path, line, column = Path(match[1]), int(match[2]), int(match[3])
    try:
        data = path.read_bytes()
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}") from error
    found = _look(path, data, _offset(data, line, column, place), database)
    if as_json:
        print_json(found)
        return
    for label, text in found.items():
        if text:
            click.echo(f"{label:<9} {text if isinstance(text, str) else '; '.join(text)}")


def _offset(data: bytes, line: int, column: int, place: str) -> int:
    lines = data.split(b"\n")
    if line > len(lines) or column > len(lines[line - 1]) + 1:
        raise HipportError(f"{place} is outside the file", f"the file has {len(lines)} lines")
    return sum(len(text) + 1 for text in lines[: line - 1]) + column - 1


def _look(path: Path, data: bytes, offset: int, database: Path | None) -> dict[str, Any]:
    from hipport.core.files import include_root
    from hipport.sdk import find_sdk
    from hipport.semantics import compile_flags, unit_facts

    sdk = find_sdk()
    database = database or next((p / n for p in path.resolve().parents for n in [_DATABASE] if (p / n).is_file()), None)
    own = compile_flags(database, path) if database else None
    flags = [f for f in sdk.device_flags("gfx942") if f != "--no-gpu-bundle-output"]
    facts = unit_facts(path, [*flags, f"-I{include_root()}", *(own or [])], clang=str(sdk.clang))
    word = _WORD.match(data, offset)
    end = word.end() if word else offset + 1
    reference, expansion = facts.reference_at(offset), facts.expansion_at(offset)
    where = SourceFile(path.name, data).place(offset)
    return {
        "place": f"{path}:{where.line}:{where.column}",
        "text": data[offset:end].decode("utf-8", "replace"),
        "refers to": f"{reference.kind} {reference.name}" if reference else "",
        "declared": (reference.file or "in this file") if reference else "",
        "whose": ("the vendor's" if reference.builtin else "the program's") if reference else "",
        "type": facts.type_at(Span(offset, end)) or "",
        "macro": f"{expansion.name}, defined {expansion.file or 'in this file'}" if expansion else "",
        "side": str(facts.side_at(offset) or ""),
        "errors": list(facts.errors),
    }


_DATABASE = "compile_commands.json"
