"""Hazards that translation reports for the same reasons: divergence, locks, implicit synchrony, narrow shifts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from hipport.core import TranslateOptions
from hipport.lint.finding import Finding, Verdict
from hipport.rewrite import Project
from hipport.rewrite.engine import translate_cuda
from hipport.rewrite.transforms.warp_divergence import Divergence, Level
from hipport.rewrite.transforms.warp_hazards import functions
from hipport.rulebook import Rulebook
from hipport.syntax import ParsedFile

# Rule -> verdict. Whether lanes of a branch really part, or a compiler moves an access, does not show in the text.
# Rules that look at the branches around a call.
_OF_BRANCHES = frozenset(("HP210", "HP213"))
VERDICTS = {
    "HP210": Verdict.UNKNOWN,
    "HP211": Verdict.UNKNOWN,
    "HP212": Verdict.WRONG,
    "HP213": Verdict.UNKNOWN,
    "HP214": Verdict.WRONG,
    "HP215": Verdict.WRONG,
    "HP216": Verdict.UNKNOWN,
    "HP217": Verdict.WRONG,
    "HP245": Verdict.UNKNOWN,
    "HP246": Verdict.UNKNOWN,
}

# The rule for volatile reductions reads the file once per function; "asm volatile" is no reason to run it.
_VOLATILE_DATA = re.compile(rb"(?<!asm)(?<!asm__)\Wvolatile\b")


def hazard_rules(book: Rulebook) -> Rulebook:
    """The part of a rulebook that reports hazards."""
    rules = tuple(rule for rule in book.rules if rule.id in VERDICTS)
    return replace(book, rules=rules, names={}, headers={})


def hazards(parsed: ParsedFile, book: Rulebook) -> list[Finding]:
    """Findings of the rules for hazards, without their edits.

    Args:
        parsed: the file.
        book: from `hazard_rules`.
    """
    if not any(anchor.encode() in parsed.data for rule in book.rules for anchor in rule.anchors):
        return []
    if not _VOLATILE_DATA.search(parsed.data):
        book = replace(book, rules=tuple(rule for rule in book.rules if rule.id != "HP216"))
    result = translate_cuda(parsed.source, book, TranslateOptions(passthrough=()), Project(), each_place=True)
    uniform = _uniform_lines(parsed) if any(d.id in _OF_BRANCHES for d in result.diagnostics) else frozenset()
    return [
        Finding(
            d.id,
            VERDICTS[d.id],
            d.path,
            d.line,
            d.column,
            " ".join(parsed.source.line_text(d.line).split())[:90],
            d.message,
            d.next_step,
        )
        for d in result.diagnostics
        if d.id in VERDICTS and not (d.id in _OF_BRANCHES and d.line in uniform)
    ]


class _Divergence(Divergence):
    """Without stores through members of constant parameters: those change memory, not the parameter."""

    def _assignments(self, function: Node) -> Iterator[tuple[bytes, Node | None, Node]]:
        head = self.text(function).split(b"{", 1)[0]
        constant = set(re.findall(rb"\bconst\s+[\w:]+(?:<[^<>]*>)?\s*&?\s*(\w+)", head))
        for name, value, place in super()._assignments(function):
            left = place.child_by_field_name("left") if place.type == "assignment_expression" else None
            if not (left is not None and left.type != "identifier" and name in constant):
                yield name, value, place


def _uniform_lines(parsed: ParsedFile) -> frozenset[int]:
    """Lines of calls that no branch around them tells apart."""
    found = set()
    for function in functions(parsed):
        divergence = _Divergence(parsed, function.fragment, function.node, function.constants)
        for call in function.walk("call_expression"):
            if all(level is Level.UNIFORM for level, _ in divergence.branches(call, function.node)):
                found.add(parsed.source.place(function.offset(call)).line)
    return frozenset(found)
