"""Run the rules that a file's words call for: queries through one combined query, transforms through their function."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from tree_sitter import Node, Query

from hipport.core import Diagnostic, Edit, RuleError, Safety, Severity, Span, TranslateOptions
from hipport.rewrite.change import Change, Context, Finding, Project
from hipport.rewrite.predicates import REGISTRY
from hipport.rewrite.template import TemplateError, template_edits
from hipport.rulebook import PREDICATES, Rule, Rulebook
from hipport.rulebook.records import version
from hipport.syntax import Fragment, ParsedFile, compile_query, inside_error, matches

Transform = Callable[[ParsedFile, Context], Iterable[Change | Finding]]


def selected(
    parsed: ParsedFile, rulebook: Rulebook, options: TranslateOptions, project: Project, *, only_named: bool
) -> list[Rule]:
    """Rules whose options, files and anchor words fit. ``only_named``: only rules that name files (vendored trees)."""
    words = parsed.scan.words
    data = parsed.data
    path = parsed.source.path
    chosen = []
    for rule in rulebook.rules:
        if rule.files:
            if not project.matches(path, rule.files):
                continue
        elif only_named:
            continue
        if not _wanted(rule, options):
            continue
        for anchor in rule.anchors:
            word = anchor.encode()
            if word in words or (not anchor.isidentifier() and word in data):
                chosen.append(rule)
                break
    return chosen


def _wanted(rule: Rule, options: TranslateOptions) -> bool:
    for key, wanted in rule.when.items():
        if key == "rocm_min":
            if options.rocm < version(str(wanted), (0, 0)):
                return False
        elif key == "rocm_max":
            if options.rocm > version(str(wanted), (999, 999)):
                return False
        else:
            values = wanted if isinstance(wanted, list) else [wanted]
            have = options.targets if key == "targets" else (getattr(options, key),)
            if not set(values) & set(have):
                return False
    return True


def rule_changes(
    parsed: ParsedFile,
    rules: list[Rule],
    rulebook: Rulebook,
    options: TranslateOptions,
    project: Project,
    pass_number: int,
) -> Iterator[Change | Finding]:
    """What the selected rules want. Order: rules by id, matches by position."""
    queried = tuple(rule for rule in rules if rule.match)
    if queried:
        yield from _queried(parsed, queried, options, rulebook, project, pass_number)
    for rule in rules:
        if rule.transform:
            context = Context(parsed, rule, options, rulebook, project, pass_number)
            for result in _transformed(parsed, context):
                if isinstance(result, Change) and rule.safety == Safety.UNSAFE and not options.unsafe:
                    yield _not_applied(result.span.start, rule)
                else:
                    yield result


def _transformed(parsed: ParsedFile, context: Context) -> list[Change | Finding]:
    """All that a transform wants, or a finding that says it could not finish."""
    try:
        return list(_function(context.rule.transform)(parsed, context))
    except RecursionError:  # expressions nested hundreds deep; Python's stack is the bound
        message = f"nested too deeply for the rule {context.rule.name}: it was not applied to this file"
        return [context.report(0, message, id="HP913", subject=context.rule.id)]


@lru_cache(maxsize=512)
def _combined(texts: tuple[str, ...]) -> Query:
    return compile_query("\n".join(texts))


@lru_cache(maxsize=512)
def _owners(rules: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Position of the owning rule for each pattern of a combined query."""
    return tuple(position for position, count in rules for _ in range(count))


@lru_cache(maxsize=64)
def _function(name: str) -> Transform:
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(f"hipport.rewrite.transforms.{module}"), function)
    except (ImportError, AttributeError) as error:
        raise RuleError(f"transform {name!r} cannot be imported: {error}", name) from error
    return found  # type: ignore[no-any-return]


def _queried(
    parsed: ParsedFile,
    rules: tuple[Rule, ...],
    options: TranslateOptions,
    rulebook: Rulebook,
    project: Project,
    pass_number: int,
) -> Iterator[Change | Finding]:
    query = _combined(tuple(rule.match for rule in rules))
    owners = _owners(tuple((position, rule.n_patterns) for position, rule in enumerate(rules)))
    counts = dict.fromkeys(range(len(rules)), 0)
    for fragment in parsed.fragments():
        for pattern, captures in matches(query, fragment.root):
            position = owners[pattern]
            rule = rules[position]
            for result in _match(parsed, fragment, rule, captures, options):
                counts[position] += 1
                yield result
    for position, rule in enumerate(rules):
        if pass_number == 1 and rule.expect and counts[position] != rule.expect:
            yield Context(parsed, rule, options, rulebook, project).report(
                0,
                f"matched {counts[position]} times in this file, {rule.expect} expected: the input changed",
                id="HP904",
                severity=Severity.ERROR,
                next_step=f"compare the file with {rule.file} and correct the rule",
                subject=rule.id,
            )


def _match(
    parsed: ParsedFile, fragment: Fragment, rule: Rule, captures: dict[str, list[Node]], options: TranslateOptions
) -> Iterator[Change | Finding]:
    root = captures["root"][0]
    span = fragment.span(root)
    if span.start < fragment.limits.start or span.end > fragment.limits.end:
        return
    spans: dict[str, Span] = {}
    for name, nodes in captures.items():
        first, last = fragment.span(nodes[0]), fragment.span(nodes[-1])
        spans[name] = Span(first.start, last.end)
    values = _variant(parsed, rule, spans)
    if values is None or parsed.reach(span.start) != "shared":
        return
    own = [
        parsed.text(at)
        for at in spans.values()
        if parsed.text(at).decode("utf-8", "replace") in rule.anchors
        and not parsed.data[: at.start].endswith(b"::")
        and parsed.is_own(at.start, parsed.text(at))
    ]
    if any(anchor.encode() in own for anchor in rule.anchors):
        return  # the tree's own function of that name
    if any(parsed.facts.type_at(spans[name]) in types for name, types in rule.skip_types.items() if name in spans):
        return
    doubts = []
    for name in rule.requires:
        verdict = REGISTRY[name](parsed, fragment, root)
        if verdict is False:
            return
        if verdict is None:
            doubts.append(f"whether it is {PREDICATES[name]}")
    if inside_error(root):
        doubts.append("its structure: the text around it does not parse")
    if doubts and rule.safety != Safety.ADVISE:
        yield Finding(
            span.start,
            _diagnostic(rule, _expand(rule.title, parsed, spans, values), f"not changed, cannot tell {doubts[0]}"),
        )
        return
    if rule.safety == Safety.ADVISE:
        yield Finding(span.start, _diagnostic(rule, _expand(rule.message or rule.title, parsed, spans, values)))
        return
    if rule.safety == Safety.UNSAFE and not options.unsafe:
        yield _not_applied(span.start, rule)
        return
    try:
        edits = list(_edits(parsed, rule, spans, values))
    except TemplateError as error:
        yield Finding(span.start, _diagnostic(rule, rule.title, f"not changed: {error}"))
        return
    if not edits:
        return
    findings: tuple[Finding, ...] = ()
    if rule.message:
        findings = (Finding(span.start, _diagnostic(rule, _expand(rule.message, parsed, spans, values), applied=True)),)
    yield Change(tuple(edits), rule.id, rule.include, findings)


def _variant(parsed: ParsedFile, rule: Rule, spans: dict[str, Span]) -> dict[str, str] | None:
    """Values of the variant that the match is; None when it is none of them."""
    if not rule.variants:
        return {}
    tested = [key for key in rule.variants[0] if key in spans]
    texts = {key: parsed.text(spans[key]).decode("utf-8", "surrogateescape") for key in tested}
    for variant in rule.variants:
        if all(variant[key] == texts[key] for key in tested):
            return {key: value for key, value in variant.items() if key not in spans}
    return None


def _edits(parsed: ParsedFile, rule: Rule, spans: dict[str, Span], values: dict[str, str]) -> Iterator[Edit]:
    for target, template in rule.rewrite.items():
        name = target.removeprefix("before:").removeprefix("after:")
        if name not in spans:  # an optional capture that is absent
            continue
        span = spans[name]
        if target.startswith("before:"):
            span = Span(span.start, span.start)
        elif target.startswith("after:"):
            span = Span(span.end, span.end)
        for place, text in template_edits(parsed.data, span, template, spans, values):
            yield Edit(place, text, rule.id, rule.title, Safety(rule.safety))


def _expand(text: str, parsed: ParsedFile, spans: dict[str, Span], values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    for name, span in spans.items():
        shown = " ".join(parsed.text(span).decode("utf-8", "replace").split())
        text = text.replace(f"${{{name}}}", shown if len(shown) <= 60 else shown[:57] + "...")
    return text


def _diagnostic(rule: Rule, message: str, doubt: str = "", *, applied: bool = False) -> Diagnostic:
    severity = Severity(rule.severity) if rule.severity else (Severity.NOTE if applied else Severity.WARNING)
    return Diagnostic(
        rule.id, severity, f"{message} ({doubt})" if doubt else message, next_step=rule.next_step, subject=rule.name
    )


def _not_applied(offset: int, rule: Rule) -> Finding:
    return Finding(offset, _diagnostic(rule, rule.title, "an unsafe edit: apply with --unsafe after reading the rule"))
