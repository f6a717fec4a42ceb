"""Warp-level functions of CUDA in the model `logical32`: a CUDA warp is one aligned half of a 64-lane wavefront."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from hipport.core import Severity, Span
from hipport.rewrite.change import Change, Context, Finding
from hipport.syntax import ParsedFile
from hipport.syntax.arguments import call_arguments

_SHUFFLES = {
    b"__shfl_sync": "__shfl",
    b"__shfl_up_sync": "__shfl_up",
    b"__shfl_down_sync": "__shfl_down",
    b"__shfl_xor_sync": "__shfl_xor",
}
_NAMES = {
    b"__shfl_sync": "hipport::shfl_sync",
    b"__shfl_up_sync": "hipport::shfl_up_sync",
    b"__shfl_down_sync": "hipport::shfl_down_sync",
    b"__shfl_xor_sync": "hipport::shfl_xor_sync",
    b"__ballot_sync": "hipport::ballot_sync",
    b"__any_sync": "hipport::any_sync",
    b"__all_sync": "hipport::all_sync",
    b"__uni_sync": "hipport::uni_sync",
    b"__activemask": "hipport::activemask",
    b"__match_any_sync": "hipport::match_any_sync",
    b"__match_all_sync": "hipport::match_all_sync",
    b"__reduce_add_sync": "hipport::reduce_add_sync",
    b"__reduce_min_sync": "hipport::reduce_min_sync",
    b"__reduce_max_sync": "hipport::reduce_max_sync",
    b"__reduce_and_sync": "hipport::reduce_and_sync",
    b"__reduce_or_sync": "hipport::reduce_or_sync",
    b"__reduce_xor_sync": "hipport::reduce_xor_sync",
    b"__syncwarp": "hipport::syncwarp",
}
# Types that HIP's shuffles take, as a compiler spells them.
_SHUFFLED = frozenset(
    ("int", "unsigned int", "long", "unsigned long", "long long", "unsigned long long", "float", "double")
)
_LEGACY_SHUFFLES = frozenset((b"__shfl", b"__shfl_up", b"__shfl_down", b"__shfl_xor"))
_LEGACY_VOTES = {b"__ballot": "hipport::ballot", b"__any": "hipport::any", b"__all": "hipport::all"}
_OTHER = {
    b"__nanosleep": "hipport::ptx::nanosleep",
    b"__cvta_generic_to_shared": "hipport::ptx::generic_to_shared",
}
_FULL_MASK = re.compile(
    rb"\(*\s*(?:0[xX][fF]{8}[uUlL]*|~\s*0[uUlL]*|-\s*1|4294967295[uUlL]*|UINT_MAX|UINT32_MAX"
    rb"|(?:unsigned|uint32_t|unsigned int)\s*\(\s*-\s*1\s*\)|\(\s*(?:unsigned|uint32_t|unsigned int)\s*\)\s*-\s*1"
    rb"|\(\s*(?:unsigned|uint32_t|unsigned int)\s*\)\s*0[xX][fF]{8})\s*\)*\Z"
)
_WIDE_MASK = re.compile(rb"0[xX][0-9a-fA-F]{9,}")


def shuffles(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Shuffles over the full warp with a literal mask: HIP's maskless form with a width says the same."""
    for start, name in parsed.scan.identifiers:
        if name not in _SHUFFLES or not _is_cuda(parsed, context, start, name):
            continue
        arguments = _arguments(parsed, start + len(name))
        if arguments is None or len(arguments) not in (3, 4) or not is_full_mask(parsed, arguments[0]):
            continue
        if _may_be_bfloat16(parsed, arguments[1]):
            continue
        edits = [
            context.edit(Span(start, start + len(name)), _SHUFFLES[name]),
            context.edit(Span(arguments[0].start, arguments[1].start), ""),
        ]
        if len(arguments) == 3:
            edits.append(context.edit(Span(arguments[2].end, arguments[2].end), ", 32"))
        yield context.change(edits, includes=())


def collectives(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Every other warp function: the name in `hipport/warp.h`, same arguments."""
    for start, name in parsed.scan.identifiers:
        new = _NAMES.get(name)
        if new is None or not _is_cuda(parsed, context, start, name):
            continue
        arguments = _arguments(parsed, start + len(name))
        simple = name in _SHUFFLES and arguments is not None and len(arguments) in (3, 4)
        if simple and arguments and is_full_mask(parsed, arguments[0]) and not _may_be_bfloat16(parsed, arguments[1]):
            continue  # HP201
        if arguments and _WIDE_MASK.search(parsed.data[arguments[0].start : arguments[0].end]):
            continue  # HIP code already: a mask of 64 bits
        yield context.change([context.edit(Span(start, start + len(name)), new)])


def legacy(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Shuffles and votes without a mask, as CUDA had them before version 9."""
    if any(include.name.startswith("hip/") for include in parsed.scan.includes):
        return  # HIP code already: a vote over the wavefront may be meant
    for start, name in parsed.scan.identifiers:
        if name in _LEGACY_SHUFFLES and _is_cuda(parsed, context, start, name):
            arguments = _arguments(parsed, start + len(name))
            if arguments is not None and len(arguments) == 2:
                yield context.change([context.edit(Span(arguments[1].end, arguments[1].end), ", 32")], includes=())
        elif (
            name in _LEGACY_VOTES
            and _is_cuda(parsed, context, start, name)
            and _arguments(parsed, start + len(name)) is not None
        ):
            yield context.change([context.edit(Span(start, start + len(name)), _LEGACY_VOTES[name])])


def names(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """CUDA functions outside the warp set that the PTX header supplies."""
    for start, name in parsed.scan.identifiers:
        new = _OTHER.get(name)
        if new is not None and _is_cuda(parsed, context, start, name):
            yield context.change([context.edit(Span(start, start + len(name)), new)])


_OWN_WARP_SIZE = re.compile(
    rb"(?:\b(?:int|unsigned|auto|size_t|long|short|uint32_t|int32_t|T|const|constexpr)\b[\s*&]+|#\s*define\s+)warpSize\b"
)


def warp_size(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """The device constant ``warpSize`` is 32 in this model, whatever the wavefront is."""
    if declares_warp_size(parsed):
        return
    for start, name in parsed.scan.identifiers:
        if name != b"warpSize" or not _is_cuda(parsed, context, start, name):
            continue
        change = context.change([context.edit(Span(start, start + len(name)), "hipport::warp_size")])
        yield replace(change, rank=2)  # before rules that only know a place that wants a constant


PROPERTIES = frozenset(("cudaDeviceProp", "hipDeviceProp_t"))
_PROPERTIES = re.compile(rb"\b(?:cudaDeviceProp|hipDeviceProp_t)\s*(?:const\s*)?[*&]?\s*(\w+)")
_COMPARED = re.compile(rb"\s*(?:[=!]=|[<>]=?(?!<|>))")


def device_property(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """``warpSize`` of the device properties in arithmetic: sizes computed with it must fit warps of 32."""
    owners = {match[1] for match in _PROPERTIES.finditer(parsed.data)}
    for start, name in parsed.scan.identifiers:
        if name != b"warpSize" or not context.shared(start):
            continue
        owner = re.search(rb"(?<![\w.>\])])(\w+)\s*(?:\.|->)\s*\Z", parsed.data[max(0, start - 80) : start])
        if owner is None:
            continue
        known = parsed.facts.field_owner(start)
        if owner[1] not in owners if known is None else known not in PROPERTIES:
            continue
        begin, end = start - len(owner[0]), start + len(name)
        before = parsed.data[max(0, begin - 4) : begin].rstrip()
        if _COMPARED.match(parsed.data, end) or re.search(rb"[=!]=\Z|[<>]=?\Z|&\Z", before):
            continue  # a test of the device, or its address: HP410 reports those
        if re.match(rb"\s*=[^=]", parsed.data[end : end + 8]):
            continue  # written
        finding = context.report(
            begin,
            "the device's warpSize is 64 on CDNA; the kernels keep warps of 32, so sizes computed here use 32",
            severity=Severity.NOTE,
            subject="warpSize",
        )
        yield context.change([context.edit(Span(begin, end), "hipport::warp_size")], findings=[finding])


def declares_warp_size(parsed: ParsedFile) -> bool:
    """The file has a constant, parameter or macro ``warpSize`` of its own."""
    return bool(_OWN_WARP_SIZE.search(parsed.data))


def _may_be_bfloat16(parsed: ParsedFile, value: Span) -> bool:
    """HIP 6.4 has no shuffle of bfloat16: hipport/warp.h moves any type. Without facts the whole file is suspected."""
    if b"bfloat16" not in parsed.data:
        return False
    known = parsed.facts.type_at(value)
    return known is None or known.removeprefix("const ") not in _SHUFFLED


def is_full_mask(parsed: ParsedFile, argument: Span) -> bool:
    """True for a literal that names all 32 lanes."""
    return bool(_FULL_MASK.match(parsed.data[argument.start : argument.end].strip()))


def _is_cuda(parsed: ParsedFile, context: Context, start: int, name: bytes) -> bool:
    """A use of CUDA's own function: in text that both builds see, not the project's macro, not a member."""
    if not context.shared(start) or name in parsed.defined or name in context.project.macros:
        return False
    own = parsed.facts.is_own(start)
    if own is not None:
        return not own and not _qualified(parsed.data, start)
    return not _qualified(parsed.data, start) and not _declared(parsed, name)


_STATEMENT_WORDS = rb"return|else|do|case|throw|co_return|co_yield|and|or|not|xor"


def _declared(parsed: ParsedFile, name: bytes) -> bool:
    """The file declares a function of that name itself."""
    pattern = rb"\b(?!(?:" + _STATEMENT_WORDS + rb")\b)[A-Za-z_]\w*[\s*&]*\s[*&]*" + name + rb"\s*\("
    return bool(re.search(pattern, parsed.data))


def _arguments(parsed: ParsedFile, after_name: int) -> list[Span] | None:
    """Arguments of the call whose name ends at ``after_name``, trimmed; None when no list follows."""
    found = call_arguments(parsed.scan, after_name)
    return found[0] if found else None


def _qualified(data: bytes, start: int) -> bool:
    """True when the name at ``start`` is a member or belongs to a namespace (``x.name``, ``p->name``, ``n::name``)."""
    before = data[max(0, start - 64) : start].rstrip()
    if before.endswith((b".", b"->")):
        return True
    return bool(re.search(rb"[\w>]\s*::\Z", before))
