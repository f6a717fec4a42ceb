"""What rules and transforms produce: changes (edits that belong together) and findings (diagnostics at an offset)."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from hipport.core import Diagnostic, Edit, Safety, Severity, Span, TranslateOptions
from hipport.rulebook import Rule, Rulebook
from hipport.syntax import ParsedFile, Reach


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic at a byte offset of the current pass's text; the engine finds the line in the original.

    ``refusal``: it says that a table has no counterpart; dropped where a rule edits that name.
    """

    offset: int
    diagnostic: Diagnostic
    refusal: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """Edits that are applied together or not at all.

    Attributes:
        edits: not overlapping each other.
        rule: id of the rule that made them.
        includes: headers that the output then needs (``hipport/warp.h``).
        findings: reported when, and only when, the change is applied.
        rank: which change stands where two replace exactly the same bytes: the higher one.
    """

    edits: tuple[Edit, ...]
    rule: str
    includes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    rank: int = 1

    @property
    def span(self) -> Span:
        """From the first to the last byte that the edits touch."""
        return Span(min(e.span.start for e in self.edits), max(e.span.end for e in self.edits))


@dataclass(frozen=True, slots=True)
class Project:
    """What is known about the tree around a file. Without it, every quoted include may be the project's own.

    Attributes:
        files: paths relative to the tree root, forward slashes.
        macros: names that files of the tree define as macros.
        names: what files of the tree declare at file scope and what looks like a CUDA name.
        above: folders between the package that the tree is a part of and the tree's root (``csrc/flash_attn`` for a
            translation of that folder alone): rules and settings name files as the package does.
        bare: ``.cu`` files that rely on nvcc to include the runtime's header.
    """

    files: frozenset[str] = frozenset()
    macros: frozenset[bytes] = field(default=frozenset(), repr=False)
    names: frozenset[bytes] = field(default=frozenset(), repr=False)
    above: str = ""
    bare: frozenset[str] = field(default=frozenset(), repr=False)

    def matches(self, path: str, patterns: Iterable[str]) -> bool:
        """Whether a glob means ``path``, seen from the tree's root or from a folder above it."""
        folders = self.above.split("/") if self.above else []
        places = [posixpath.join(*folders[at:], path) for at in range(len(folders) + 1)]
        return any(fnmatchcase(place, pattern) for pattern in patterns for place in places)


class Context:
    """What a transform may ask and use. One per rule, file and pass.

    Attributes:
        parsed: the text of this pass with tokens, conditionals and trees.
        rule: the rule that is running.
        options: see `TranslateOptions`.
        rulebook: everything under ``rules/``.
        project: the tree around the file.
        pass_number: 1 for the pass that sees the original text.
    """

    def __init__(
        self,
        parsed: ParsedFile,
        rule: Rule,
        options: TranslateOptions,
        rulebook: Rulebook,
        project: Project,
        pass_number: int = 1,
    ) -> None:
        self.parsed = parsed
        self.rule = rule
        self.options = options
        self.rulebook = rulebook
        self.project = project
        self.pass_number = pass_number

    def edit(self, span: Span, replacement: bytes | str, reason: str = "") -> Edit:
        """An edit in the name of the rule."""
        data = replacement.encode("utf-8") if isinstance(replacement, str) else replacement
        return Edit(span, data, self.rule.id, reason or self.rule.title, Safety(self.rule.safety))

    def change(
        self,
        edits: Iterable[Edit],
        *,
        includes: Iterable[str] | None = None,
        findings: Iterable[Finding] = (),
    ) -> Change:
        """A change in the name of the rule. ``includes`` defaults to the rule's own ``include`` list."""
        needed = self.rule.include if includes is None else tuple(includes)
        return Change(tuple(edits), self.rule.id, needed, tuple(findings))

    def report(
        self,
        offset: int,
        message: str,
        *,
        id: str = "",  # noqa: A002 - the field's name in Diagnostic
        severity: Severity = Severity.WARNING,
        next_step: str = "",
        subject: str = "",
    ) -> Finding:
        """A finding; ``id`` and ``next_step`` default to the rule's."""
        return Finding(
            offset,
            Diagnostic(
                id or self.rule.id, severity, message, next_step=next_step or self.rule.next_step, subject=subject
            ),
        )

    def shared(self, offset: int) -> bool:
        """False in text that only AMD builds or only CUDA builds see; leave that alone."""
        return self.parsed.reach(offset) is Reach.SHARED
