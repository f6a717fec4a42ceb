"""The rulebook: everything under ``rules/`` in the form that translation uses, cached between runs."""

from __future__ import annotations

import contextlib
import hashlib
import marshal
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from hipport.core import HipportError, RuleError
from hipport.core.files import cache_root, package_root, rules_root, write_atomic
from hipport.rulebook.records import Example, Explanation, Row, Rule
from hipport.rulebook.tables import read_table
from hipport.rulebook.toml_rules import read_explanations, read_rule

_FORMAT = 3
# Packages whose code decides what a rulebook means.
_CODE = ("syntax", "rulebook", "rewrite")


@dataclass(frozen=True)
class Rulebook:
    """Rules, rename rows and documented diagnostics.

    Attributes:
        identity: hash of every rule file and of the code that applies them; part of every translation's cache key.
        rules: in order of id.
        names: last component of a CUDA name -> its rows, as tuples of `Row`'s fields.
        headers: include path -> its row.
        explanations: diagnostic id -> documentation.
    """

    identity: str
    rules: tuple[Rule, ...]
    names: dict[bytes, tuple[tuple[Any, ...], ...]] = field(repr=False)
    headers: dict[str, tuple[Any, ...]] = field(repr=False)
    explanations: dict[str, Explanation] = field(repr=False)

    def rows(self, name: str) -> list[Row]:
        """Rows of a CUDA name, qualified or not, or of a header path."""
        if name in self.headers:
            return [Row(*self.headers[name])]
        last = name.rsplit("::", 1)[-1].encode()
        found = [Row(*cells) for cells in self.names.get(last, ())]
        return [row for row in found if row.cuda == name] or found

    def all_rows(self) -> Iterator[Row]:
        """Every row."""
        for group in self.names.values():
            for cells in group:
                yield Row(*cells)
        for cells in self.headers.values():
            yield Row(*cells)

    def rule(self, identity: str) -> Rule | None:
        """The first rule with this id."""
        return next((rule for rule in self.rules if rule.id == identity), None)

    def explain(self, identity: str) -> Explanation | None:
        """Documentation of an id: of its rule, or of its entry in a diagnostics table."""
        if found := self.explanations.get(identity):
            return found
        rule = self.rule(identity)
        if rule is None:
            return None
        return Explanation(rule.id, rule.title, rule.docs, rule.next_step, rule.sources, rule.file)

    @cached_property
    def hip_names(self) -> frozenset[str]:
        """HIP names that rows map to."""
        return frozenset(cells[1] for group in self.names.values() for cells in group if cells[1])

    def problems(self) -> list[str]:
        """What is wrong across files (each file by itself was checked when it was read)."""
        return _problems(self)


EMPTY = Rulebook("empty", (), {}, {}, {})


def load_rulebook(roots: Sequence[Path] | None = None, *, cache: bool = True) -> Rulebook:
    """Load and check every rule and table under ``roots``.

    Args:
        roots: rule directories, the shipped ``rules/`` when None. A user's directories come after it; their rules and
            rows are added, and a row for the same name and kind replaces the shipped one.
        cache: use and fill the compiled form in the cache directory.

    Raises:
        RuleError: a rule or table is wrong; names file and line.
    """
    roots = (rules_root(),) if roots is None else tuple(roots)
    for root in roots:
        if not root.is_dir():
            raise RuleError("no such rules directory", str(root))
    files = [(root, path) for root in roots for path in _rule_files(root)]
    key = _stat_key(roots, files)
    stored = cache_root() / "rulebook" / f"{key}.marshal"
    if cache:
        found = _read_cache(stored)
        if found is not None:
            return found
    book = _load(files)
    if cache:
        with contextlib.suppress(HipportError):  # a cache that cannot be written costs time only
            write_atomic(stored, marshal.dumps(_to_plain(book)))
    return book


def _rule_files(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders.sort()
        found.extend(Path(folder, name) for name in sorted(names) if name.endswith((".toml", ".tsv")))
    return found


def _stat_key(roots: Sequence[Path], files: Sequence[tuple[Path, Path]]) -> str:
    """Key of the cached form: sizes and times of rule files and of our own code; contents are hashed on a miss."""
    digest = hashlib.sha256(repr((_FORMAT, [str(root) for root in roots])).encode())
    for path in [path for _, path in files] + _code_files():
        status = path.stat()
        digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]


def _code_files() -> list[Path]:
    return sorted(path for package in _CODE for path in (package_root() / package).rglob("*.py"))


def _load(files: Sequence[tuple[Path, Path]]) -> Rulebook:
    digest = hashlib.sha256(str(_FORMAT).encode())
    for path in _code_files():
        digest.update(path.read_bytes())
    rules: list[Rule] = []
    explanations: dict[str, Explanation] = {}
    keyed: dict[tuple[str, str, str, str], Row] = {}
    for root, path in files:
        shown = path.relative_to(root).as_posix()
        digest.update(shown.encode() + b"\0" + path.read_bytes())
        if path.suffix == ".tsv":
            for row in read_table(path, shown):
                keyed[row.cuda, row.kind, row.rocm_min, row.rocm_max] = row
        elif path.name.startswith("diagnostics"):
            explanations.update((entry.id, entry) for entry in read_explanations(path, shown))
        elif path.name.startswith("HP"):
            rules.append(read_rule(path, shown))
    names: dict[bytes, tuple[tuple[Any, ...], ...]] = {}
    headers: dict[str, tuple[Any, ...]] = {}
    for row in keyed.values():
        cells = tuple(getattr(row, f.name) for f in fields(Row))
        if row.kind == "header":
            headers[row.cuda] = cells
        else:
            last = row.cuda.rsplit("::", 1)[-1].encode()
            names[last] = (*names.get(last, ()), cells)
    ordered = sorted(rules, key=lambda rule: (rule.id, rule.file))
    numbered = tuple(_with_order(rule, order) for order, rule in enumerate(ordered))
    return Rulebook(digest.hexdigest(), numbered, names, headers, explanations)


def _with_order(rule: Rule, order: int) -> Rule:
    values = {f.name: getattr(rule, f.name) for f in fields(Rule)}
    return Rule(**{**values, "order": order})


def _to_plain(book: Rulebook) -> Any:
    rules = []
    for rule in book.rules:
        values = {f.name: getattr(rule, f.name) for f in fields(Rule)}
        values["examples"] = [{f.name: getattr(e, f.name) for f in fields(Example)} for e in rule.examples]
        rules.append(values)
    explanations = [tuple(getattr(e, f.name) for f in fields(Explanation)) for e in book.explanations.values()]
    return (_FORMAT, book.identity, rules, book.names, book.headers, explanations)


def _read_cache(stored: Path) -> Rulebook | None:
    try:
        plain = marshal.loads(stored.read_bytes())
        form, identity, rules, names, headers, explanations = plain
        if form != _FORMAT:
            return None
        built = tuple(Rule(**{**r, "examples": tuple(Example(**e) for e in r["examples"])}) for r in rules)
        return Rulebook(identity, built, names, headers, {e[0]: Explanation(*e) for e in explanations})
    except (OSError, ValueError, EOFError, TypeError):
        return None


def _problems(book: Rulebook) -> list[str]:
    problems = []
    owners: dict[str, str] = {}
    for rule in book.rules:
        if rule.id in owners:
            problems.append(f"{rule.file}: id {rule.id} is also used by {owners[rule.id]}")
        owners[rule.id] = rule.file
        if rule.id in book.explanations:
            problems.append(f"{rule.file}: id {rule.id} is also documented in {book.explanations[rule.id].file}")
        problems.extend(_unexercised(rule))
    problems.extend(
        f"{row.table}:{row.line}: {row.cuda} reports {row.diag}, which nothing documents"
        for row in book.all_rows()
        if row.diag and book.explain(row.diag) is None
    )
    return problems


def _unexercised(rule: Rule) -> list[str]:
    """Variants that no firing example contains."""
    texts = [example.before for example in rule.examples if not example.keep or example.diagnostics]
    missing = []
    for variant in rule.variants:
        values = [value for key, value in variant.items() if f"@{key}" in rule.match]
        if not any(all(value in text for value in values) for text in texts):
            missing.append(f"{rule.file}: no example exercises the variant {variant}")
    return missing
