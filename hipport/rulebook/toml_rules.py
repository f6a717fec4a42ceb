"""Read rule files (``HPnnn-name.toml``) and diagnostic tables (``diagnostics.toml``) with errors that name the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from hipport.core import RuleError, Safety, Severity
from hipport.rulebook.records import PREDICATES, Example, Explanation, Rule
from hipport.syntax import compile_query

ID = re.compile(r"HP[1-9]\d\d\Z")
PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_CAPTURE = re.compile(r"@([A-Za-z_][\w.]*)")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_COMMENT = re.compile(r";[^\n]*")
_TESTED_STRINGS = re.compile(r"#(?:eq|any-of)\?\s+@[\w.]+((?:\s+\"(?:[^\"\\]|\\.)*\")+)")
_EXAMPLE_KEYS = frozenset({f.name for f in fields(Example)} | {"keep"})
_RULE_KEYS = frozenset(
    {f.name for f in fields(Rule)} - {"variants", "anchors", "examples", "n_patterns", "file", "order"}
    | {"variant", "anchor", "example"}
)
WHEN_KEYS = frozenset({"launch", "warp_model", "targets", "rocm_min", "rocm_max"})


def read_rule(path: Path, shown: str) -> Rule:
    """Read one rule file.

    Args:
        path: the file.
        shown: its path relative to the rules root, for messages.

    Raises:
        RuleError: with file and line of what is wrong.
    """
    text, table = _load(path, shown)
    return _Reader(text, table, shown).rule()


def read_explanations(path: Path, shown: str) -> list[Explanation]:
    """Read the ``[[diagnostic]]`` entries of a diagnostic table.

    Raises:
        RuleError: with file and line of what is wrong.
    """
    text, table = _load(path, shown)
    found = []
    for entry in table.get("diagnostic", []):
        reader = _Reader(text, entry, shown)
        identity = reader.string("id")
        if not ID.match(identity):
            raise RuleError(f"bad id {identity!r}", shown, reader.line_of(identity))
        found.append(
            Explanation(
                identity,
                reader.string("title"),
                reader.string("docs"),
                reader.string("next_step", ""),
                tuple(reader.strings("sources")),
                shown,
            )
        )
    return found


def _load(path: Path, shown: str) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise RuleError("not UTF-8", shown) from error
    except OSError as error:
        raise RuleError(f"cannot be read: {error.strerror}", shown) from error
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise RuleError(str(error), shown, int(line[1]) if line else 0) from error


class _Reader:
    def __init__(self, text: str, table: Mapping[str, Any], shown: str) -> None:
        self.text = text
        self.table = table
        self.shown = shown

    def line_of(self, word: str) -> int:
        """First line that holds ``word``; 0 when none does."""
        for number, line in enumerate(self.text.splitlines(), 1):
            if word in line:
                return number
        return 0

    def fail(self, message: str, word: str = "") -> RuleError:
        return RuleError(message, self.shown, self.line_of(word) if word else 0)

    def string(self, key: str, default: str | None = None) -> str:
        value = self.table.get(key, default)
        if not isinstance(value, str):
            raise self.fail(f"{key!r} is missing" if value is None else f"{key!r} must be a string", key)
        return value

    def strings(self, key: str) -> list[str]:
        value = self.table.get(key, [])
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fail(f"{key!r} must be a list of strings", key)
        return value

    def rule(self) -> Rule:
        if unknown := set(self.table) - _RULE_KEYS:
            name = sorted(unknown)[0]
            raise self.fail(f"unknown key {name!r}", name)
        identity = self.string("id")
        if not ID.match(identity):
            raise self.fail(f"bad id {identity!r}: HP and three digits", "id")
        name = self.string("name")
        if Path(self.shown).name != f"{identity}-{name}.toml":
            raise self.fail(f"the file must be named {identity}-{name}.toml", "name")
        safety = self.string("safety")
        if safety not in Safety._value2member_map_:
            raise self.fail(f"safety {safety!r} is none of {', '.join(Safety)}", "safety")
        severity = self.string("severity", "")
        if severity and severity not in Severity._value2member_map_:
            raise self.fail(f"severity {severity!r} is none of {', '.join(Severity)}", "severity")
        requires = tuple(self.strings("requires"))
        for predicate in requires:
            if predicate not in PREDICATES:
                raise self.fail(f"unknown predicate {predicate!r}", predicate)
        when = self.table.get("when", {})
        if not isinstance(when, dict) or (unknown := set(when) - WHEN_KEYS):
            raise self.fail(f"'when' knows only {', '.join(sorted(WHEN_KEYS))}", "when")
        match = self.string("match", "")
        transform = self.string("transform", "")
        if bool(match) == bool(transform):
            raise self.fail("exactly one of 'match' and 'transform' is needed", "match")
        if transform and not re.fullmatch(r"\w+:\w+", transform):
            raise self.fail("'transform' must be module:function", "transform")
        rewrite = self._rewrite(safety, transform)
        variants = self._variants()
        captures = set(_CAPTURE.findall(_STRING.sub('""', _COMMENT.sub("", match))))
        n_patterns = self._check_query(match, captures, rewrite, variants) if match else 0
        anchors = tuple(self.strings("anchor")) or self._derived_anchors(match, captures, variants)
        if not anchors:
            raise self.fail("no anchor word can be derived: name one in 'anchor'", "match")
        expect = self.table.get("expect", 0)
        if not isinstance(expect, int) or (expect and not self.table.get("files")):
            raise self.fail("'expect' is a count and needs 'files'", "expect")
        sources = tuple(self.strings("sources"))
        if not sources:
            raise self.fail("a rule needs at least one source", "sources")
        return Rule(
            id=identity,
            name=name,
            title=self.string("title"),
            safety=safety,
            requires=requires,
            skip_types=self._skip_types(captures),
            match=self._guarded(match, captures, variants),
            rewrite=rewrite,
            transform=transform,
            variants=variants,
            anchors=anchors,
            include=tuple(self.strings("include")),
            severity=severity,
            message=self.string("message", ""),
            next_step=self.string("next_step", ""),
            when=dict(when),
            files=tuple(self.strings("files")),
            expect=expect,
            docs=self.string("docs").strip() + "\n",
            sources=sources,
            examples=self._examples(),
            n_patterns=n_patterns,
            file=self.shown,
        )

    def _rewrite(self, safety: str, transform: str) -> dict[str, str]:
        value = self.table.get("rewrite", {})
        if isinstance(value, str):
            value = {"root": value}
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise self.fail("'rewrite' is a template or a table of templates", "rewrite")
        if transform and value:
            raise self.fail("a rule with 'transform' has no 'rewrite'", "rewrite")
        if not transform and bool(value) == (safety == Safety.ADVISE):
            raise self.fail("'rewrite' is needed unless safety is advise, which has none", "safety")
        return dict(value)

    def _skip_types(self, captures: set[str]) -> dict[str, tuple[str, ...]]:
        value = self.table.get("skip_types", {})
        if not isinstance(value, dict) or not set(value) <= captures:
            raise self.fail("'skip_types' is a table: capture -> types", "skip_types")
        if not all(isinstance(v, list) and all(isinstance(item, str) for item in v) for v in value.values()):
            raise self.fail("'skip_types' holds lists of types", "skip_types")
        return {capture: tuple(types) for capture, types in value.items()}

    def _variants(self) -> tuple[dict[str, str], ...]:
        value = self.table.get("variant", [])
        if not isinstance(value, list) or not all(
            isinstance(row, dict) and all(isinstance(item, str) for item in row.values()) for row in value
        ):
            raise self.fail("[[variant]] holds strings", "[[variant]]")
        if value and any(set(row) != set(value[0]) for row in value):
            raise self.fail("every [[variant]] has the same keys", "[[variant]]")
        return tuple(dict(row) for row in value)

    def _check_query(
        self, match: str, captures: set[str], rewrite: dict[str, str], variants: tuple[dict[str, str], ...]
    ) -> int:
        try:
            query = compile_query(match)
        except ValueError as error:
            raise self.fail(f"query: {error}", "match") from error
        if "root" not in captures:
            raise self.fail("the query needs a @root capture", "match")
        known = captures | (set(variants[0]) if variants else set())
        for target, template in rewrite.items():
            if target.removeprefix("before:").removeprefix("after:") not in captures:
                raise self.fail(f"rewrite of {target!r}: no such capture", "rewrite")
            for used in PLACEHOLDER.findall(template):
                if used not in known:
                    raise self.fail(f"template uses ${{{used}}}: neither capture nor variant key", used)
        return query.pattern_count

    @staticmethod
    def _derived_anchors(match: str, captures: set[str], variants: tuple[dict[str, str], ...]) -> tuple[str, ...]:
        if variants:
            for key in variants[0]:
                if key in captures:
                    return tuple(sorted({row[key] for row in variants}))
        tested = _TESTED_STRINGS.search(_COMMENT.sub("", match))
        return tuple(sorted(text[1:-1] for text in _STRING.findall(tested[1]))) if tested else ()

    @staticmethod
    def _guarded(match: str, captures: set[str], variants: tuple[dict[str, str], ...]) -> str:
        """Let the query engine, not Python, drop calls of functions that no variant names."""
        if not match or not variants:
            return match
        tests = []
        for key in variants[0]:
            if key in captures:
                values = " ".join(f'"{value}"' for value in sorted({row[key] for row in variants}))
                tests.append(f"(#any-of? @{key} {values})")
        guarded = f"({match}\n{' '.join(tests)})"
        try:
            compile_query(guarded)
        except ValueError:
            return match
        return guarded

    def _examples(self) -> tuple[Example, ...]:
        examples = []
        for entry in self.table.get("example", []):
            if unknown := set(entry) - _EXAMPLE_KEYS:
                raise self.fail(f"example has unknown key {sorted(unknown)[0]!r}", sorted(unknown)[0])
            reader = _Reader(self.text, entry, self.shown)
            name = reader.string("name")
            keep = entry.get("keep")
            if (keep is None) == ("before" not in entry) or (keep is None) != ("after" in entry):
                raise self.fail(f"example {name!r} needs 'before' and 'after', or 'keep'", name)
            before = keep if keep is not None else reader.string("before")
            examples.append(
                Example(
                    name=name,
                    before=before,
                    after=keep if keep is not None else reader.string("after"),
                    diagnostics=tuple(sorted(reader.strings("diagnostics"))),
                    options=dict(entry.get("options", {})),
                    path=reader.string("path", "example.cu"),
                    compile=bool(entry.get("compile", False)),
                )
            )
        if not any(example.keep for example in examples):
            raise self.fail("a rule needs at least one 'keep' example")
        if not any(not example.keep or example.diagnostics for example in examples):
            raise self.fail("a rule needs at least one example in which it fires")
        names = [example.name for example in examples]
        if len(set(names)) != len(names):
            raise self.fail("two examples have the same name")
        return tuple(examples)
