"""`hipport doctor`: say what this machine has and what is missing."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hipport.sdk.doctor import Finding


@click.command(name="doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> int:
    """Say what this machine has, what is missing, and how to get it.

    Finds ROCm, hipcc, clang, the HIP version, device libraries, GPU and host compiler, and compiles one kernel for
    each target. Exit code 1 when something that a build needs is missing.
    """
    from rich.console import Console
    from rich.table import Table

    from hipport.sdk.doctor import Health, examine

    console = Console(stderr=as_json)
    with console.status("looking"):
        findings = [*examine(), _upstream()]
    missing = [finding for finding in findings if finding.health is Health.MISSING]
    if as_json:
        click.echo(json.dumps({"ready": not missing, "findings": [asdict(f) for f in findings]}, indent=2))
        return int(bool(missing))

    marks = {Health.OK: "[green]ok[/]", Health.ABSENT: "[dim]absent[/]", Health.MISSING: "[red]missing[/]"}
    table = Table(box=None, pad_edge=False)
    for heading in ("", "", "found"):
        table.add_column(heading, overflow="fold")

    def row(finding: Finding) -> None:
        detail = finding.detail + (f"\n-> {finding.next_step}" if finding.next_step else "")
        table.add_row(finding.subject, marks[finding.health], detail)

    for finding in findings:
        row(finding)
    console.print(table)
    if missing:
        console.print(f"[red]{len(missing)} missing:[/] {', '.join(finding.subject for finding in missing)}")
    else:
        console.print("[green]ready[/] to translate and build")
    return int(bool(missing))


def _upstream() -> Finding:
    from hipport.core import HipportError
    from hipport.sdk.doctor import Finding, Health
    from hipport.upstream import read_pins
    from hipport.upstream.sync import read_state

    root = Path("upstream_cuda")
    try:
        pins = read_pins(root)
    except HipportError:
        return Finding("upstream sources", Health.ABSENT, "no upstream_cuda/upstream.toml in this folder")
    absent = [f"{pin.name} {pin.version}" for pin in pins if read_state(root, pin) is None]
    if absent:
        return Finding("upstream sources", Health.ABSENT, f"not fetched: {', '.join(absent)}", "hipport upstream sync")
    return Finding("upstream sources", Health.OK, ", ".join(f"{pin.name} {pin.version}" for pin in pins))
