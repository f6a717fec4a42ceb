"""The table of every symbol that AMD's libamdhip64 exports, and what the drop-in library does with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hipport.core import HipportError

TABLE = Path(__file__).with_name("symbols.tsv")

RETURNS = {
    "error": ("int", "return hiprt_refuse({name}, {reason});"),
    "rtc": ("int", "hiprt_refuse({name}, {reason}); return 11;"),  # HIPRTC_ERROR_INTERNAL_ERROR
    "text": ("const char*", 'hiprt_refuse({name}, {reason}); return "";'),
    "size": ("unsigned long", "hiprt_refuse({name}, {reason}); return 0;"),
    "void": ("void", "hiprt_refuse({name}, {reason});"),
    "value": ("", ""),  # only implemented symbols: a struct, a float
    "node": ("", ""),  # a version node, which the linker defines
}
STATES = ("implemented", "refused")


@dataclass(frozen=True, slots=True)
class Symbol:
    """One exported symbol.

    Attributes:
        name: as the dynamic symbol table has it (mangled for the two C++ ones).
        node: version node, ``hip_4.2``.
        majors: HIP major versions whose library exports it.
        returns: kind of return value, a key of `RETURNS`.
        state: ``implemented`` or ``refused`` (returns hipErrorNotSupported and says so once).
        evidence: test program that calls it, or why it is refused.
    """

    name: str
    node: str
    majors: tuple[int, ...]
    returns: str
    state: str
    evidence: str


@cache
def load_symbols(path: Path = TABLE) -> tuple[Symbol, ...]:
    """Read the table, in its order.

    Raises:
        HipportError: a row is malformed or a name is there twice.
    """
    rows: list[Symbol] = []
    seen: set[str] = set()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith(("#", "name\t")):
            continue
        cells = line.split("\t")
        if len(cells) != 6 or cells[3] not in RETURNS or cells[4] not in STATES or not cells[5] or cells[0] in seen:
            raise HipportError(f"{path.name}:{number}: malformed or repeated row {cells[0]!r}", "fix the table")
        seen.add(cells[0])
        majors = tuple(int(major) for major in cells[2].split())
        rows.append(Symbol(cells[0], cells[1], majors, *cells[3:]))
    return tuple(rows)


def of_major(major: int) -> tuple[Symbol, ...]:
    """Symbols that the library of one HIP major version exports."""
    return tuple(symbol for symbol in load_symbols() if major in symbol.majors)


def version_script(symbols: Iterable[Symbol]) -> str:
    """Linker version script: each node inherits from the one before it, as in the real library."""
    by_node: dict[str, list[str]] = {}
    for symbol in symbols:
        by_node.setdefault(symbol.node, [])
        if symbol.returns != "node":
            by_node[symbol.node].append(symbol.name)
    text, parent = "", ""
    for node in sorted(by_node, key=_version):
        names = "".join(f"    {name};\n" for name in sorted(by_node[node]))
        rest = "" if parent else "  local:\n    *;\n"
        text += f"{node} {{\n  global:\n{names}{rest}}}{' ' + parent if parent else ''};\n"
        parent = node
    return text


def refused_source(symbols: Iterable[Symbol]) -> str:
    """C++ source that defines every refused symbol by its kind of return value.

    The callers pass arguments that nobody reads: harmless on x86-64, where the caller cleans up.
    """
    text = 'extern "C" {\nint hiprt_refuse(const char* name, const char* reason);\n'
    for symbol in symbols:
        if symbol.state == "refused":
            kind, body = RETURNS[symbol.returns]
            answer = body.format(name=f'"{symbol.name}"', reason=f'"{symbol.evidence}"')
            text += f"{kind} {symbol.name}() {{ {answer} }}\n"
    return text + "}\n"


def _version(node: str) -> tuple[int, ...]:
    return tuple(int(part) for part in node.removeprefix("hip_").split("."))
