"""Waiting without a barrier: fences taken for barriers, and loops that sleep until another thread has written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.core import Severity
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.transforms.warp_hazards import Function, functions, is_idle, is_one_thread
from hipport.syntax import ParsedFile

_FENCE = re.compile(rb"__threadfence(?:_block)?\s*\(\s*\)\s*;\Z")
_WAITS = re.compile(rb"__sync(?:threads|warp)\w*\s*\(|\bbar(?:rier)?\.|\.\s*sync\s*\(|\bsync\s*\(")
_STORE = re.compile(rb"(\w+)\s*\[([^\[\]]*)\]\s*[-+*|&^]?=(?!=)")
_ELEMENT = re.compile(rb"\b(\w+)\s*\[([^\[\]]*)\]")
_SHARED = re.compile(rb"\b__shared__\s+(?:\w+\s+|\w+<[^;]*?>\s*)*(\w+)\s*\[")
_SLEEPS = re.compile(rb"\b__nanosleep\b|nanosleep\.u32")
_LOADS = re.compile(rb"\*|\[|\bld\b|->|\batomic\w+\s*\(|\bload\s*\(")
_CLAIMS = re.compile(rb"\batomic(?:CAS|Exch)\w*\s*\(")


def fence_as_barrier(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Another thread's element of shared memory is read after a fence, without a barrier."""
    if context.pass_number != 1:
        return
    for function in functions(parsed):
        shared = set(_SHARED.findall(function.text))
        if not shared or b"__threadfence" not in function.text:
            continue
        for block in function.walk("compound_statement"):
            yield from _fences(parsed, context, function, block, shared)


def _fences(
    parsed: ParsedFile, context: Context, function: Function, block: Node, shared: set[bytes]
) -> Iterator[Finding]:
    stored: dict[bytes, set[bytes]] = {}  # array -> indices stored since the last barrier
    fence: Node | None = None
    for statement in block.named_children:
        text = parsed.node_text(function.fragment, statement)
        if statement.type == "comment":
            continue
        if _FENCE.match(text):
            fence = statement
        elif _WAITS.search(text):
            stored, fence = {}, None
        else:
            if fence is not None and context.shared(function.offset(fence)):
                for array, index in _ELEMENT.findall(_STORE.sub(b"", text)):
                    indices = stored.get(array, set())
                    if array in shared and indices and _bare(index) not in indices:
                        yield context.report(
                            function.offset(fence),
                            f"'{array.decode()}' is stored before this fence and another element of it read after it: "
                            "a fence orders this thread's accesses, it does not wait for other threads",
                            subject="fence",
                        )
                        return
            for array, index in _STORE.findall(text):
                stored.setdefault(array, set()).add(_bare(index))


def _bare(index: bytes) -> bytes:
    return re.sub(rb"\s", b"", index)


def sleeping_wait(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Every lane of a warp sleeps in a loop until memory changes."""
    if context.pass_number != 1:
        return
    for function in functions(parsed):
        if not _SLEEPS.search(function.text):
            continue
        for loop in function.walk("while_statement", "do_statement"):
            condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
            if condition is None or body is None or not context.shared(function.offset(loop)):
                continue
            test = parsed.node_text(function.fragment, condition)
            if not _SLEEPS.search(parsed.node_text(function.fragment, body)) or not is_idle(parsed, function, body):
                continue
            if not _LOADS.search(test) or _CLAIMS.search(test) or is_one_thread(function, loop):
                continue
            yield context.report(
                function.offset(loop),
                "lanes sleep until another thread writes: that thread must be in another wavefront, because the lanes "
                "of one (two CUDA warps on CDNA) go on together",
                severity=Severity.WARNING,
                subject="sleeping wait",
            )
