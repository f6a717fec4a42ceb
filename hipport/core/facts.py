"""What a compiler front end knows about one file, and that knowledge carried through the edits of a translation."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from hipport.core.source import Span

_Fact = TypeVar("_Fact")


class Side(StrEnum):
    """Where a function runs."""

    HOST = "host"
    DEVICE = "device"
    BOTH = "both"
    KERNEL = "kernel"


@dataclass(frozen=True, slots=True)
class Reference:
    """What an identifier refers to.

    Attributes:
        name: qualified name of the declaration (``std::max``, ``at::cuda::CUDAGuard``).
        kind: ``function``, ``variable``, ``type``, ``field`` or ``enumerator``.
        file: file that declares it: relative to the tree, or as the compiler names it; empty for the file itself.
        builtin: the declaration comes from a system header or the compiler.
        own: the tree declares it, and no vendor does: it is a member, in a namespace or local, or the tree defines it.
            A mere declaration at file scope (``extern "C" cudaError_t cudaFree(void*);``) may be a vendor's.
    """

    name: str
    kind: str
    file: str
    builtin: bool
    own: bool = False


@dataclass(frozen=True, slots=True)
class Expansion:
    """A macro use: its name and the file that defines it (empty for the main file or the command line)."""

    name: str
    file: str


@dataclass(frozen=True)
class UnitFacts:
    """Facts about one file of a translation unit. Offsets are bytes of that file.

    Attributes:
        types: type of each expression, by span, as the compiler spells it; dependent expressions are left out.
        references: what the identifier at a span refers to.
        functions: side of each function definition, by the span of the whole definition.
        expansions: macro uses by span.
        dependencies: files that were read, main file first; only of a unit's main file.
        errors: what the front end complained about; facts near an error may be missing. Only of a unit's main file.
    """

    types: Mapping[tuple[int, int], str] = field(default_factory=dict)
    references: Mapping[tuple[int, int], Reference] = field(default_factory=dict)
    functions: Mapping[tuple[int, int], Side] = field(default_factory=dict)
    expansions: Mapping[tuple[int, int], Expansion] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def type_at(self, span: Span) -> str | None:
        """Type of the expression that covers exactly ``span``; None when unknown."""
        return self.types.get((span.start, span.end))

    def reference_at(self, offset: int) -> Reference | None:
        """What the identifier that starts at ``offset`` refers to; None when unknown."""
        return self.named_at(offset)[1]

    def named_at(self, offset: int) -> tuple[int, Reference | None]:
        """End of the identifier that starts at ``offset``, and what it refers to; ``offset`` and None when unknown."""
        return self._by_start.get(offset, (offset, None))

    def is_users(self, offset: int) -> bool | None:
        """Whether the identifier at ``offset`` is the program's own and no vendor's or standard name; None: unknown."""
        found = self.reference_at(offset)
        return None if found is None else not found.builtin

    def side_at(self, offset: int) -> Side | None:
        """Side of the innermost function definition around ``offset``; None outside of functions."""
        around = [(end - start, side) for (start, end), side in self.functions.items() if start <= offset < end]
        return min(around)[1] if around else None

    def expansion_at(self, offset: int) -> Expansion | None:
        """The macro use that covers ``offset``; None when the text is no macro use."""
        covering = [(end - start, found) for (start, end), found in self.expansions.items() if start <= offset < end]
        return min(covering, key=lambda item: item[0])[1] if covering else None

    @cached_property
    def _by_start(self) -> dict[int, tuple[int, Reference | None]]:
        spans = sorted(self.references, reverse=True)
        return {start: (end, self.references[start, end]) for start, end in spans}

    @cached_property
    def identity(self) -> str:
        """Hash of everything that can decide a translation; the same wherever the tree and the headers lie."""
        plain = [
            sorted(self.types.items()),
            sorted((span, r.name, r.kind, r.builtin, r.own) for span, r in self.references.items()),
            sorted((span, str(side)) for span, side in self.functions.items()),
        ]
        return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]

    def to_plain(self) -> dict[str, Any]:
        """JSON-able form for the cache and the worker process."""
        return {
            "types": [[*span, text] for span, text in self.types.items()],
            "references": [[*span, asdict(found)] for span, found in self.references.items()],
            "functions": [[*span, str(side)] for span, side in self.functions.items()],
            "expansions": [[*span, asdict(found)] for span, found in self.expansions.items()],
            "dependencies": list(self.dependencies),
            "errors": list(self.errors),
        }

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> UnitFacts:
        """Inverse of `to_plain`.

        Raises:
            KeyError, TypeError, ValueError: the data has another form.
        """
        return cls(
            {(start, end): text for start, end, text in plain["types"]},
            {(start, end): Reference(**found) for start, end, found in plain["references"]},
            {(start, end): Side(side) for start, end, side in plain["functions"]},
            {(start, end): Expansion(**found) for start, end, found in plain["expansions"]},
            tuple(plain["dependencies"]),
            tuple(plain["errors"]),
        )


def merged(parts: Sequence[UnitFacts]) -> UnitFacts:
    """Facts about a file that several units include: what they agree on."""
    if len(parts) == 1:
        return parts[0]
    return UnitFacts(
        _agreed([part.types for part in parts]),
        _agreed([part.references for part in parts]),
        _agreed([part.functions for part in parts]),
        _agreed([part.expansions for part in parts]),
    )


def _agreed(parts: Sequence[Mapping[tuple[int, int], _Fact]]) -> dict[tuple[int, int], _Fact]:
    found: dict[tuple[int, int], _Fact] = {}
    doubtful = set()
    for part in parts:
        for span, fact in part.items():
            if found.setdefault(span, fact) != fact:
                doubtful.add(span)
    return {span: fact for span, fact in found.items() if span not in doubtful}


@dataclass(frozen=True, slots=True)
class TextFacts:
    """Facts about the text of one pass, known of the input. Any answer may be None: text that an edit made is unknown.

    Attributes:
        unit: facts about the input.
        input: its bytes.
        text: bytes of this pass.
        back: offset in the input of an offset in ``text``.
    """

    unit: UnitFacts
    input: bytes = b""
    text: bytes = b""
    back: Callable[[int], int] = int

    def reference_at(self, offset: int) -> Reference | None:
        """What the identifier that starts at ``offset`` refers to."""
        start = self.back(offset)
        end, found = self.unit.named_at(start)
        return found if self.text[offset : offset + end - start] == self.input[start:end] else None

    def is_own(self, offset: int) -> bool | None:
        """Whether the identifier at ``offset`` is the tree's own and no vendor's."""
        found = self.reference_at(offset)
        return None if found is None else found.own

    def field_owner(self, offset: int) -> str | None:
        """Class of the data member whose name starts at ``offset``; empty when the name is no data member."""
        found = self.reference_at(offset)
        return None if found is None else found.name.rpartition("::")[0] if found.kind == "field" else ""

    def type_at(self, span: Span) -> str | None:
        """Type of the expression that covers exactly ``span``, where no edit touched it."""
        start = self.back(span.start)
        end = start + span.end - span.start
        return self.unit.types.get((start, end)) if self.text[span.start : span.end] == self.input[start:end] else None

    def side_at(self, offset: int) -> Side | None:
        """Side of the innermost function definition around ``offset``."""
        return self.unit.side_at(self.back(offset))


NO_FACTS = TextFacts(UnitFacts())
