"""Cooperative groups that AMD hardware has nothing for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.rewrite.change import Change, Context, Finding
from hipport.syntax import ParsedFile

_CLUSTER = "AMD GPUs of the supported targets have no thread block clusters"
_MULTI_GRID = "HIP has no barrier over the grids of several GPUs (CUDA 13 has none either)"
_GROUPS = {
    b"this_cluster": _CLUSTER,
    b"cluster_group": _CLUSTER,
    b"this_multi_grid": _MULTI_GRID,
    b"multi_grid_group": _MULTI_GRID,
}


def refused(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Report groups beyond the grid, by any name of the namespace."""
    if context.pass_number != 1 or b"cooperative_groups" not in parsed.data:
        return
    opened = bool(re.search(rb"using\s+namespace\s+(?:\w+\s*::\s*)*(?:cooperative_groups|cg)\b", parsed.data))
    for start, name in parsed.scan.identifiers:
        reason = _GROUPS.get(name)
        if reason is None or not context.shared(start):
            continue
        before = parsed.data[max(0, start - 64) : start].rstrip()
        if before.endswith(b"::") or (opened and not before.endswith((b".", b"->"))):
            yield context.report(start, f"{name.decode()}: {reason}", subject=name.decode())
