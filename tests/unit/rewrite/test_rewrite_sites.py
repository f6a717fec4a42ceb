"""Packs of exact places (transform ``sites:replace``): all or none, and a place is known by its surroundings."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hipport.core import FileResult, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook

KERNEL = """\
int first() {
  return warp / 32;
}
int second() {
  return warp * 32;
}
"""
RULE = """
id = "HP699"
name = "places"
title = "t"
safety = "safe"
transform = "sites:replace"
files = ["*kernel.h"]
anchor = ["warp"]
sources = ["s"]
docs = '''d'''
next_step = "look"

[[variant]]
find = "/ 32"
replace = "/ wave"
expect = "1"
context = "{divided}"

[[variant]]
find = "* 32"
replace = "* wave"
expect = "1"
context = "{multiplied}"

[[example]]
name = "another version"
path = "kernel.h"
keep = "int warp;"
diagnostics = ["HP904"]

[[example]]
name = "other files"
path = "other.h"
keep = "int warp;"
"""


def digest(*lines: str) -> str:
    """What the rule file documents: the line of the place and its neighbours, white space folded."""
    return hashlib.sha256((" ".join(" ".join(lines).split()) + "\n").encode()).hexdigest()[:8]


@pytest.fixture
def book(tmp_path: Path) -> Rulebook:
    divided = digest("int first() {", "return warp / 32;", "}")
    multiplied = digest("int second() {", "return warp * 32;", "}")
    (tmp_path / "HP699-places.toml").write_text(RULE.format(divided=divided, multiplied=multiplied))
    return load_rulebook([tmp_path], cache=False)


def translate(book: Rulebook, text: str) -> FileResult:
    return translate_source(SourceFile("kernel.h", text.encode()), book, TranslateOptions())


def test_all_places_are_replaced(book: Rulebook) -> None:
    done = translate(book, KERNEL)
    assert done.output.decode() == KERNEL.replace("/ 32", "/ wave").replace("* 32", "* wave")
    assert not done.diagnostics
    assert translate(book, done.output.decode()).output == done.output


def test_white_space_does_not_matter(book: Rulebook) -> None:
    assert b"/ wave" in translate(book, KERNEL.replace("  return", "\treturn ")).output


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(KERNEL.replace("* 32", "* 16"), id="a place is missing"),
        pytest.param(KERNEL + "int third() {\n  return warp / 32;\n}\n", id="a place more"),
        pytest.param(
            KERNEL.replace("/ 32", "@").replace("* 32", "/ 32").replace("@", "* 32"), id="two places changed sides"
        ),
        pytest.param(KERNEL.replace("second", "renamed"), id="a neighbouring line changed"),
    ],
)
def test_drift_is_an_error_and_nothing_is_replaced(book: Rulebook, text: str) -> None:
    done = translate(book, text)
    assert [d.id for d in done.diagnostics] == ["HP904"]
    assert done.output == text.encode()
