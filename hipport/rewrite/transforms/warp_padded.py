"""The warp model `padded`: every CUDA warp of a kernel gets a wavefront of its own.

It is chosen for a file or a kernel (see `warp_models`), or for a file because a kernel lets warps wait for each other
at different places, which two warps of one wavefront cannot do. Where all kernels of a file are padded, so is
everything that the file includes; where some are, `warp_padded_part` tells which functions go with them.
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
from hipport.rewrite.transforms.warp_models import asked_for_file, chosen_model, file_model, own_model
from hipport.rewrite.transforms.warp_padded_part import part, signature_start
from hipport.syntax import ParsedFile, compile_query, matches
from hipport.syntax.arguments import call_arguments

MARK = b"HIPPORT_PADDED"
_PART = re.compile(rb"^// hipport: padded: ([\w, ]+?)\r?$", re.MULTILINE)
_NAMED_BARRIER = re.compile(rb'"[^"]*\b(?:bar|barrier)(?:\.cta)?\.(?:sync|arrive)(?:\.aligned)?\s+(?!0\s*;)')
_INDEX = {b"threadIdx": "hipport::thread_index()", b"blockDim": "hipport::block_dim()"}
_PART_INDEX = {b"threadIdx": "hipport::padded_thread_index()", b"blockDim": "hipport::padded_block_dim()"}
_LAUNCH = """
(call_expression
  function: (_) @kernel
  (kernel_call_syntax) @configuration
  arguments: (argument_list) @arguments) @root
"""
_LAUNCH_CALLS = re.compile(rb"(?:cuda|hip)Launch(?:Cooperative)?Kernel\Z")
_TAKES_KERNELS = re.compile(rb"(?:cuda|hip)(?:(?:Func|Occupancy)\w*|Launch(?:Cooperative)?Kernel)\Z")
_OTHER_CODE = re.compile(rb"\b(?:cub|hipcub|thrust|rocprim)::")


def padded(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Pad the kernels and launches of a file."""
    names = _already(parsed)
    if names is None:
        if context.pass_number != 1 or b"__global__" not in parsed.data:
            return
        reason, kernels = _chosen(parsed, context)
        if not reason:
            return
        names, obstacle = _names(parsed, context, kernels)
        if obstacle:
            yield context.report(
                0,
                f"one CUDA warp per wavefront is needed ({reason}), but {obstacle}",
                next_step="choose the model for the whole file, or take apart what the message names"
                if kernels
                else "",
                subject="warp model",
            )
            return
        at = insertion_point(parsed)
        what = (
            f"kernels run ({', '.join(sorted(k.decode() for k in kernels))})" if kernels else "kernels of this file run"
        )
        finding = context.report(
            at,
            f"the {what} one CUDA warp per wavefront: {reason}",
            next_step="blocks have at most 512 threads on CDNA; blocks of several dimensions must be whole warps",
            subject="warp model",
        )
        end = "\r\n" if b"\r\n" in parsed.data[:4096] else "\n"
        mark = "#define HIPPORT_PADDED  // every CUDA warp has a wavefront of its own"
        if kernels:
            mark = f"// hipport: padded: {', '.join(sorted(n.decode() for n in names))}"
        # The include comes with the macro, so that the macro is seen by every header that the engine adds after it.
        text = f"{mark}{end}#include <hipport/warp.h>{end}"
        yield context.change([context.edit(Span(at, at), text)], includes=(), findings=[finding])
        regions = _regions(parsed, names) if kernels else None
    else:
        regions = _regions(parsed, names) if names else None
    kernels = _own_kernels(parsed) if regions is None else _own_kernels(parsed) & names
    yield from _indices(parsed, context, kernels, regions)
    yield from _launches(parsed, context, kernels)
    yield from _kernels(parsed, context, kernels)


def will_pad(parsed: ParsedFile, context: Context) -> frozenset[bytes]:
    """Functions of the file whose warps are apart because their kernels are padded."""
    everything = frozenset(function.name for function in functions(parsed))
    names = _already(parsed)
    if names is not None:
        return names or everything
    if b"__global__" not in parsed.data:
        return frozenset()
    reason, kernels = _chosen(parsed, context)
    names, obstacle = _names(parsed, context, kernels) if reason else (frozenset(), "not chosen")
    if obstacle:
        return frozenset()
    return names if kernels else everything


def _already(parsed: ParsedFile) -> frozenset[bytes] | None:
    """What an earlier pass padded: functions, empty for all of the file; None when it padded nothing."""
    if MARK in parsed.defined:
        return frozenset()
    found = _PART.search(parsed.data)
    return frozenset(name.strip() for name in found[1].split(b",")) if found else None


def _names(parsed: ParsedFile, context: Context, kernels: frozenset[bytes]) -> tuple[frozenset[bytes], str]:
    """Functions to pad with some kernels (empty: the whole file), and why it cannot be done."""
    obstacle = _obstacle(parsed, kernels or _own_kernels(parsed))
    if obstacle or not kernels:
        return frozenset(), obstacle
    if any(chosen_model(parsed, context, function) == "native64" for function in functions(parsed)):
        return frozenset(), "other functions of the file have the model native64"
    own = [f for f in functions(parsed) if f.name in _own_kernels(parsed)]
    return part(parsed, kernels, frozenset(f.name for f in own if chosen_model(parsed, context, f) != "padded"))


def _regions(parsed: ParsedFile, names: frozenset[bytes]) -> list[Span]:
    """The text of functions."""
    found = [function for function in functions(parsed) if function.name in names]
    return [Span(signature_start(f), f.offset(f.node) + len(f.text)) for f in found]


def _chosen(parsed: ParsedFile, context: Context) -> tuple[str, frozenset[bytes]]:
    """Why kernels are padded, empty when none is, and which; none named means all of the file."""
    everybody: frozenset[bytes] = frozenset()
    if not any(target_named(target).wave_size == 64 for target in context.options.targets):
        return "", everybody
    kernels = [f for f in functions(parsed) if f.name in _own_kernels(parsed)]
    chosen = frozenset(f.name for f in kernels if chosen_model(parsed, context, f) == "padded")
    asked = asked_for_file(parsed, context)
    if chosen and all(chosen_model(parsed, context, f) == "padded" for f in kernels):
        return "asked for", everybody
    if chosen:
        return "asked for", chosen
    if asked or any(own_model(parsed, context, f) for f in kernels):
        return ("asked for" if asked == "padded" and not kernels else ""), everybody
    if file_model(parsed, context) == "padded":
        return "asked for", everybody
    if b"<<<" not in parsed.data or any(include.path.startswith('"') for include in parsed.scan.includes):
        return "", everybody
    every = functions(parsed)
    barriers = {function.name for function in every if _is_barrier_call(function)}
    return next((reason for f in every if (reason := _waits(parsed, f, barriers))), ""), everybody


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


def _obstacle(parsed: ParsedFile, kernels: frozenset[bytes]) -> str:
    if _OTHER_CODE.search(parsed.data):
        return "it uses library code that counts threads itself"
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


def _indices(
    parsed: ParsedFile, context: Context, kernels: frozenset[bytes], regions: list[Span] | None
) -> Iterator[Change]:
    for start, name in parsed.scan.identifiers:
        if _LAUNCH_CALLS.match(name) and context.shared(start):
            found = call_arguments(parsed.scan, start + len(name))
            if found and len(found[0]) > 2 and kernels.intersection(re.findall(rb"\w+", parsed.text(found[0][0]))):
                yield from _wrapped(parsed, context, found[0][2])
            continue
        if regions is not None and not any(span.start <= start < span.end for span in regions):
            continue
        new = (_INDEX if regions is None else _PART_INDEX).get(name)
        if new is not None and context.shared(start) and not parsed.data[:start].rstrip().endswith((b"::", b".")):
            yield context.change([context.edit(Span(start, start + len(name)), new)])
        elif name == b"__launch_bounds__" and context.shared(start):
            found = call_arguments(parsed.scan, start + len(name))
            if found and found[0] and b"padded_threads" not in parsed.text(found[0][0]):
                first = found[0][0]
                text = b"hipport::padded_threads(" + parsed.text(first) + b")"
                yield context.change([context.edit(first, text)])


def _launches(parsed: ParsedFile, context: Context, kernels: frozenset[bytes]) -> Iterator[Change | Finding]:
    """Blocks of launches of the file's own kernels; a kernel without a launch is launched elsewhere."""
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


def _kernels(parsed: ParsedFile, context: Context, kernels: frozenset[bytes]) -> Iterator[Change]:
    for function in functions(parsed):
        body = function.node.child_by_field_name("body")
        if body is None or function.name not in kernels or not _is_kernel(parsed, function, body):
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
