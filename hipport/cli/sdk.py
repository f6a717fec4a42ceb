"""`hipport sdk`: install or show the AMD toolchain."""

from __future__ import annotations

import json
from typing import Any

import click

from hipport.sdk.find import PROFILES


@click.group(name="sdk")
def command() -> None:
    """Install or show the AMD toolchain.

    hipport compiles with AMD's own compiler and headers. An installed ROCm is used as it is; without one,
    `hipport sdk install` unpacks clang, HIP headers and device libraries into hipport's cache: no GPU, no ROCm, and
    no change to the system's package sources.
    """


@command.command()
@click.option("--profile", type=click.Choice(PROFILES), help="HIP version; default: the first one available.")
@click.option("--offline", is_flag=True, help="Use only packages that were downloaded before.")
@click.option("--mirror", metavar="URL", help="Debian mirror, for machines whose package sources name none.")
@click.option("--force", is_flag=True, help="Install again even when it is there.")
@click.option("--quiet", "-q", is_flag=True, help="Print errors only.")
def install(profile: str | None, offline: bool, mirror: str | None, force: bool, quiet: bool) -> None:
    """Install clang, HIP headers and device libraries into the cache.

    Safe to run again. Versions, hashes and suites are recorded in the SDK's sdk.json.
    """
    from hipport.sdk.install import install_sdk

    def say(line: str) -> None:
        if not quiet:
            click.echo(line)

    sdk = install_sdk(profile, say, offline=offline, mirror=mirror, force=force)
    say(f"ready: HIP {'.'.join(map(str, sdk.hip_version))} in {sdk.root}, {sdk.clang_version}")


@command.command()
@click.option("--profile", type=click.Choice(PROFILES), help="HIP version; default: the one that hipport would use.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def show(profile: str | None, as_json: bool) -> None:
    """Show the toolchain that hipport uses: where it is, its version, its packages."""
    from hipport.sdk import find_sdk
    from hipport.sdk.install import read_record

    sdk = find_sdk(profile)
    packages = read_record(sdk)
    facts: dict[str, Any] = {
        "source": sdk.source,
        "root": str(sdk.root),
        "hip_version": ".".join(map(str, sdk.hip_version)),
        "clang": str(sdk.clang),
        "clang_version": sdk.clang_version,
        "include_dirs": [str(path) for path in sdk.include_dirs],
        "device_lib_path": str(sdk.device_lib_path),
        "library_dirs": [str(path) for path in sdk.library_dirs],
        "identity": sdk.identity,
        "packages": [
            {"name": p.name, "version": p.version, "sha256": p.sha256, "suite": p.suite, "pinned": p.pinned}
            for p in packages
        ],
    }
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None)
    for name, value in facts.items():
        if name != "packages":
            table.add_row(name.replace("_", " "), "\n".join(value) if isinstance(value, list) else value)
    console = Console()
    console.print(table)
    if packages:
        listing = Table("package", "version", "suite", "sha256", box=None, title="packages", title_justify="left")
        for p in packages:
            listing.add_row(p.name, p.version + ("" if p.pinned else " (moved)"), p.suite, p.sha256[:16])
        console.print(listing)
