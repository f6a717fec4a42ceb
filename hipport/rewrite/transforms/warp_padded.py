"""The warp model `padded`: every CUDA warp of a file's kernels gets a wavefront of its own.

It is chosen by ``--warp-model padded``, by a comment ``hipport: warp-model padded`` in the file, or because a kernel
lets warps wait for each other at different places, which two warps of one wavefront cannot do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.core import Span, target_named
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.headers import insertion_point
from hipport.rewrite.transforms.warp_divergence import Level
from hipport.rewrite.transforms.warp_hazards import Function, flag_waits, functions
from hipport.syntax import ParsedFile, compile_query, matches
from hipport.syntax.arguments import call_arguments

MARK = b"HIPPORT_PADDED"
_ASKED = re.compile(rb"hipport:\s*warp-model\s*[=:]?\s*(logical32|native64|padded)\b")
_NAMED_BARRIER = re.compile(rb'"[^"]*\b(?:bar|barrier)(?:\.cta)?\.(?:sync|arrive)(?:\.aligned)?\s+(?!0\s*;)')
_INDEX = {b"threadIdx": "hipport::thread_index()", b"blockDim": "hipport::block_dim()"}
_LAUNCH = """
(call_expression
  function: (_) @kernel
  (kernel_call_syntax) @configuration
  arguments: (argument_list) @arguments) @root
"""
_LAUNCH_CALLS = re.compile(rb"(?:cuda|hip)Launch(?:Cooperative)?Kernel\Z")
_TAKES_KERNELS = re.compile(rb"(?:cuda|hip)(?:Func|Occupancy|Launch)\w*\Z")
_OTHER_CODE = re.compile(rb"\b(?:cub|hipcub|thrust|rocprim)::")


def padded(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Pad the kernels and launches of a file."""
    if MARK not in parsed.defined:
        if context.pass_number != 1 or b"__global__" not in parsed.data:
            return
        reason = _reason(parsed, context)
        if not reason:
            return
        obstacle = _obstacle(parsed)
        if obstacle:
            yield context.report(
                0, f"one CUDA warp per wavefront is needed ({reason}), but {obstacle}", subject="warp model"
            )
            return
        at = insertion_point(parsed)
        finding = context.report(
            at,
            f"the kernels of this file run one CUDA warp per wavefront: {reason}",
            next_step="blocks have at most 512 threads on CDNA; blocks of several dimensions must be whole warps",
            subject="warp model",
        )
        end = "\r\n" if b"\r\n" in parsed.data[:4096] else "\n"
        text = (
            f"#define HIPPORT_PADDED  // every CUDA warp has a wavefront of its own{end}#include <hipport/warp.h>{end}"
        )
        # The include comes with the macro, so that the macro is seen by every header that the engine adds after it.
        yield context.change([context.edit(Span(at, at), text)], includes=(), findings=[finding])
    yield from _indices(parsed, context)
    yield from _launches(parsed, context)
    yield from _kernels(parsed, context)


def will_pad(parsed: ParsedFile, context: Context) -> bool:
    """The kernels of the file are padded, so that warps are apart."""
    if MARK in parsed.defined:
        return True
    return b"__global__" in parsed.data and bool(_reason(parsed, context)) and not _obstacle(parsed)


def _reason(parsed: ParsedFile, context: Context) -> str:
    if not any(target_named(target).wave_size == 64 for target in context.options.targets):
        return ""
    asked = {match[1] for comment in parsed.scan.comments if (match := _ASKED.search(parsed.text(comment)))}
    if b"padded" in asked:
        return "asked for in a comment"
    if asked:
        return ""  # another model is
    if context.options.warp_model == "padded":
        return "asked for"
    if b"<<<" not in parsed.data or any(include.path.startswith('"') for include in parsed.scan.includes):
        return ""
    everything = functions(parsed)
    barriers = {function.name for function in everything if _is_barrier_call(function)}
    return next((reason for function in everything if (reason := _waits(parsed, function, barriers))), "")


def _is_barrier_call(function: Function) -> bool:
    """The function is a barrier under a name of its own: it waits unconditionally."""
    return any(
        _is_barrier(function.parsed.node_text(function.fragment, node))
        and not any(True for _ in function.divergence.branches(node, function.node))
        for node in function.walk("call_expression", "gnu_asm_expression")
    )


def _waits(parsed: ParsedFile, function: Function, named: set[bytes]) -> str:
    """Why two warps of one wavefront would wait for each other in this function, empty when they would not."""
    if b"__global__" not in function.text and b"__device__" not in function.text and not function.annotated:
        return ""
    barriers = [
        node
        for node in function.walk("call_expression", "gnu_asm_expression")
        if _is_barrier(text := parsed.node_text(function.fragment, node))
        or text.split(b"(")[0].rsplit(b"::", 1)[-1].split(b"<")[0].strip() in named
    ]
    for node in barriers:
        levels = {level for level, _ in function.divergence.branches(node, function.node)}
        if Level.WARP in levels and Level.LANE not in levels:
            line = parsed.source.place(function.offset(node)).line
            return f"warps take different ways to a barrier (line {line})"
    for loop, name in flag_waits(function):
        line = parsed.source.place(function.offset(loop)).line
        return f"a thread waits for '{name}', which another warp sets (line {line})"
    return ""


def _is_barrier(text: bytes) -> bool:
    return bool(re.match(rb"__syncthreads(?:_count|_and|_or)?\s*\(", text) or _NAMED_BARRIER.search(text))


def _obstacle(parsed: ParsedFile) -> str:
    if _OTHER_CODE.search(parsed.data):
        return "it uses library code that counts threads itself"
    kernels = _own_kernels(parsed)
    for start, name in parsed.scan.identifiers:
        if name in kernels and _handed_on(parsed, start + len(name)):
            return f"the kernel '{name.decode()}' is handed on, so that its launches are not seen"
    return ""


def _handed_on(parsed: ParsedFile, end: int) -> bool:
    """A kernel's name that ends there is neither declared, nor launched, nor given to a function of the runtime."""
    data = parsed.data
    if data[end : end + 1] == b"<" and data[end : end + 3] != b"<<<":
        depth, limit = 0, min(len(data), end + 400)
        while end < limit:
            depth += (data[end : end + 1] == b"<") - (data[end : end + 1] == b">")
            end += 1
            if depth == 0:
                break
    if re.match(rb"\s*(?:<<<|\(|\)\s*<<<)", data[end : end + 80]):
        return False
    depth = 0
    for at in range(end - 1, max(0, end - 400), -1):
        byte = data[at : at + 1]
        if byte in b";{}":
            return True
        depth += (byte == b")") - (byte == b"(")
        if depth < 0:
            caller = re.search(rb"(\w+)\s*\Z", data[max(0, at - 80) : at])
            return caller is None or not _TAKES_KERNELS.match(caller[1])
    return True


def _own_kernels(parsed: ParsedFile) -> frozenset[bytes]:
    """Kernels that the file defines."""
    found = set()
    for function in functions(parsed):
        body = function.node.child_by_field_name("body")
        if body is not None and _is_kernel(parsed, function, body):
            found.add(function.name)
    return frozenset(found)


def _indices(parsed: ParsedFile, context: Context) -> Iterator[Change]:
    for start, name in parsed.scan.identifiers:
        new = _INDEX.get(name)
        if new is not None and context.shared(start) and not parsed.data[:start].rstrip().endswith((b"::", b".")):
            yield context.change([context.edit(Span(start, start + len(name)), new)])
        elif name == b"__launch_bounds__" and context.shared(start):
            found = call_arguments(parsed.scan, start + len(name))
            if found and found[0] and b"padded_threads" not in parsed.text(found[0][0]):
                first = found[0][0]
                text = b"hipport::padded_threads(" + parsed.text(first) + b")"
                yield context.change([context.edit(first, text)])
        elif _LAUNCH_CALLS.match(name) and context.shared(start):
            found = call_arguments(parsed.scan, start + len(name))
            if found and len(found[0]) > 2 and any(k in parsed.text(found[0][0]) for k in _own_kernels(parsed)):
                yield from _wrapped(parsed, context, found[0][2])


def _launches(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Blocks of launches of the file's own kernels; a kernel without a launch is launched elsewhere."""
    kernels = _own_kernels(parsed)
    launched = {name for name, _ in _launch_sites(parsed)}
    for name, span in _launch_sites(parsed):
        if name in kernels and context.shared(span.start):
            yield from _wrapped(parsed, context, span)
    if context.pass_number == 1:
        for name in sorted(kernels - launched):
            if not re.search(rb"LaunchKernel\w*\s*\([^;]*\b" + name + rb"\b", parsed.data):
                yield context.report(
                    parsed.data.index(name),
                    f"'{name.decode()}' is padded but not launched in this file",
                    next_step=f"launch it with hipport::padded_block(block) wherever '{name.decode()}' is launched",
                    subject="warp model",
                )


def _launch_sites(parsed: ParsedFile) -> Iterator[tuple[bytes, Span]]:
    """Name of what is launched, empty when it is an expression, and the span of the block size."""
    query = compile_query(_LAUNCH)
    for fragment in parsed.fragments():
        for _, found in matches(query, fragment.root):
            configuration = found["configuration"][0]
            values = [child for child in configuration.named_children if child.type != "comment"]
            if (
                not configuration.has_error
                and len(values) > 1
                and fragment.limits.start <= fragment.span(values[1]).start
            ):
                text = parsed.node_text(fragment, found["kernel"][0])
                name = re.match(rb"(?:\w+\s*::\s*)*(\w+)\s*(?:<.*)?\Z", text, re.DOTALL)
                yield name[1] if name else b"", fragment.span(values[1])


def _wrapped(parsed: ParsedFile, context: Context, block: Span) -> Iterator[Change]:
    text = parsed.text(block)
    if not text.startswith(b"hipport::padded_block("):
        yield context.change([context.edit(block, b"hipport::padded_block(" + text + b")")])


def _kernels(parsed: ParsedFile, context: Context) -> Iterator[Change]:
    for function in functions(parsed):
        body = function.node.child_by_field_name("body")
        if body is None or not _is_kernel(parsed, function, body):
            continue
        at = function.offset(body) + 1
        text = parsed.node_text(function.fragment, body)
        if b"hipport::is_padding()" in text or not text.startswith(b"{") or not context.shared(at):
            continue
        indent = re.match(rb"[ \t]*\r?\n([ \t]*)", text[1:])
        lead = b"\n" + indent[1] if indent else b" "
        yield context.change([context.edit(Span(at, at), lead + b"if (hipport::is_padding()) return;")])


def _is_kernel(parsed: ParsedFile, function: Function, body: Node) -> bool:
    node = function.node
    outer = node.parent if node.parent is not None and node.parent.type == "template_declaration" else node
    previous = outer.prev_sibling
    begin = previous.end_byte if previous is not None else 0
    head = parsed.data[begin + function.fragment.base : body.start_byte + function.fragment.base]
    return b"__global__" in head
