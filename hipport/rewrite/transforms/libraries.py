"""Libraries whose defaults mean something else on AMD hardware."""

from __future__ import annotations

from collections.abc import Iterator

from hipport.core import Span
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.renames import code_before
from hipport.syntax import ParsedFile

# Class template -> template parameters before LOGICAL_WARP_THREADS, with the defaults of those that have one.
_WARP_PRIMITIVES: dict[bytes, tuple[str, ...]] = {
    b"WarpReduce": ("",),
    b"WarpScan": ("",),
    b"WarpExchange": ("", ""),
    b"WarpMergeSort": ("", ""),
    b"WarpLoad": ("", "", "WARP_LOAD_DIRECT"),
    b"WarpStore": ("", "", "WARP_STORE_DIRECT"),
}
_CLOSING = {0x28: 0x29, 0x5B: 0x5D, 0x7B: 0x7D}


def cub_warp_width(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """CUB's warp primitives without a width mean 32 lanes; hipCUB's default is the hardware's wavefront."""
    opened = b"using namespace cub" in parsed.data or b"using namespace hipcub" in parsed.data
    for start, name in parsed.scan.identifiers:
        before = _WARP_PRIMITIVES.get(name)
        if before is None or name in parsed.defined or not context.shared(start):
            continue
        owner = code_before(parsed, start)
        if not (
            owner.endswith((b"cub::",)) or (opened and not owner.endswith((b"::", b".", b"->", b"struct", b"class")))
        ):
            continue
        found = _template_arguments(parsed, start + len(name))
        if found is None or found[0] > len(before):
            continue
        n_given, end = found
        missing = before[n_given:]
        if not all(missing):  # fewer than its required arguments: an alias template of the program, or no use
            continue
        qualifier = "hipcub::" if owner.endswith(b"hipcub::") else "cub::" if owner.endswith(b"cub::") else ""
        text = "".join(f", {qualifier}{default}" for default in missing) + ", 32"
        yield context.change([context.edit(Span(end, end), text)])


def _template_arguments(parsed: ParsedFile, at: int) -> tuple[int, int] | None:
    """Number of arguments of the ``<...>`` at ``at``, and the offset of its ``>``; None where there is none."""
    data, skipped = parsed.data, parsed.scan.skipped
    at = skipped.blanks(data, at)
    if data[at : at + 1] != b"<":
        return None
    closers: list[int] = [0x3E]
    count, empty = 1, True
    at += 1
    while at < len(data):
        if after := skipped.end_of(at):
            at = after
            continue
        byte = data[at]
        if byte in b";":
            return None
        if byte in _CLOSING:
            closers.append(_CLOSING[byte])
        elif byte == 0x3C and closers[-1] == 0x3E:
            closers.append(0x3E)
        elif byte == closers[-1]:
            closers.pop()
            if not closers:
                return (0 if empty else count), at
        elif byte == 0x2C and len(closers) == 1:
            count += 1
        if byte not in b" \t\r\n":
            empty = False
        at += 1
    return None
