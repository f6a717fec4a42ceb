"""Shuffles: does the exchange stay inside 32 lanes?"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.lint.finding import Finding, Verdict
from hipport.lint.provenance import call_nodes, callee
from hipport.lint.site import Site
from hipport.lint.values import Role, Value

SHUFFLE = re.compile(rb"(?:hipport::)?_*shfl(_up|_down|_xor)?(_sync)?\Z")
_WIDTH = "pass the width 32 as last argument (hipport translate does)"


def shuffles(site: Site) -> Iterator[Finding]:
    """Every shuffle with its verdict."""
    for call in site.function.walk("call_expression"):
        node = call.child_by_field_name("function")
        name = callee(site.function, call)
        match = SHUFFLE.match(name)
        if match is None or node is None or node.type == "field_expression":
            continue
        if name.startswith(b"hipport::"):
            yield site.finding("HP220", Verdict.SAFE, call, "hipport's shuffles work on aligned halves of 32 lanes")
            continue
        if not name.startswith(b"__"):
            continue
        synced = match[2] is not None
        arguments = call_nodes(call)
        if len(arguments) < (3 if synced else 2):
            continue
        if synced:
            yield from _mask(site, call, arguments[0])
        lane, *width = arguments[2:] if synced else arguments[1:]
        yield _judged(site, call, (match[1] or b"_idx").decode()[1:], site.value(lane), width[0] if width else None)


def _mask(site: Site, call: Node, mask: Node) -> Iterator[Finding]:
    """HIP's own ``_sync`` functions want 64 bits."""
    text = site.function.source(mask)
    if site.hip(call) and re.fullmatch(rb"\(*\s*(?:0[xX][0-9a-fA-F]{1,8}[uU]?|~0[uU]?|-1)\s*\)*", text.strip()):
        yield site.finding(
            "HP230",
            Verdict.WRONG,
            mask,
            "HIP takes masks of 64 bits only and asserts that they name exactly the active lanes of the wavefront",
            "use the maskless form with the width 32",
        )


def _judged(site: Site, call: Node, kind: str, lane: Value, width_node: Node | None) -> Finding:
    width = site.value(width_node) if width_node is not None else None
    decides_width = width is not None and (width.highest is not None or width.by_target)
    trace = width.trace if width is not None and decides_width else lane.trace

    def give(verdict: Verdict, reason: str, fix: str = "") -> Finding:
        return site.finding("HP220", verdict, call, reason, fix, trace)

    if width is not None and not width.wavefront:
        size = width.number if width.number is not None else width.highest
        if width.by_target:
            return give(Verdict.SAFE, "the width is the target's own wavefront size")
        if size is not None and size <= 32:
            return give(Verdict.SAFE, f"width {size}: the exchange stays inside groups of {size} lanes")
        if size is not None:
            return give(Verdict.UNKNOWN, f"width {size} exists on 64-lane wavefronts only", "use a width of 32 or less")
    if kind == "xor" and lane.highest is not None and lane.highest < 32 and not lane.wavefront:
        return give(
            Verdict.SAFE, f"xor with at most {lane.highest}, below 32, never leaves an aligned half of 32 lanes"
        )
    if lane.wavefront or lane.by_target:
        return give(Verdict.SAFE, "distances follow the size of the wavefront")
    if width is not None and not width.wavefront:
        if not site.hip(call):
            return give(Verdict.LOGICAL32, "the width is not known here; it is at most 32 in a CUDA program")
        return give(Verdict.UNKNOWN, "the width is not known here", "make the width a constant of at most 32")
    if not site.hip(call):
        return give(Verdict.LOGICAL32, _CUDA[kind], _WIDTH)
    if _literal_size(site):
        wrong = kind in ("idx", "up")
        return give(Verdict.WRONG if wrong else Verdict.LOGICAL32, _HIP[kind], "pass the width 32 as last argument")
    if kind == "idx" and lane.role is Role.NUMBER and lane.number in (16, 31):
        return give(Verdict.WRONG, _HIP[kind], "pass the width 32 as last argument")
    return give(
        Verdict.UNKNOWN,
        "without a width it spans the wavefront; whether 32 or all lanes are meant does not show",
        "pass a width: 32, or warpSize if the wavefront is meant",
    )


def _literal_size(site: Site) -> bool:
    """The function counts lanes by a literal 32."""
    return any(not v.wavefront and not v.by_target for _, v in site.numbers)


_CUDA = {
    "xor": "the distance is not known here; it is below 32 in a CUDA warp, and a warp of 64 would take another one",
    "up": "in a warp of 64 the lanes from 32 on read across the middle, where CUDA keeps their own value",
    "down": "in a warp of 64 the lanes below 32 read across the middle, where CUDA keeps their own value",
    "idx": "in a warp of 64 the upper 32 lanes read a lane of the lower half",
}
_HIP = {
    "xor": "the distance is not known here",
    "up": "without a width the lanes from 32 on read across the middle of the wavefront",
    "down": "without a width the lanes below 32 read across the middle; right for the leader of each 32 lanes only",
    "idx": "without a width the upper 32 lanes read a lane of the lower half",
}
