"""Records of one parsed translation unit. Offsets are bytes of the main file; facts about other files are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from hipport.core import Span


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
        file: file that declares it, as the compiler names it; empty for the main file.
        builtin: the declaration comes from a system header or the compiler.
    """

    name: str
    kind: str
    file: str
    builtin: bool


@dataclass(frozen=True, slots=True)
class Expansion:
    """A macro use: its name and the file that defines it (empty for the main file or the command line)."""

    name: str
    file: str


@dataclass(frozen=True)
class UnitFacts:
    """Facts of one unit.

    Attributes:
        types: type of each expression, by span, as the compiler spells it; dependent expressions are left out.
        references: what the identifier at a span refers to.
        functions: side of each function definition, by the span of the whole definition.
        expansions: macro uses by span.
        dependencies: files that were read, main file first.
        errors: what the front end complained about; facts near an error may be missing.
    """

    types: Mapping[tuple[int, int], str]
    references: Mapping[tuple[int, int], Reference]
    functions: Mapping[tuple[int, int], Side]
    expansions: Mapping[tuple[int, int], Expansion]
    dependencies: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    def type_at(self, span: Span) -> str | None:
        """Type of the expression that covers exactly ``span``; None when unknown."""
        return self.types.get((span.start, span.end))

    def reference_at(self, offset: int) -> Reference | None:
        """What the identifier that starts at ``offset`` refers to; None when unknown."""
        return self._by_start.get(offset)

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
    def _by_start(self) -> dict[int, Reference]:
        return {start: found for (start, _), found in sorted(self.references.items(), reverse=True)}

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
