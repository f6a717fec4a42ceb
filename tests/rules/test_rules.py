"""Every rule file is its own test: each example is translated by that rule alone and compared with what it states."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hipport.core import FileResult, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rewrite.predicates import REGISTRY
from hipport.rulebook import EMPTY, PREDICATES, Example, Rule, Rulebook, load_rulebook

BOOK = load_rulebook()
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.id}-{example.name}") for rule in BOOK.rules for example in rule.examples
]
# The scan for leftover names speaks about whole files, not about the rule under test.
RESIDUAL = frozenset({"HP900", "HP907", "HP910", "HP911", "HP912"})


def options_of(example: Example) -> TranslateOptions:
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in example.options.items()}
    return replace(TranslateOptions(), **given)


def translated(text: str, example: Example, book: Rulebook) -> FileResult:
    return translate_source(SourceFile(example.path, text.encode()), book, options_of(example))


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example(rule: Rule, example: Example) -> None:
    alone = replace(EMPTY, rules=(rule,))
    result = translated(example.before, example, alone)
    assert result.parse_errors_before == 0, "the example itself must parse"
    assert result.output.decode() == example.after
    said = tuple(sorted({d.id for d in result.diagnostics if d.id not in RESIDUAL}))
    assert said == tuple(sorted(set(example.diagnostics)))
    assert result.parse_errors_after == 0
    again = translated(example.after, example, alone)
    assert again.output.decode() == example.after, "a second run changes something"


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example_among_all_rules(rule: Rule, example: Example) -> None:
    """With every rule and table the example still converges, parses, and no two rules fight over it."""
    result = translated(example.before, example, BOOK)
    assert not [d.format() for d in result.diagnostics if d.id in ("HP901", "HP905", "HP906")]
    again = translated(result.output.decode(), example, BOOK)
    assert again.output == result.output


def test_rulebook_has_no_problems() -> None:
    assert BOOK.problems() == []


def test_every_engine_diagnostic_is_documented() -> None:
    missing = [identity for identity in ENGINE_IDS if BOOK.explain(identity) is None]
    assert missing == []


ENGINE_IDS = ["HP199", "HP407", *(f"HP9{n:02}" for n in range(14))]


def test_predicates_are_all_answered() -> None:
    assert set(REGISTRY) == set(PREDICATES)
