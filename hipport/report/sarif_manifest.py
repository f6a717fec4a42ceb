"""SARIF of a translation: the diagnostics in its manifest."""

from __future__ import annotations

from collections.abc import Mapping

from hipport.core import Severity
from hipport.emit.manifest import Manifest
from hipport.report.sarif import SarifPlace, SarifResult, SarifRule, render_sarif

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def translation_sarif(manifest: Manifest, rules: Mapping[str, SarifRule], version: str) -> str:
    """Every diagnostic of a translation; places are those of the input."""
    results = [
        SarifResult(
            d.id,
            _LEVELS[d.severity],
            f"{d.message}. Next step: {d.next_step}" if d.next_step else d.message,
            SarifPlace(d.path, d.line, d.column),
            properties=(("count", d.count), ("subject", d.subject)) if d.subject else (("count", d.count),),
        )
        for d in manifest.all_diagnostics()
    ]
    return render_sarif(results, rules, version)
