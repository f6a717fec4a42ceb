"""Inline PTX: every asm statement becomes C++, or a compile-time error with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.core import Severity, Span
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.predicates import enclosing_function
from hipport.rewrite.transforms.ptx_context import Note, Refusal
from hipport.rewrite.transforms.ptx_lower import Lowered, lower_asm
from hipport.rewrite.transforms.ptx_macros import FunctionMacro, expanded, macro_around, uses
from hipport.rewrite.transforms.ptx_refused import refusal_of
from hipport.syntax import ParsedFile
from hipport.syntax.arguments import call_arguments
from hipport.syntax.macro_text import TextMacro, read_macro
from hipport.syntax.ptx import PtxSyntaxError
from hipport.syntax.ptx_asm import AsmStatement, AsmSyntaxError, parse_asm

_ASM = frozenset((b"asm", b"__asm__", b"__asm"))
_HEADER = "hipport/ptx.h"
_NOTES = frozenset(("HP508", "HP510"))
#: Registers and instructions of the host's x86 and Arm processors: such a statement is not PTX.
_HOST = re.compile(
    r"%%?(?:[re][abcd]x|[re](?:sp|bp|si|di|flags)|r\d+|xmm\d|ymm\d|x\d+|w\d+)\b|\b(?:cpuid|rdtsc|pause|mfence|yield|xgetbv)\b"
)
#: An instruction of AMD GPUs in front: code that was written for them stays.
_AMD = re.compile(r"\s*(?:s|v|ds|buffer|global|flat|scratch)_[a-z]\w*(?:\s|;|$)")


def inline_ptx(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Translate the asm statements of a file. See `hipport.rewrite` for the protocol."""
    macros: dict[bytes, TextMacro] | None = None
    for start, word in parsed.scan.identifiers:
        if word not in _ASM or not context.shared(start):
            continue
        if macros is None:
            macros = _string_macros(parsed)
        macro = macro_around(parsed, start)
        try:
            statement = parse_asm(parsed.data, start, macros, macro.parameters if macro else ())
        except AsmSyntaxError as error:
            if macro is not None and _depends_on(error, macro):
                yield from _expand(parsed, context, start, macro)
                continue
            if re.match(rb"\w+\s*(?:volatile|__volatile__)?\s*\(", parsed.data[start : start + 60]):
                yield _left(parsed, context, start, error)
            continue
        if _is_no_ptx(statement):
            continue
        yield from _translated(parsed, context, start, statement)


def _left(parsed: ParsedFile, context: Context, start: int, error: AsmSyntaxError) -> Finding:
    """A statement that is not understood. Its first instruction may say more than the mistake does."""
    literal = re.search(rb'\(\s*"((?:[^"\\]|\\.)*)"', parsed.data[start : start + 400])
    refused = refusal_of(literal[1].decode("utf-8", "replace")) if literal else None
    if refused is not None:
        return _report(context, start, refused.id, refused.message, refused.next_step, refused.subject)
    return _report(context, start, "HP504", f"inline assembly is left: {error.message}", "", "asm")


def _depends_on(error: AsmSyntaxError, macro: FunctionMacro) -> bool:
    """The text or a constraint comes from a parameter of the macro."""
    return "macro parameter" in error.message or any(
        f"'{name.decode('utf-8', 'replace')}'" in error.message for name in macro.parameters
    )


def _expand(parsed: ParsedFile, context: Context, start: int, macro: FunctionMacro) -> Iterator[Change | Finding]:
    """Put the macro's text in the place of its uses; when none is left, its own asm statement gives way to an error."""
    found = list(uses(parsed, macro))
    for span, arguments in found:
        if context.shared(span.start):
            text = expanded(parsed, macro, arguments, one_line=_in_directive(parsed, span.start))
            reason = f"{macro.name.decode('utf-8', 'replace')} expanded: its PTX text depends on a parameter"
            yield context.change([context.edit(span, text, reason)], includes=())
    if found:
        return
    end = parsed.data.find(b"(", start)
    found_list = call_arguments(parsed.scan, end) if end >= 0 else None
    if found_list is None:
        return
    name = macro.name.decode("utf-8", "replace")
    done = context.pass_number > 1  # its uses here were expanded before
    refusal = Refusal(
        "HP516",
        f"the PTX of macro {name} depends on its parameters"
        + (": it was expanded where this file uses it" if done else ", and this file does not use it"),
        "nothing, unless another file uses the macro: it has to be expanded there"
        if done
        else "write the uses out, or move the macro to the file that uses it",
        name,
    )
    statement = AsmStatement(Span(start, found_list[1].end), "", False, False, (), (), ())
    yield _refused(context, start, statement, refusal, Severity.NOTE if done else Severity.ERROR)


def _translated(
    parsed: ParsedFile, context: Context, start: int, statement: AsmStatement
) -> Iterator[Change | Finding]:
    try:
        lowered = lower_asm(statement, in_kernel=_in_kernel(parsed, start))
    except PtxSyntaxError as error:
        refusal = Refusal("HP504", f"inline PTX does not parse: {error.message}", "correct it or write C++", "asm")
        yield _refused(context, start, statement, refusal)
        return
    except Refusal as refusal:
        yield _refused(context, start, statement, refusal)
        return
    findings = [_note(context, start, note) for note in lowered.notes]
    text = _laid_out(parsed, start, lowered)
    yield context.change(
        [context.edit(statement.span, text.encode("utf-8", "surrogateescape"), f"PTX: {_summary(statement)}")],
        includes=lowered.includes,
        findings=findings,
    )


def _refused(
    context: Context, start: int, statement: AsmStatement, refusal: Refusal, severity: Severity = Severity.ERROR
) -> Change:
    """The statement becomes an error that the compiler prints where device code reaches it."""
    reason = f"{refusal.id}: {refusal.message}".replace("\\", "\\\\").replace('"', '\\"')
    text = f'HIPPORT_UNSUPPORTED_PTX("{reason}")'
    finding = context.report(
        start, refusal.message, id=refusal.id, severity=severity, next_step=refusal.next_step, subject=refusal.subject
    )
    edit = context.edit(statement.span, text, f"PTX without counterpart: {refusal.subject}")
    return context.change([edit], includes=[_HEADER], findings=[finding])


def _report(context: Context, start: int, id_: str, message: str, next_step: str, subject: str) -> Finding:
    return context.report(start, message, id=id_, severity=Severity.ERROR, next_step=next_step, subject=subject)


def _note(context: Context, start: int, note: Note) -> Finding:
    severity = Severity.NOTE if note.id in _NOTES else Severity.WARNING
    return context.report(
        start, note.message, id=note.id, severity=severity, next_step=note.next_step, subject=note.subject
    )


def _is_no_ptx(statement: AsmStatement) -> bool:
    return bool(_HOST.search(statement.text) or _AMD.match(statement.text))


def _summary(statement: AsmStatement) -> str:
    words = " ".join(statement.text.split())
    return words if len(words) <= 60 else words[:57] + "..."


def _laid_out(parsed: ParsedFile, start: int, lowered: Lowered) -> str:
    """One line in macro bodies and when it is short, else one statement per line."""
    line_start = parsed.data.rfind(b"\n", 0, start) + 1
    before = parsed.data[line_start:start]
    if not lowered.lines or _in_directive(parsed, start) or len(before.expandtabs(4)) + len(lowered.text) <= 120:
        return lowered.text
    indent = re.match(rb"[ \t]*", before)
    margin = indent[0].decode("ascii") if indent else ""
    ending = "\r\n" if parsed.data[line_start - 2 : line_start] == b"\r\n" else "\n"
    body = "".join(f"{margin}  {line}{ending}" for line in lowered.lines)
    return f"do {{{ending}{body}{margin}}} while (false)"


def _in_directive(parsed: ParsedFile, offset: int) -> bool:
    return any(d.span.start <= offset < d.span.end for d in parsed.scan.directives)


def _string_macros(parsed: ParsedFile) -> dict[bytes, TextMacro]:
    """Macros of the file; one that is defined twice is unknown."""
    macros: dict[bytes, TextMacro] = {}
    twice: set[bytes] = set()
    for directive in parsed.scan.directives:
        found = read_macro(parsed.text(directive.rest)) if directive.keyword == "define" else None
        if found is not None:
            if found[0] in macros:
                twice.add(found[0])
            macros[found[0]] = found[1]
    return {name: macro for name, macro in macros.items() if name not in twice}


def _in_kernel(parsed: ParsedFile, offset: int) -> bool:
    """True when the innermost function around ``offset`` is a ``__global__`` one."""
    for fragment in parsed.fragments():
        if fragment.macro:
            continue
        node: Node | None = fragment.root.descendant_for_byte_range(offset - fragment.base, offset - fragment.base)
        function = enclosing_function(node) if node is not None else None
        if function is None or function.type == "lambda_expression":
            return False
        body = function.child_by_field_name("body")
        previous = function.prev_sibling
        begin = previous.end_byte if previous is not None else 0
        head = parsed.data[begin + fragment.base : (body.start_byte if body else function.end_byte) + fragment.base]
        return b"__global__" in head
    return False


__all__ = ["inline_ptx"]
