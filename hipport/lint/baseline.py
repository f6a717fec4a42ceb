"""Baseline files: findings that are known already."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from hipport.core import HipportError
from hipport.core.files import write_atomic
from hipport.lint.finding import Finding

_FORMAT = 1


def write_baseline(path: Path, findings: Sequence[Finding]) -> None:
    """Write the fingerprints of findings, with how often each occurs and what it is for a reader."""
    counts = Counter(f.fingerprint for f in findings)
    first = {f.fingerprint: f for f in reversed(findings)}
    rows = [
        {
            "fingerprint": k,
            "count": counts[k],
            "id": f.id,
            "path": f.path,
            "verdict": f.verdict.value,
            "subject": f.subject,
        }
        for k, f in sorted(first.items(), key=lambda item: (item[1].path, item[1].id, item[0]))
    ]
    data = json.dumps({"format": _FORMAT, "findings": rows}, indent=1, ensure_ascii=True) + "\n"
    write_atomic(path, data.encode())


def new_findings(path: Path, findings: Sequence[Finding]) -> list[Finding]:
    """Findings that a baseline does not know; where one occurs more often than there, the later ones.

    Raises:
        HipportError: the file cannot be read or is no baseline.
    """
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != _FORMAT:
            raise ValueError
        known = Counter({str(row["fingerprint"]): int(row["count"]) for row in data["findings"]})
    except OSError as error:
        raise HipportError(f"cannot read {path}: {error.strerror}", "write one with --write-baseline") from error
    except (ValueError, KeyError, TypeError) as error:
        raise HipportError(f"{path} is no baseline of hipport lint", "write one with --write-baseline") from error
    new = []
    for finding in findings:
        if known[finding.fingerprint] > 0:
            known[finding.fingerprint] -= 1
        else:
            new.append(finding)
    return new
