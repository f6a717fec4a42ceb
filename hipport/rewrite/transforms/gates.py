"""Preprocessor gates: device pass, compiler, compute capability and toolkit version.

On HIP none of NVIDIA's macros exist: every gate silently takes its fallback. They are replaced by macros that answer
for the translated code (hipport/arch.h), at the token level, so that gates in text that does not parse are found too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core import Severity, Span
from hipport.rewrite.change import Change, Context, Finding
from hipport.syntax import Conditional, ParsedFile, mentions_amd

_ARCH = b"__CUDA_ARCH__"
_VERSIONS = {
    b"CUDART_VERSION": b"HIPPORT_TOOLKIT_VERSION",
    b"CUDA_VERSION": b"HIPPORT_TOOLKIT_VERSION",
    b"__CUDACC_VER_MAJOR__": b"HIPPORT_TOOLKIT_MAJOR",
    b"__CUDACC_VER_MINOR__": b"HIPPORT_TOOLKIT_MINOR",
}
_COMPILERS = {b"__CUDACC__": b"__HIPCC__", b"__NVCC__": b"__HIPCC__", b"__CUDACC_RTC__": b"__HIPCC_RTC__"}
_COMPARED = re.compile(rb"\s*(?:>=|<=|==|!=|<|>)\s*(\d+)")


def compute_capability(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """``__CUDA_ARCH__`` becomes ``HIPPORT_CUDA_ARCH``, which the device pass defines as the level of the code."""
    for start, name in _free(parsed, context, frozenset((_ARCH,))):
        compared = _COMPARED.match(parsed.data, start + len(name))
        findings = []
        if compared and int(compared[1]) > 800:
            findings.append(
                context.report(
                    start,
                    f"the gate on compute capability {int(compared[1]) / 100:.1f} stays closed",
                    severity=Severity.NOTE,
                    subject="__CUDA_ARCH__",
                )
            )
        yield context.change([context.edit(Span(start, start + len(name)), b"HIPPORT_CUDA_ARCH")], findings=findings)


def toolkit_version(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """``CUDART_VERSION`` and its kind become the toolkit version that HIP's API corresponds to."""
    for start, name in _free(parsed, context, frozenset(_VERSIONS)):
        edit = context.edit(Span(start, start + len(name)), _VERSIONS[name])
        yield context.change([edit])


def compiler(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """``__CUDACC__`` and its kind become the macros of HIP compilers where the condition does not know HIP already."""
    for start, name in _free(parsed, context, frozenset(_COMPILERS)):
        if name == b"__NVCC__" and _only_pragmas(parsed, start):
            yield context.report(
                start,
                "__NVCC__ guards pragmas of that compiler only and is left",
                severity=Severity.NOTE,
                subject="__NVCC__",
            )
            continue
        yield context.change([context.edit(Span(start, start + len(name)), _COMPILERS[name])])


def _free(parsed: ParsedFile, context: Context, names: frozenset[bytes]) -> Iterator[tuple[int, bytes]]:
    """Uses of ``names`` in shared text, outside definitions of them and conditions that name AMD macros."""
    for start, name in parsed.scan.identifiers:
        if name not in names or name in parsed.defined or not context.shared(start):
            continue
        line = _directive(parsed, start)
        if line is not None and mentions_amd(parsed.text(line)):
            continue
        yield start, name


def _directive(parsed: ParsedFile, offset: int) -> Span | None:
    for directive in parsed.scan.directives:
        if directive.span.start <= offset < directive.span.end:
            return directive.span
    return None


def _only_pragmas(parsed: ParsedFile, offset: int) -> bool:
    """True when the branch that the condition at ``offset`` opens holds nothing but pragmas and comments."""
    group = _conditional(parsed, offset)
    if group is None:
        return False
    for branch in group.branches:
        if branch.condition.start <= offset < branch.condition.end:
            body = parsed.data[branch.body.start : branch.body.end]
            lines = [line.strip() for line in body.splitlines()]
            return all(not line or line.startswith((b"#pragma", b"# pragma", b"//", b"_Pragma")) for line in lines)
    return False


def _conditional(parsed: ParsedFile, offset: int) -> Conditional | None:
    for group in parsed.conditionals:
        if any(b.condition.start <= offset < b.condition.end for b in group.branches):
            return group
    return None
