"""Cooperative groups, and the number of the multiprocessor."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.lint.finding import Finding, Verdict
from hipport.lint.provenance import callee
from hipport.lint.site import Site
from hipport.lint.values import Role, step_at

_TILE = re.compile(rb"\b(\w+)\s*(?:=|\{|\()\s*[\w:]*\btiled_partition\s*<\s*([^<>;]+?)\s*>\s*\(")
_TYPED = re.compile(rb"\bthread_block_tile\s*<\s*([^<>,;]+?)\s*(?:,[^<>]*)?>\s*(?:const\s*)?[&*]?\s*(\w+)")
_COALESCED = re.compile(rb"\b(\w+)\s*=\s*[\w:]*\bcoalesced_threads\s*\(")
_MASK_METHODS = frozenset((b"ballot", b"match_any", b"match_all"))
_METHODS = frozenset((b"shfl", b"shfl_up", b"shfl_down", b"shfl_xor", b"any", b"all")) | _MASK_METHODS


def groups(site: Site) -> Iterator[Finding]:
    """Collectives of tiles and of coalesced groups."""
    text = site.function.text
    tiles = {m[1]: m[2] for m in _TILE.finditer(text)} | {m[2]: m[1] for m in _TYPED.finditer(text)}
    coalesced = {m[1] for m in _COALESCED.finditer(text)}
    if not tiles and not coalesced:
        return
    for call in site.function.walk("call_expression"):
        member = call.child_by_field_name("function")
        base = (
            member.child_by_field_name("argument") if member is not None and member.type == "field_expression" else None
        )
        name = callee(site.function, call)
        owner = site.function.source(base) if base is not None else b""
        if name not in _METHODS or owner not in (*tiles, *coalesced):
            continue
        if owner in coalesced:
            yield site.finding(
                "HP228",
                Verdict.UNKNOWN if site.hip(call) else Verdict.LOGICAL32,
                call,
                "coalesced threads are those of a wavefront of 64, of a warp of 32 on CUDA",
                "hipport translate uses hipport::cg, whose groups stay inside 32 lanes",
            )
            continue
        size = _size(site, tiles[owner])
        shown = tiles[owner].decode("utf-8", "replace")
        if size is None:
            yield site.finding(
                "HP228",
                Verdict.UNKNOWN if site.hip(call) else Verdict.LOGICAL32,
                call,
                f"the tile size {shown} is not known here; CUDA's tiles have at most 32 lanes",
                "make it a constant of at most 32",
            )
        elif size > 32:
            yield site.finding(
                "HP228",
                Verdict.UNKNOWN,
                call,
                f"a tile of {size} lanes is one wavefront on wave64 only",
                "use at most 32",
            )
        elif name in _MASK_METHODS:
            yield site.finding(
                "HP228",
                Verdict.UNKNOWN if site.hip(call) else Verdict.LOGICAL32,
                call,
                f"bits of a tile of {size}: on wave64 each tile's start at another lane and must be shifted down",
                "hipport translate uses hipport::cg, which shifts them; check the HIP version otherwise",
            )
        else:
            yield site.finding("HP228", Verdict.SAFE, call, f"a tile of {size} lanes lies inside a half of 32 lanes")


def _size(site: Site, text: bytes) -> int | None:
    if text.isdigit():
        return int(text)
    value = site.provenance.named(site.function, text)
    return value.highest if value.role is Role.NUMBER and not value.wavefront else None


_SMID = re.compile(rb"%(?:%)?smid\b|\b__smid\s*\(")


def multiprocessor(site: Site) -> Iterator[Finding]:
    """The number of the multiprocessor as an index."""
    function = site.function
    found = _SMID.search(function.text) if b"smid" in function.text else None
    if found is None or function.fragment.macro:
        return
    names = set(re.findall(rb'"=\w+"\s*\(\s*(\w+)\s*\)', function.text)) | set(
        re.findall(rb"(\w+)\s*=\s*__smid\s*\(", function.text)
    )
    index = re.compile(rb"\[[^\]]*\b(?:%s)\b" % b"|".join(re.escape(n) for n in (*names, b"__smid")))
    used = index.search(function.text)
    where = (function.parsed, function.offset(function.node), used[0]) if used else None
    call = re.compile(rb"\[[^\]]*\b%s\s*\(" % re.escape(function.name))
    for parsed in site.project.files:
        if where is None and function.name in parsed.scan.words and (at := call.search(parsed.data)):
            where = (parsed, at.start(), at[0])
    node = next(
        (n for n in function.walk("gnu_asm_expression", "call_expression") if _SMID.search(function.source(n))), None
    )
    if node is None:
        return
    if where is None:
        yield site.finding("HP227", Verdict.SAFE, node, "the number of the compute unit is not used as an index")
    else:
        yield site.finding(
            "HP227",
            Verdict.UNKNOWN,
            node,
            "numbers of compute units are sparse on AMD and exceed their count: as an index it may leave the array",
            "size by the largest number (hipport::ptx::nsmid()), or hash it",
            (step_at(*where),),
        )
