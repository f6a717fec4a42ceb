"""Kernel launches, launch bounds and the dynamic shared memory that launches ask for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.core import Edit, Severity, Span, target_named
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.predicates import runs_on_device
from hipport.syntax import Fragment, ParsedFile, compile_query, inside_error, matches
from hipport.syntax.arguments import call_arguments, has_open_comma
from hipport.syntax.constants import fold

_LAUNCH = """
(call_expression
  function: (_) @kernel
  (kernel_call_syntax) @configuration
  arguments: (argument_list) @arguments) @root
"""
_SHARED_MEMORY_ATTRIBUTE = re.compile(rb"(?:cuda|hip)FuncAttributeMaxDynamicSharedMemorySize\Z")


def launch_bounds(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """``__launch_bounds__(threads, blocks[, cluster])``: the second argument becomes wavefronts per execution unit."""
    for start, name in parsed.scan.identifiers:
        if name != b"__launch_bounds__" or not context.shared(start):
            continue
        found = call_arguments(parsed.scan, start + len(name))
        if found is None:
            continue
        arguments, whole = found
        texts = [parsed.text(argument) for argument in arguments]
        if not 1 <= len(texts) <= 3:
            yield context.report(
                start, f"__launch_bounds__ with {len(texts)} arguments is left", subject="__launch_bounds__"
            )
            continue
        edits = []
        # HIP counts the commas of a macro call: a template argument list needs parentheses around it.
        threads = b"(%s)" % texts[0] if has_open_comma(texts[0]) else texts[0]
        if threads != texts[0]:
            edits.append(context.edit(arguments[0], threads, "HIP's macro would split the argument at its comma"))
        findings: list[Finding] = []
        if len(texts) > 1 and b"waves_per_eu(" not in texts[1]:
            blocks = texts[1]
            edits.append(context.edit(arguments[1], b"hipport::waves_per_eu(%s, %s)" % (threads, blocks)))
        if len(texts) == 3:
            edits.append(
                context.edit(
                    Span(arguments[1].end, whole.end - 1), b"", "HIP has no blocks per cluster: an error there"
                )
            )
            findings.append(
                context.report(
                    arguments[2].start,
                    f"the third argument of __launch_bounds__ ({texts[2].decode('utf-8', 'replace')})"
                    " has no AMD counterpart and was dropped",
                    next_step="check that the kernel does not use thread block clusters",
                    subject="__launch_bounds__",
                )
            )
        if edits:
            includes = context.rule.include if len(texts) > 1 else ()
            yield context.change(edits, includes=includes, findings=findings)


def macro_launches(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """``kernel<<<grid, block, shared, stream>>>(...)`` becomes ``hipLaunchKernelGGL(kernel, ...)``."""
    for fragment, root, found in _launches(parsed, context):
        if inside_error(found["root"][0]):
            yield context.report(
                root.start, "a kernel launch is kept: the text around it does not parse", subject="<<<"
            )
        else:
            yield _macro_launch(parsed, context, fragment, found)


def _launches(parsed: ParsedFile, context: Context) -> Iterator[tuple[Fragment, Span, dict[str, list[Node]]]]:
    """Launches in shared text: where they are parsed, their bytes, and the captures of the query."""
    query = compile_query(_LAUNCH)
    for fragment in parsed.fragments():
        for _, found in matches(query, fragment.root):
            root = fragment.span(found["root"][0])
            inside = fragment.limits.start <= root.start and root.end <= fragment.limits.end
            if inside and context.shared(root.start):
                yield fragment, root, found


def _macro_launch(parsed: ParsedFile, context: Context, fragment: Fragment, found: dict[str, list[Node]]) -> Change:
    kernel = fragment.span(found["kernel"][0])
    configuration = fragment.span(found["configuration"][0])
    call = fragment.span(found["arguments"][0])
    edits = []
    if has_open_comma(parsed.text(kernel)):
        edits.append(context.edit(Span(kernel.start, kernel.start), "hipLaunchKernelGGL(HIP_KERNEL_NAME("))
        opening = b"), "
    else:
        edits.append(context.edit(Span(kernel.start, kernel.start), "hipLaunchKernelGGL("))
        opening = b", "
    values = [fragment.span(node) for node in found["configuration"][0].named_children if node.type != "comment"]
    edits.append(context.edit(Span(kernel.end, values[0].start), opening))
    for value in values:
        edits += _protected(parsed, context, value)
    defaults = b"".join(b", 0" for _ in range(4 - len(values)))
    arguments = [node for node in found["arguments"][0].named_children if node.type != "comment"]
    first = fragment.span(arguments[0]).start if arguments else call.end - 1
    edits.append(context.edit(Span(values[-1].end, configuration.end), defaults))
    edits.append(context.edit(Span(call.start, first), b", " if arguments else b""))
    return context.change(edits)


def _protected(parsed: ParsedFile, context: Context, value: Span) -> list[Edit]:
    text = parsed.text(value)
    if not has_open_comma(text):
        return []
    before = "(dim3" if text.startswith(b"{") else "("
    return [
        context.edit(Span(value.start, value.start), before, "a comma in a macro argument"),
        context.edit(Span(value.end, value.end), ")", "a comma in a macro argument"),
    ]


def shared_memory_limits(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Dynamic shared memory of launches and attributes against the LDS of every target."""
    seen_unknown = False
    for start, text in _requests(parsed):
        if not context.shared(start):
            continue
        n_bytes = fold(parsed, text)
        if n_bytes is None:
            if not seen_unknown:
                seen_unknown = True
                yield context.report(
                    start,
                    f"dynamic shared memory is computed at run time; LDS per workgroup: {_limits(context)}",
                    severity=Severity.NOTE,
                    subject="dynamic-shared-memory",
                )
            continue
        over = [t for t in map(target_named, context.options.targets) if n_bytes > t.lds_bytes]
        if over:
            names = ", ".join(f"{target.name} ({target.lds_bytes})" for target in over)
            yield context.report(
                start,
                f"{n_bytes} bytes of shared memory exceed the LDS of a workgroup on {names}: the launch fails",
                severity=Severity.ERROR,
                subject="dynamic-shared-memory",
            )


def _limits(context: Context) -> str:
    return ", ".join(f"{name} {target_named(name).lds_bytes}" for name in context.options.targets)


def _requests(parsed: ParsedFile) -> Iterator[tuple[int, bytes]]:
    """Place and size expression of every request for dynamic shared memory."""
    for start, name in parsed.scan.identifiers:
        if name in (b"cudaFuncSetAttribute", b"hipFuncSetAttribute"):
            found = call_arguments(parsed.scan, start + len(name))
            if found and len(found[0]) == 3 and _SHARED_MEMORY_ATTRIBUTE.match(parsed.text(found[0][1])):
                yield start, parsed.text(found[0][2])
    if b"<<<" not in parsed.data:
        return
    query = compile_query(_LAUNCH)
    for fragment in parsed.fragments():
        for _, captures in matches(query, fragment.root):
            node = captures["configuration"][0]
            values = [child for child in node.named_children if child.type != "comment"]
            if len(values) >= 3:
                span = fragment.span(values[2])
                yield span.start, parsed.text(span)


def device_launches(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Kernels launched, and work waited for, by device code: HIP has no dynamic parallelism."""
    for fragment, root, found in _launches(parsed, context):
        if runs_on_device(parsed, fragment, found["root"][0]):
            yield context.report(
                root.start,
                "a kernel is launched by device code (dynamic parallelism): HIP launches from the host only",
                severity=Severity.ERROR,
                subject="<<<",
            )
