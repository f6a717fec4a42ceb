"""Hazards that translation reports for the same reasons: divergence, locks, implicit synchrony, narrow shifts."""

from __future__ import annotations

from dataclasses import replace

from hipport.core import TranslateOptions
from hipport.lint.finding import Finding, Verdict
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook
from hipport.syntax import ParsedFile

# Rule -> verdict. Whether lanes of a branch really part, or a compiler moves an access, does not show in the text.
VERDICTS = {
    "HP210": Verdict.UNKNOWN,
    "HP211": Verdict.UNKNOWN,
    "HP212": Verdict.WRONG,
    "HP213": Verdict.UNKNOWN,
    "HP214": Verdict.WRONG,
    "HP215": Verdict.WRONG,
    "HP216": Verdict.UNKNOWN,
    "HP217": Verdict.WRONG,
}


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
    result = translate_source(parsed.source, book, TranslateOptions(passthrough=()))
    return [
        Finding(
            d.id, VERDICTS[d.id], d.path, d.line, d.column, " ".join(parsed.source.line_text(d.line).split())[:90],
            d.message, d.next_step,
        )
        for d in result.diagnostics
        if d.id in VERDICTS
    ]  # fmt: skip

