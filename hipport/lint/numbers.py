"""Lane and warp numbers, and sizes that contradict each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.lint.finding import Finding, Verdict
from hipport.lint.project import Function
from hipport.lint.provenance import Provenance, call_nodes, callee
from hipport.lint.shuffles import SHUFFLE
from hipport.lint.site import Site
from hipport.lint.values import Role, Value

_VOTE = re.compile(rb"__(?:ballot|any|all|uni|activemask|match_any|match_all|reduce_\w+?)(?:_sync)?\Z")
_WHAT = {Role.LANE: "lane number", Role.WARP: "warp number", Role.WARPS: "number of warps"}


def numbers(site: Site) -> Iterator[Finding]:
    """Thread numbers divided into warps and lanes."""
    for node, value in site.numbers:
        what = _WHAT[value.role]
        beside = _cuda_votes(site) if value.wavefront else None
        if beside is not None:
            yield site.finding(
                "HP221",
                Verdict.LOGICAL32,
                node,
                f"{what} by warpSize, beside votes of the 32 lanes of a CUDA warp",
                "nothing with hipport translate, which makes both 32; otherwise let both follow the wavefront",
                (*value.trace, site.provenance.step(site.function, beside)),
            )
        elif not (value.by_target or value.wavefront or value.literal):
            yield site.finding(
                "HP221",
                Verdict.UNKNOWN,
                node,
                f"{what} by a size that is not known here",
                "make the size a constant that these files define",
                value.trace,
            )
        elif value.by_target or value.wavefront:
            yield site.finding("HP221", Verdict.SAFE, node, f"{what} by the size of the wavefront", "", value.trace)
        elif site.takes_part:
            yield site.finding(
                "HP221",
                Verdict.LOGICAL32,
                node,
                f"{what} of 32-lane warps, in a function with warp operations",
                "nothing while a warp has 32 lanes; change it together with its shuffles, masks and arrays otherwise",
                value.trace,
            )
        elif site.project.near_fragments(site.parsed):
            yield site.finding(
                "HP221",
                Verdict.LOGICAL32,
                node,
                f"{what} of 32-lane warps beside tensor-core tiles, whose instruction fixes who holds which element",
                "nothing while the tile has the layout of mma.sync; follow the layout of MFMA or WMMA otherwise",
                value.trace,
            )
        else:
            yield site.finding(
                "HP221",
                Verdict.SAFE,
                node,
                "plain arithmetic: no warp operation in this function depends on it",
                "",
                value.trace,
            )


def _cuda_votes(site: Site) -> Node | None:
    """The first vote of the function that is CUDA's own, whose result has 32 bits."""
    for call in site.function.walk("call_expression"):
        if _VOTE.match(callee(site.function, call)) and not site.hip(call):
            return call
    return None


def mixed(site: Site) -> Iterator[Finding]:
    """A literal 32-lane warp and warpSize in one function."""
    by_wavefront = [(n, v) for n, v in site.numbers if v.wavefront]
    if not by_wavefront:
        return
    literal = [site.provenance.step(site.function, n) for n, v in site.numbers if not v.wavefront and not v.by_target]
    literal += [site.provenance.step(site.function, n) for n in _literal_reductions(site.provenance, site.function)]
    for name in sorted(site.function.calls):
        for called in site.project.by_name.get(name, ())[:2]:
            if called.node != site.function.node:
                literal += [site.provenance.step(called, n) for n in _literal_reductions(site.provenance, called)]
    if literal:
        node, value = by_wavefront[0]
        yield site.finding(
            "HP218",
            Verdict.WRONG,
            node,
            "follows warpSize, 64 on wave64, beside warp operations written for 32 lanes: half of the lanes are lost",
            "use one size for all: 32 with the width 32 (hipport translate does), or warpSize everywhere",
            (*value.trace, *literal),
        )


def _literal_reductions(provenance: Provenance, function: Function) -> Iterator[Node]:
    """Shuffles over a whole warp of 32 whose distances are literal."""
    for call in function.walk("call_expression"):
        name = callee(function, call)
        match = SHUFFLE.match(name)
        arguments = call_nodes(call)
        if match is None or not name.startswith(b"__") or len(arguments) < 2:
            continue
        synced = match[2] is not None
        at = 2 if synced else 1
        if len(arguments) <= at:
            continue
        lane: Value = provenance.value(function, arguments[at])
        width = provenance.value(function, arguments[at + 1]).number if len(arguments) > at + 1 else 32
        if lane.highest is not None and 16 <= lane.highest < 32 and not lane.wavefront and width == 32:
            yield call
