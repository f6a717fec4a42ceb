"""SARIF 2.1.0 logs: the exchange format of static analysis results.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, errata 01.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hipport.rulebook import Rulebook

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"


@dataclass(frozen=True, slots=True)
class SarifPlace:
    """A place with what is said about it. ``line`` and ``column`` are 1-based, 0 when unknown; ``path`` is relative."""

    path: str
    line: int
    column: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class SarifRule:
    """What a result's id means: title, help text and next step, as `hipport explain` prints them."""

    id: str
    title: str
    help: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class SarifResult:
    """One result.

    Attributes:
        rule: id of its rule.
        level: ``error``, ``warning``, ``note``, or ``none`` for a result that passed.
        message: what was found, and the next step.
        place: where; a path may be empty for a result that concerns no file.
        flow: steps of the data flow that leads there, source first.
        fingerprint: hash that survives edits elsewhere in the file; may be empty.
        properties: further facts for tools that know us.
    """

    rule: str
    level: str
    message: str
    place: SarifPlace
    flow: tuple[SarifPlace, ...] = ()
    fingerprint: str = ""
    properties: tuple[tuple[str, str | int], ...] = ()


def render_sarif(results: Sequence[SarifResult], rules: Mapping[str, SarifRule], version: str) -> str:
    """A log with one run as JSON text; the same arguments give the same bytes.

    Args:
        results: in the order in which they appear.
        rules: metadata by id; ids without an entry are described by themselves.
        version: of hipport.
    """
    ids = sorted({r.rule for r in results})
    described = [_rule(rules.get(i) or SarifRule(i, i, i)) for i in ids]
    index = {i: n for n, i in enumerate(ids)}
    run = {
        "tool": {"driver": {"name": "hipport", "semanticVersion": version, "rules": described}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(r, index[r.rule]) for r in results],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=True) + "\n"


def rules_of(ids: Iterable[str], book: Rulebook) -> dict[str, SarifRule]:
    """Metadata of ids, from their documentation in the rulebook."""
    found = {i: book.explain(i) for i in sorted(ids)}
    return {i: SarifRule(i, e.title, e.docs, e.next_step) for i, e in found.items() if e is not None}


def _rule(rule: SarifRule) -> dict[str, Any]:
    text = _line(rule.help) or rule.title
    step = f"\n\nNext step: {rule.next_step}" if rule.next_step else ""
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": text},
        "help": {"text": f"{rule.help.strip() or rule.title}{step}"},
    }


def _result(result: SarifResult, index: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": result.rule,
        "ruleIndex": index,
        "kind": "pass" if result.level == "none" else "fail",
        "level": result.level,
        "message": {"text": result.message},
    }
    if result.place.path:
        found["locations"] = [_location(result.place, message=False)]
    if result.flow:
        steps = [{"location": _location(step, message=True)} for step in (*result.flow, result.place)]
        found["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if result.fingerprint:
        found["partialFingerprints"] = {"hipport/v1": result.fingerprint}
    if result.properties:
        found["properties"] = dict(result.properties)
    return found


def _location(place: SarifPlace, *, message: bool) -> dict[str, Any]:
    uri = quote(place.path.encode("utf-8", "surrogateescape"))
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri, "uriBaseId": _ROOT}}
    if place.line:
        physical["region"] = {"startLine": place.line} | ({"startColumn": place.column} if place.column else {})
    found: dict[str, Any] = {"physicalLocation": physical}
    if message and place.text:
        found["message"] = {"text": place.text}
    return found


def _line(text: str) -> str:
    """The first paragraph on one line."""
    return " ".join(text.strip().split("\n\n", 1)[0].split())
