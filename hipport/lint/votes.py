"""Votes, lane masks and what counts their bits."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.lint.finding import Finding, Verdict
from hipport.lint.project import WARP_ASM
from hipport.lint.provenance import call_nodes, callee
from hipport.lint.shuffles import SHUFFLE
from hipport.lint.site import Site
from hipport.lint.values import Role, is_wide_one

_MASKS = re.compile(rb"(?:hipport::)?_*(?:ballot|activemask|match_any|match_all)(?:_sync)?\Z")
_FLAGS = re.compile(rb"(?:hipport::)?_*(?:any|all|uni|reduce_(?:add|min|max|and|or|xor))(?:_sync)?\Z")
_COUNT = re.compile(rb"__(popc|ffs|clz|popcll|ffsll|clzll|builtin_popcount|builtin_ctz|fns)\Z")
_NARROW_COUNT = (b"popc", b"ffs", b"clz", b"builtin_popcount", b"builtin_ctz", b"fns")
_UPPER_HALF = re.compile(rb">>\s*\(?[^;]*&\s*32|__lane_id\s*\(\s*\)")
_TRANSLATED = "hipport translate takes the 32 bits of this half of the wavefront"


def votes(site: Site) -> Iterator[Finding]:
    """Votes with what becomes of their result."""
    for call in site.function.walk("call_expression"):
        node = call.child_by_field_name("function")
        name = callee(site.function, call)
        if node is None or node.type == "field_expression" or SHUFFLE.match(name):
            continue
        if name.startswith(b"hipport::"):
            if _MASKS.match(name) or _FLAGS.match(name):
                yield site.finding(
                    "HP222", Verdict.SAFE, call, "hipport's votes are those of aligned halves of 32 lanes"
                )
            continue
        if not name.startswith(b"__"):
            continue
        if _FLAGS.match(name):
            yield _flag(site, call, name)
        elif _MASKS.match(name):
            yield (
                _ballot(site, call)
                if site.hip(call)
                else site.finding(
                    "HP222",
                    Verdict.LOGICAL32,
                    call,
                    "the result is the 32 lanes of a CUDA warp; a vote of 64 lanes does not fit into 32 bits",
                    _TRANSLATED,
                )
            )
        elif name == b"__syncwarp":
            yield site.finding(
                "HP229",
                Verdict.SAFE,
                call,
                "orders memory between lanes of a warp, whatever its size",
                "keep it: without a fence and a wavefront barrier the compiler may move the accesses",
            )


def _flag(site: Site, call: Node, name: bytes) -> Finding:
    if not site.hip(call):
        return site.finding(
            "HP222",
            Verdict.LOGICAL32,
            call,
            "joins the 32 lanes of a CUDA warp, which a wavefront of 64 has two of",
            _TRANSLATED.replace("32 bits", "part"),
        )
    literal = [n for n, v in site.numbers if not v.wavefront and not v.by_target]
    if literal:
        return site.finding(
            "HP222",
            Verdict.WRONG,
            call,
            "votes over the wavefront, in a function that counts lanes by 32",
            "mask the ballot with the 32 bits of this half",
            tuple(site.provenance.step(site.function, n) for n in literal),
        )
    if b"warpSize" in site.function.text:
        return site.finding("HP222", Verdict.SAFE, call, "votes over the wavefront, like the function around it")
    return site.finding(
        "HP222",
        Verdict.UNKNOWN,
        call,
        "votes over the wavefront; whether 32 lanes are meant does not show",
        "mask the ballot with the 32 bits of this half, if a CUDA warp is meant",
    )


def _ballot(site: Site, call: Node) -> Finding:
    """HIP's ballot: 64 bits on every target."""
    fix = "keep 64 bits (unsigned long long, __popcll), or take (unsigned)(ballot >> (__lane_id() & 32))"
    bare = site.function.source(call).strip(b"() ")
    child, parent = call, call.parent
    while parent is not None and not parent.type.endswith("_statement") and parent.type != "compound_statement":
        text = site.function.source(parent)
        if parent.type in ("binary_expression", "cast_expression") and _UPPER_HALF.search(text):
            return site.finding("HP222", Verdict.SAFE, call, "the 32 bits of this half of the wavefront are taken")
        if parent.type == "call_expression":
            counted = _COUNT.match(callee(site.function, parent))
            if counted and counted[1] in _NARROW_COUNT:
                return site.finding("HP222", Verdict.WRONG, call, "64 bits are counted in 32", fix)
            if counted:
                return site.finding("HP222", Verdict.SAFE, call, "64 bits are counted as 64")
            kind_text = _parameter_type(site, parent, child)
            if kind_text:
                return _stored(site, call, kind_text, fix)
        kind = None
        if parent.type == "cast_expression":
            kind = parent.child_by_field_name("type")
        elif parent.type == "init_declarator" and parent.parent is not None:
            kind = parent.parent.child_by_field_name("type")
        if kind is not None:
            return _stored(site, call, site.function.source(kind), fix)
        if parent.type == "binary_expression" and re.search(rb"(?:[!=]=|>)\s*0[uUlL]*\Z", text):
            return site.finding("HP222", Verdict.SAFE, call, "only compared with 0")
        if _operator(parent) in (b"==", b"!=") and site.function.source(child).strip(b"() ") == bare:
            return _compared(site, call, parent, child)
        child, parent = parent, parent.parent
    if parent is not None and parent.type == "return_statement":
        kind = site.function.node.child_by_field_name("type")
        if kind is not None:
            return _stored(site, call, site.function.source(kind), fix)
    if parent is not None and child.type in ("condition_clause", "call_expression") and parent.type == "if_statement":
        return site.finding("HP222", Verdict.SAFE, call, "only compared with 0")
    return site.finding("HP222", Verdict.UNKNOWN, call, "64 bits on every target; where they go does not show", fix)


def _operator(node: Node) -> bytes:
    sign = node.child_by_field_name("operator")
    return (sign.type if sign is not None else "").encode()


def _compared(site: Site, call: Node, comparison: Node, side: Node) -> Finding:
    """A vote of 64 bits compared with another number than 0."""
    other = next((n for n in comparison.named_children if n != side), side)
    text = site.function.source(other)
    if site.value(other).number == 0xFFFFFFFF or re.fullmatch(rb"~\s*0[uU]", text):
        return site.finding(
            "HP222",
            Verdict.WRONG,
            call,
            "64 bits are compared with 32 ones: not equal when all lanes of a wavefront of 64 vote",
            "use __all(p), or compare with __ballot(1)",
        )
    if _MASKS.match(text.split(b"(")[0].strip()):
        return site.finding("HP222", Verdict.SAFE, call, "compared with another vote")
    return site.finding(
        "HP222",
        Verdict.UNKNOWN,
        call,
        "64 bits on every target are compared with a number that may have 32",
        "compare with __ballot(1) or a mask of 64 bits",
    )


def _parameter_type(site: Site, call: Node, inside: Node) -> bytes:
    """Type of the parameter that an argument of a call goes to, where the project defines the function once."""
    called = site.project.by_name.get(callee(site.function, call).rsplit(b"::", 1)[-1], [])
    inner = inside.named_children if inside.type == "argument_list" else [inside]
    vote = next((n for n in inner if _MASKS.search(site.function.source(n).split(b"(")[0])), None)
    nodes = call_nodes(call)
    if len(called) != 1 or vote is None or vote not in nodes:
        return b""
    head = called[0].text.split(b"{", 1)[0]
    listed = head[head.find(b"(") + 1 : head.rfind(b")")].split(b",")
    index = nodes.index(vote)
    return bytes(re.sub(rb"\w+\s*\Z", b"", listed[index].strip())) if index < len(listed) else b""


def _stored(site: Site, call: Node, kind: bytes, fix: str) -> Finding:
    if re.search(rb"long\s+long|64|\bauto\b|size_t|unsigned\s+long|\bbool\b|mask_t", kind):
        return site.finding(
            "HP222", Verdict.SAFE, call, f"kept in {kind.decode('utf-8', 'replace')}, which holds all lanes"
        )
    if re.fullmatch(rb"(?:const\s+)?(?:unsigned(?:\s+int)?|u?int(?:32_t)?|u?short)", kind.strip()):
        return site.finding(
            "HP222", Verdict.WRONG, call, f"stored in {kind.decode()}: the upper 32 lanes are lost", fix
        )
    return site.finding("HP222", Verdict.UNKNOWN, call, "the type that holds the 64 bits does not show", fix)


def bits(site: Site) -> Iterator[Finding]:
    """Counts of the bits of lane masks, and ones shifted by a lane number."""
    for call in site.function.walk("call_expression"):
        counted = _COUNT.match(callee(site.function, call))
        arguments = call_nodes(call)
        if counted is None or not arguments:
            continue
        value = site.value(arguments[-1] if counted[1] != b"fns" else arguments[0])
        if value.role is not Role.MASK or _holds_vote(site, call):
            continue
        if value.wide and counted[1] in _NARROW_COUNT:
            yield site.finding(
                "HP223",
                Verdict.WRONG,
                call,
                "a lane mask of 64 bits is counted in 32",
                f"use __{counted[1].decode().removeprefix('builtin_')}ll",
                value.trace,
            )
        elif not value.wide and not site.hip(call):
            yield site.finding(
                "HP223", Verdict.LOGICAL32, call, "counts lanes of a 32-bit lane mask", _TRANSLATED, value.trace
            )
    yield from _shifts(site)


def _holds_vote(site: Site, call: Node) -> bool:
    return bool(re.search(rb"_*(?:ballot|activemask|match_any|match_all)(?:_sync)?\s*\(", site.function.source(call)))


def _shifts(site: Site) -> Iterator[Finding]:
    if not site.takes_part and not site.project.warp_callers(site.function):
        return
    for node in site.function.walk("binary_expression"):
        text = site.function.source(node)
        if b"<<" not in text or len(text) > 200:
            continue
        value = site.value(node)
        left = node.child_by_field_name("left")
        if left is None or site.value(left).number != 1:
            continue
        by = site.value(node.child_by_field_name("right"))
        if by.role is Role.UNKNOWN and by.highest is not None and 32 <= by.highest < 64:
            if not is_wide_one(site.function.source(left)):
                yield site.finding(
                    "HP223",
                    Verdict.WRONG,
                    node,
                    f"the number of the lane reaches {by.highest}: the shift of a 32-bit one is undefined",
                    "write 1ull << lane",
                    by.trace,
                )
            continue
        if value.role is not Role.LANE_BIT:
            continue
        if value.wide:
            yield site.finding("HP223", Verdict.SAFE, node, "64 bits hold the bit of any lane", "", value.trace)
        elif value.wavefront:
            yield site.finding(
                "HP223",
                Verdict.WRONG,
                node,
                "the lane number reaches 63 on wave64: the shift of a 32-bit one is undefined",
                "write 1ull << lane",
                value.trace,
            )
        else:
            yield site.finding(
                "HP223",
                Verdict.LOGICAL32,
                node,
                "the bit of a lane in a mask of 32 lanes",
                "nothing while a warp has 32 lanes; 1ull << lane for a warp of 64",
                value.trace,
            )


def assembly(site: Site) -> Iterator[Finding]:
    """PTX that works on the lanes of a warp."""
    if b"asm" not in site.function.text:
        return
    for node in site.function.walk("gnu_asm_expression"):
        code = node.child_by_field_name("assembly_code")
        found = WARP_ASM.search(site.function.source(code)) if code is not None else None
        if found:
            yield site.finding(
                "HP232",
                Verdict.LOGICAL32,
                node,
                f"PTX {found[0].split()[0].decode().strip(' .')} works on the 32 lanes of a CUDA warp",
                "hipport translate replaces it (docs/ptx.md)",
            )
