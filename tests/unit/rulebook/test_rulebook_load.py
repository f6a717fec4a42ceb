from __future__ import annotations

from pathlib import Path

import pytest

from hipport.core import RuleError
from hipport.rulebook import Rulebook, load_rulebook

GOOD = """
id = "HP998"
name = "good"
title = "A title"
safety = "safe"
rewrite = "${new}(${x})"
sources = ["here"]
docs = '''Why.'''
match = '''(call_expression function: (identifier) @func arguments: (argument_list . (_) @x .)) @root'''
[[variant]]
func = "oldOne"
new = "newOne"
[[example]]
name = "one"
before = "void f() { oldOne(1); }"
after = "void f() { newOne(1); }"
[[example]]
name = "none"
keep = "void f() { other(1); }"
"""
HEADER = "cuda\thip\tkind\tstate\tdiag\trocm_min\trocm_max\tsource\tnote\n"


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "rules"
    root.mkdir()
    return root


def load(root: Path, text: str, name: str = "HP998-good.toml") -> Rulebook:
    (root / name).write_text(text, encoding="utf-8")
    return load_rulebook([root])


def test_good_rule(rules: Path) -> None:
    book = load(rules, GOOD)
    (rule,) = book.rules
    assert rule.anchors == ("oldOne",)
    assert rule.n_patterns == 1
    assert book.problems() == []
    explained = book.explain("HP998")
    assert explained is not None
    assert explained.title == "A title"


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ('id = "HP998"', 'id = "X1"', "bad id", 2),
        ('safety = "safe"', 'safety = "sure"', "safety 'sure' is none of", 5),
        ('title = "A title"', "", "'title' is missing", 0),
        ('sources = ["here"]', "sources = []", "at least one source", 7),
        ("${new}(${x})", "${gone}(${x})", "neither capture nor variant key", 6),
        ("@root'''", "'''", "needs a @root", 9),
        ("(call_expression function", "(no_such function", "query:", 9),
        ('keep = "void f() { other(1); }"', 'before = "a"', "needs 'before' and 'after', or 'keep'", 18),
        ('title = "A title"', 'title = "A title"\ntypo = 1', "unknown key 'typo'", 5),
        ('title = "A title"', 'title = "A title"\nrequires = ["moon"]', "unknown predicate 'moon'", 5),
        ('name = "good"', 'name = "bad"', "the file must be named HP998-bad.toml", 3),
        ('title = "A title"', "title = = 3", "Invalid value", 4),
    ],
)
def test_bad_rules_name_file_and_line(rules: Path, old: str, new: str, message: str, line: int) -> None:
    with pytest.raises(RuleError) as caught:
        load(rules, GOOD.replace(old, new))
    assert message in caught.value.message
    assert caught.value.file == "HP998-good.toml"
    assert caught.value.line == line


def test_a_rule_needs_a_keep_example(rules: Path) -> None:
    with pytest.raises(RuleError, match="keep"):
        load(rules, GOOD[: GOOD.index('[[example]]\nname = "none"')])


def test_unexercised_variants_and_double_ids_are_problems(rules: Path) -> None:
    more = GOOD.replace("[[example]]", '[[variant]]\nfunc = "unused"\nnew = "x"\n[[example]]', 1)
    load(rules, more)
    (rules / "sub").mkdir()
    book = load(rules / "sub", GOOD)
    book = load_rulebook([rules])
    problems = "\n".join(book.problems())
    assert "no example exercises the variant" in problems
    assert "id HP998 is also used by" in problems


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("cudaX\thipX\tfunction\tok\t\t\t\tderived\t", ""),
        ("cudaX\t\tfunction\tok\t\t\t\tderived\t", "needs a HIP name"),
        ("cudaX\thipX\tthing\tok\t\t\t\tderived\t", "unknown kind 'thing'"),
        ("cudaX\thipX\tfunction\tmaybe\t\t\t\tderived\t", "unknown state 'maybe'"),
        ("cudaX\t\tfunction\tnone\t\t\t\tderived\t", "needs a diagnostic id and a note"),
        ("cudaX\thipX\tfunction\tok\t\tsix\t\tderived\t", "digits and dots"),
        ("cudaX\thipX\tfunction\tok\t\t\t\t\t", "no source"),
        ("cudaX\tcudaX\tfunction\tok\t\t\t\tderived\t", "state same"),
        ("a\tb\tc\td\te\tf\tg\th\ti\tj", "10 columns"),
    ],
)
def test_rows(rules: Path, row: str, message: str) -> None:
    text = "# a comment\n" + HEADER + row + "\n"
    if not message:
        book = load(rules, text, "t.tsv")
        (found,) = book.rows("cudaX")
        assert (found.hip, found.table, found.line) == ("hipX", "t.tsv", 3)
        return
    with pytest.raises(RuleError, match=message) as caught:
        load(rules, text, "t.tsv")
    assert (caught.value.file, caught.value.line) == ("t.tsv", 3)


def test_the_cache_gives_the_same_book_and_notices_a_change(rules: Path) -> None:
    first = load(rules, GOOD)
    cached = load_rulebook([rules])
    assert cached == first
    assert cached.rules[0].examples == first.rules[0].examples
    changed = load(rules, GOOD.replace("newOne", "newTwo"))
    assert changed.identity != first.identity
    assert changed.rules[0].variants[0]["new"] == "newTwo"


def test_a_broken_cache_file_is_rebuilt(rules: Path, tmp_path: Path) -> None:
    first = load(rules, GOOD)
    for stored in (tmp_path / "cache" / "rulebook").iterdir():
        stored.write_bytes(b"garbage")
    assert load_rulebook([rules]) == first


def test_later_roots_replace_rows(rules: Path, tmp_path: Path) -> None:
    load(rules, HEADER + "cudaX\thipX\tfunction\tok\t\t\t\tderived\t\n", "t.tsv")
    own = tmp_path / "own"
    own.mkdir()
    (own / "mine.tsv").write_text(HEADER + "cudaX\tmyX\tfunction\tok\t\t\t\tthe user\t\n")
    assert [row.hip for row in load_rulebook([rules, own]).rows("cudaX")] == ["myX"]


def test_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="no such rules directory"):
        load_rulebook([tmp_path / "nowhere"])
