"""`hipport perf`: static loop model and occupancy of a built kernel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from hipport.perf.model import Tile


@click.command(name="perf")
@click.argument("object_file", metavar="OBJECT", type=click.Path(path_type=Path))
@click.argument("kernel", required=False)
@click.option("--tile", metavar="BM,BN,D,WAVES", help="What an iteration computes: queries, keys, head size, waves.")
@click.option("--lds", type=click.IntRange(min=0), metavar="BYTES", help="LDS of a workgroup, with its dynamic part.")
@click.option("--waves", type=click.IntRange(min=1), help="Waves of a workgroup; default: the most it may have.")
@click.option("--loop", metavar="ADDRESS", help="Look at the loop that starts there, not at the hottest.")
@click.option("--target", "-t", metavar="GFX", help="Which code object, where OBJECT embeds several.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    object_file: Path,
    kernel: str | None,
    tile: str | None,
    lds: int | None,
    waves: int | None,
    loop: str | None,
    target: str | None,
    as_json: bool,
) -> int:
    """Print occupancy of the kernels in OBJECT and a static model of the hottest loop of one of them.

    KERNEL is a part of the kernel's name (mangled or readable); default: the one with most matrix instructions.
    The model counts the loop's instructions and assumes that nothing stalls. It ranks kernels of the same kind; it
    does not predict time. It covers gfx90a, gfx942 and gfx950; for other targets only occupancy is printed.

    \b
    Exit codes: 0 printed, 2 bad usage or input.

    \b
      hipport perf build_hip/gfx942/flash_fwd.cu.hsaco --tile 128,64,64,4
    """
    import json

    from hipport.perf.analysis import analyse, analysis_json, print_text
    from hipport.sdk import find_sdk

    header = None if loop is None else _address(loop)
    analysis = analyse(object_file, find_sdk(), kernel, _tile(tile), lds, waves, header, target)
    if as_json:
        click.echo(json.dumps(analysis_json(analysis), indent=2))
    else:
        print_text(analysis)
    return 0


def _address(text: str) -> int:
    try:
        return int(text, 16)
    except ValueError as error:
        raise click.BadParameter(f"{text!r} is no hexadecimal address", param_hint="--loop") from error


def _tile(text: str | None) -> Tile | None:
    from hipport.perf.model import Tile

    if text is None:
        return None
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*){3}", text):
        raise click.BadParameter("give four numbers: queries,keys,head,waves, e.g. 128,64,64,4", param_hint="--tile")
    queries, keys, head, waves = map(int, text.split(","))
    return Tile(queries, keys, head, waves)
