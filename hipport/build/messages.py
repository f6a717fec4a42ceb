"""What the compiler says, as diagnostics at CUDA source lines.

Clang's text format (``-fno-caret-diagnostics``): ``path:line:col: severity: text [-Wflag]``, notes after the message
they belong to. The linker's ``lld: error: ...`` has no place.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hipport.build.sourcemap import SourceMap
from hipport.core import Diagnostic, Severity

UNKNOWN = "HP800"
KILLED = "HP810"
REGISTRATION = "HP811"
TRUNCATED_MASK = "HP812"


@dataclass(frozen=True, slots=True)
class Category:
    """A kind of compiler error.

    Attributes:
        id: diagnostic id.
        name: what people and scripts group by.
        pattern: what its messages look like; group 1, if there is one, is the construct.
        next_step: what to do.
    """

    id: str
    name: str
    pattern: re.Pattern[str]
    next_step: str


def _category(id_: str, name: str, pattern: str, next_step: str) -> Category:
    return Category(id_, name, re.compile(pattern), next_step)


# First match wins.
CATEGORIES = (
    _category(
        "HP801",
        "header of CUDA",
        r"'((?:cuda(?:_\w+)?|cu(?:blas|fft|rand|solver|sparse|dnn)\w*|device_launch_parameters|mma|nvrtc|nccl)\.h"
        r"|(?:cub|cooperative_groups|cuda|nv)/[^']+)' file not found",
        "the file is still CUDA: translate it first, with hipport translate, and build the output",
    ),
    _category("HP801", "missing header", r"'([^']+)' file not found", "add its folder to [build] include_dirs"),
    _category(
        "HP805",
        "inline assembly",
        r"(?:constraint '([^']+)' in asm|invalid instruction|asm|couldn't allocate .* constraint|not a valid operand)",
        "a PTX statement was left: see the translator's HP5xx diagnostics",
    ),
    _category(
        "HP806",
        "LDS exceeded",
        r"local memory \(\d+\) exceeds limit \(\d+\) in '([^']+)'",
        "the target has less LDS than the kernel asks for: use a smaller tile",
    ),
    _category(
        "HP807",
        "registers or scratch exceeded",
        r"(?:scratch|registers|stack frame size).*exceed|ran out of registers",
        "lower the tile or loosen __launch_bounds__",
    ),
    _category(
        "HP808",
        "not on this target",
        r"needs target feature|is not supported on this target|instruction not supported on this GPU"
        r"|cannot select|unsupported .* for this target",
        "guard the code by target or use another instruction",
    ),
    _category(
        "HP804", "static assertion", r"static assertion failed|static_assert", "the assertion's text says what is wrong"
    ),
    _category(
        "HP802",
        "undeclared name",
        r"(?:use of )?undeclared identifier '([^']+)'|unknown type name '([^']+)'"
        r"|no (?:member|type|template|variable)[^']*'([^']+)'|use of undeclared|has not been declared"
        r"|no template named '([^']+)'|expected namespace name",
        "a name HIP does not have: hipport query NAME",
    ),
    _category(
        "HP803",
        "call or type mismatch",
        r"no matching (?:function|constructor|member function)[^']*'([^']+)'|no viable|cannot initialize"
        r"|incompatible|invalid operands|too (?:few|many) arguments|ambiguous|cannot convert|no known conversion"
        r"|call to deleted",
        "HIP's signature is stricter or different: hipport query NAME",
    ),
    _category(
        "HP809",
        "undefined symbol",
        r"undefined (?:\w+ )?symbol: (.+)|undefined reference to `?(.+?)'?$",
        "code objects are linked one by one: define the device function in the unit",
    ),
)
_UNKNOWN_CATEGORY = Category(
    UNKNOWN, "compiler error", re.compile(""), "read the message; then report it if it is ours"
)

_LINE = re.compile(
    r"^(?:(?P<path>(?:[^:\n<]|:(?!\d))+|<[^>]+>):(?P<line>\d+):(?P<col>\d+): )?"
    r"(?:[\w./+-]+: )??(?P<severity>fatal error|error|warning|note|remark): (?P<text>.*)$"
)
_FLAG = re.compile(r" \[(-W[^\]]+)\]$")
_INCLUDED_FROM = re.compile(r"^(?:In file included|\s+) from (?P<path>.+?):(?P<line>\d+)[:,]$")
_TRUNCATION = re.compile(r"implicit conversion loses integer precision: (.+) to '")
_SUMMARY = re.compile(r"^\d+ (?:error|warning)s? |command failed with exit code|linker command failed")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the compiler with the places that explain it.

    Attributes:
        severity: ``error`` or ``warning``.
        text: without place and flag.
        path: as the compiler prints it, relative to the tree root inside the tree; empty when unknown.
        line: 1-based, 0 unknown.
        column: 1-based, 0 unknown.
        flag: the ``-W`` option that controls it.
        notes: (path, line, text) of the notes and of the include chain, nearest first.
    """

    severity: str
    text: str
    path: str = ""
    line: int = 0
    column: int = 0
    flag: str = ""
    notes: tuple[tuple[str, int, str], ...] = ()


def parse_messages(text: str) -> Iterator[Message]:
    """Errors and warnings of a compiler's standard error, in order."""
    current: Message | None = None
    chain: list[tuple[str, int, str]] = []
    for line in text.splitlines():
        included = _INCLUDED_FROM.match(line)
        if included:
            chain.insert(0, (_normal(included["path"]), int(included["line"]), "included from"))
            continue
        found = _LINE.match(line)
        if not found or _SUMMARY.search(found["text"]):
            continue
        path, at = _normal(found["path"] or ""), int(found["line"] or 0)
        if found["severity"] in ("note", "remark"):
            if current is not None:
                current = replace(current, notes=(*current.notes, (path, at, found["text"])))
            chain = []
            continue
        if current is not None:
            yield current
        flag = _FLAG.search(found["text"])
        severity = "warning" if found["severity"] == "warning" else "error"
        body = found["text"][: flag.start()] if flag else found["text"]
        current = Message(severity, body, path, at, int(found["col"] or 0), flag[1] if flag else "", tuple(chain))
        chain = []
    if current is not None:
        yield current


def categorise(text: str) -> tuple[Category, str]:
    """Category of an error text, and the construct it names (may be empty)."""
    for category in CATEGORIES:
        found = category.pattern.search(text)
        if found:
            return category, next((group for group in found.groups() if group), "")
    return _UNKNOWN_CATEGORY, ""


def to_diagnostics(text: str, unit: str, sources: SourceMap) -> tuple[Diagnostic, ...]:
    """Diagnostics of one compilation, one per distinct message and place.

    An error inside a system header is reported at the nearest line of the tree that led to it. Of the warnings only
    a 64-bit lane mask cut to 32 bits is reported: on wave64 it loses half of the lanes.

    Args:
        text: standard error of the compiler, run in the tree root.
        unit: the unit's path, for messages without a place.
        sources: maps places of the tree to CUDA lines.
    """
    counts: dict[Diagnostic, int] = {}
    for message in parse_messages(text):
        diagnostic = _diagnostic(message, unit, sources)
        if diagnostic is not None:
            counts[diagnostic] = counts.get(diagnostic, 0) + 1
    return tuple(
        sorted(counts, key=lambda d: (d.severity is not Severity.ERROR, d.path, d.line, d.column, d.id, d.message))
    )


def _diagnostic(message: Message, unit: str, sources: SourceMap) -> Diagnostic | None:
    path, line, column, via = _project_place(message)
    if message.severity == "warning":
        source_type = _TRUNCATION.search(message.text)
        if message.flag != "-Wshorten-64-to-32" or via or not source_type or "unsigned long long" not in source_type[1]:
            return None
        source, at = sources.source(path, line)
        return Diagnostic(
            TRUNCATED_MASK,
            Severity.WARNING,
            "a 64-bit value is cut to 32 bits: a lane mask loses the upper half of a wave64",
            source,
            at,
            column,
            "keep lane masks in 64 bits, or take the 32 lanes of this logical warp",
            "-Wshorten-64-to-32",
        )
    category, subject = categorise(message.text)
    source, at = sources.source(path or unit, line)
    text = f"{category.name}: {message.text}"
    if via:
        text += f" (in {via})"
    return Diagnostic(category.id, Severity.ERROR, text, source, at, column, category.next_step, subject)


def _project_place(message: Message) -> tuple[str, int, int, str]:
    """Path, line and column inside the tree, and the system header that the message came from, if it did."""
    if message.path and not _outside(message.path):
        return message.path, message.line, message.column, ""
    for path, line, _ in message.notes:
        if path and not _outside(path):
            return path, line, 0, f"{_short(message.path)}:{message.line}" if message.path else ""
    return "", 0, 0, f"{_short(message.path)}:{message.line}" if message.path else ""


def _normal(path: str) -> str:
    """A header beside a unit at the root is ``./name.h`` to clang, one in a sibling folder ``a/../b/name.h``."""
    return posixpath.normpath(path) if path else ""


def _outside(path: str) -> bool:
    return path.startswith(("/", "<", "../"))


def _short(path: str) -> str:
    """The end of a system path, without the machine's folders."""
    for mark in ("/include/", "/view/"):
        if mark in path:
            return path.rpartition(mark)[2]
    return path.rpartition("/")[2]
