"""CMake files: the CUDA language becomes HIP.

A file that knows HIP already (a ``HIP`` language, ``USE_ROCM`` or the like) was ported by hand and is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from hipport.core import (
    AppliedEdit,
    Diagnostic,
    Edit,
    FileResult,
    FileState,
    Severity,
    SourceFile,
    Span,
    TranslateOptions,
)
from hipport.rewrite.nvcc_flags import PREFIXES, for_hip
from hipport.rewrite.renames import output_path
from hipport.rewrite.resolve import apply

RULE = "HP820"
KNOWS_HIP = "HP821"
REVIEW = "HP822"

_TOKEN = re.compile(
    rb"""(\#\[(?P<eq>=*)\[(?s:.*?)\](?P=eq)\] | \#[^\n]*)         # 1 comment
       | (\[(?P<eq2>=*)\[(?s:.*?)\](?P=eq2)\])                    # 3 bracket argument
       | ("(?:[^"\\]|\\(?s:.))*")                                  # 5 quoted argument
       | ([()])                                                    # 6
       | ((?:[^\s()\#"\\]|\\(?s:.)|"(?:[^"\\]|\\(?s:.))*")+)       # 7 unquoted argument
    """,
    re.VERBOSE,
)
_HAND_PORTED = re.compile(
    rb"\bUSE_ROCM\b|\bUSE_HIP\b|\bWITH_HIP\b|\bENABLE_HIP\b|\bHIP_ARCHITECTURES\b|find_package\s*\(\s*hip\b|HIP_PLATFORM|LANGUAGE\s+HIP\b"
)
_LANGUAGE_COMMANDS = frozenset((b"project", b"enable_language", b"check_language"))
_SOURCE_COMMANDS = frozenset(
    (b"add_library", b"add_executable", b"target_sources", b"set", b"list", b"cuda_add_library", b"cuda_add_executable")
)
_VARIABLES = {
    b"CUDA_STANDARD": b"HIP_STANDARD",
    b"CUDA_STANDARD_REQUIRED": b"HIP_STANDARD_REQUIRED",
    b"CUDA_EXTENSIONS": b"HIP_EXTENSIONS",
    b"CMAKE_CUDA_STANDARD": b"CMAKE_HIP_STANDARD",
    b"CMAKE_CUDA_STANDARD_REQUIRED": b"CMAKE_HIP_STANDARD_REQUIRED",
    b"CMAKE_CUDA_EXTENSIONS": b"CMAKE_HIP_EXTENSIONS",
    b"CMAKE_CUDA_FLAGS": b"CMAKE_HIP_FLAGS",
    b"CMAKE_CUDA_FLAGS_RELEASE": b"CMAKE_HIP_FLAGS_RELEASE",
    b"CMAKE_CUDA_FLAGS_DEBUG": b"CMAKE_HIP_FLAGS_DEBUG",
    b"CMAKE_CUDA_COMPILER": b"CMAKE_HIP_COMPILER",
}
_REFERENCE = re.compile(rb"\$\{(CMAKE_CUDA_\w+)\}")
_END_OF_VALUE = frozenset((b"CACHE", b"PARENT_SCOPE", b"FORCE"))
_ARCHITECTURES = {b"CUDA_ARCHITECTURES": b"HIP_ARCHITECTURES", b"CMAKE_CUDA_ARCHITECTURES": b"CMAKE_HIP_ARCHITECTURES"}
# Imported target -> HIP's, and the package that defines it.
_TARGETS = {
    b"CUDA::cudart": (b"hip::host", b"hip"),
    b"CUDA::cudart_static": (b"hip::host", b"hip"),
    b"CUDA::cuda_driver": (b"hip::host", b"hip"),
    b"CUDA::cublas": (b"roc::hipblas", b"hipblas"),
    b"CUDA::cublasLt": (b"roc::hipblaslt", b"hipblaslt"),
    b"CUDA::curand": (b"hip::hiprand", b"hiprand"),
    b"CUDA::cufft": (b"hip::hipfft", b"hipfft"),
    b"CUDA::cusparse": (b"roc::hipsparse", b"hipsparse"),
    b"CUDA::cusolver": (b"roc::hipsolver", b"hipsolver"),
}


@dataclass(frozen=True, slots=True)
class _Command:
    name: bytes
    span: Span
    arguments: tuple[tuple[bytes, Span], ...]


def translate_cmake(source: SourceFile, options: TranslateOptions) -> FileResult:
    """Translate a ``CMakeLists.txt`` or ``*.cmake`` file."""
    commands = list(_commands(source.data))
    if not _uses_cuda(commands):
        return FileResult(source.path, source.path, FileState.UNCHANGED, source.sha256, source.data)
    if _HAND_PORTED.search(source.data) or any(
        c.name in _LANGUAGE_COMMANDS and any(a == b"HIP" for a, _ in c.arguments) for c in commands
    ):
        note = _diagnostic(source, 0, KNOWS_HIP, Severity.NOTE, "knows HIP already: left as it is", "cmake")
        return FileResult(source.path, source.path, FileState.UNCHANGED, source.sha256, source.data, (), (note,))
    edits: list[Edit] = []
    diagnostics: list[Diagnostic] = []
    for command in commands:
        edits.extend(_edits(source, command, options, diagnostics))
    edits.sort(key=lambda edit: edit.span)
    applied = tuple(
        AppliedEdit(e, source.place(e.span.start).line, source.data[e.span.start : e.span.end], 1) for e in edits
    )
    output = apply(source.data, edits)
    state = FileState.TRANSLATED if edits else FileState.UNCHANGED
    return FileResult(
        source.path,
        source.path,
        state,
        source.sha256,
        output,
        applied,
        tuple(sorted(diagnostics, key=lambda d: (d.line, d.column, d.message))),
    )


def _commands(data: bytes) -> Iterator[_Command]:
    """Top-level commands with their arguments (nested parentheses are flattened)."""
    name: tuple[bytes, int] | None = None
    depth = 0
    arguments: list[tuple[bytes, Span]] = []
    for match in _TOKEN.finditer(data):
        text = match[0]
        if match[1]:
            continue
        if text == b"(" and match[6]:
            depth += 1
        elif text == b")" and match[6]:
            depth -= 1
            if depth <= 0 and name is not None:
                yield _Command(name[0].lower(), Span(name[1], match.end()), tuple(arguments))
                name, arguments, depth = None, [], 0
        elif depth == 0:
            name = (text, match.start())
        else:
            arguments.append((text, Span(*match.span())))


def _uses_cuda(commands: list[_Command]) -> bool:
    return any(
        b"CUDA" in text or text.strip(b'"').endswith((b".cu", b".cuh")) for c in commands for text, _ in c.arguments
    ) or any(c.name.startswith(b"cuda_") for c in commands)


def _edits(
    source: SourceFile, command: _Command, options: TranslateOptions, diagnostics: list[Diagnostic]
) -> Iterator[Edit]:
    targets = ";".join(options.targets).encode()
    arguments = command.arguments
    if command.name in _LANGUAGE_COMMANDS:
        yield from (_edit(span, b"HIP", "CMake's language for AMD GPUs") for text, span in arguments if text == b"CUDA")
        return
    if command.name.startswith(b"cuda_"):
        diagnostics.append(
            _review(
                source,
                command.span.start,
                f"{command.name.decode()} is of the FindCUDA module, which HIP has not",
                command.name.decode(),
            )
        )
    if command.name == b"find_package" and arguments and arguments[0][0] in (b"CUDA", b"CUDAToolkit"):
        yield _edit(arguments[0][1], b"hip", "the package that defines hip::host and hip::device")
        if len(arguments) > 1 and re.fullmatch(rb"[\d.]+", arguments[1][0]):
            yield _edit(Span(arguments[0][1].end, arguments[1][1].end), b"", "a CUDA version says nothing about HIP")
        return
    skipped = 0
    for position, (text, span) in enumerate(arguments):
        if skipped:
            skipped -= 1
            continue
        if text in _ARCHITECTURES:
            yield _edit(span, _ARCHITECTURES[text], "architectures are named by their LLVM processor")
            values = _values_after(command, position)
            if values:
                yield _edit(Span(values[0].start, values[-1].end), b'"%s"' % targets, "the targets of this translation")
            skipped = len(values)
            continue
        if text in _VARIABLES:
            yield _edit(span, _VARIABLES[text], "the HIP language's property")
            if text.startswith(b"CMAKE_CUDA_FLAGS") and command.name in (b"set", b"list", b"string"):
                flags = list(takewhile(lambda argument: argument[0] not in _END_OF_VALUE, arguments[position + 1 :]))
                for flag, at in flags:
                    option = _hip_options(source, at.start, flag, diagnostics)
                    if option != flag:
                        yield _edit(at, option, "options of the HIP compiler")
                skipped = len(flags)
        elif text in _TARGETS:
            name, package = _TARGETS[text]
            yield _edit(span, name, f"HIP's target for {text.decode()}")
            if package != b"hip":
                diagnostics.append(
                    _review(
                        source,
                        span.start,
                        f"{name.decode()} needs find_package({package.decode()} REQUIRED)",
                        name.decode(),
                    )
                )
        elif text.startswith(b"CUDA::"):
            diagnostics.append(
                _review(
                    source,
                    span.start,
                    f"{text.decode('utf-8', 'replace')} has no known HIP target",
                    text.decode("utf-8", "replace"),
                )
            )
        elif b"COMPILE_LANGUAGE:CUDA" in text:
            rest = arguments[position + 1 :]
            while text.count(b"$<") > text.count(b">") and skipped < len(rest):  # unquoted: CMake joins its words again
                span = Span(span.start, rest[skipped][1].end)
                text, skipped = source.data[span.start : span.end], skipped + 1
            yield from _language_expression(source, text, span, diagnostics)
        elif text == b"CUDA_SEPARABLE_COMPILATION":
            diagnostics.append(
                _review(
                    source,
                    span.start,
                    "separable compilation: HIP needs -fgpu-rdc at compile and link",
                    "CUDA_SEPARABLE_COMPILATION",
                )
            )
        elif text in (b"LANGUAGE", b"LINKER_LANGUAGE") and position + 1 < len(arguments):
            value, place = arguments[position + 1]
            if value == b"CUDA":
                yield _edit(place, b"HIP", "CMake's language for AMD GPUs")
            skipped = 1
        elif text.startswith(b"-") and text.decode("utf-8", "replace") in PREFIXES | {"-Xcompiler"}:
            diagnostics.append(_review(source, span.start, f"{text.decode()} is an option of nvcc", text.decode()))
        elif (new := _references(text)) != text:
            yield _edit(span, new, "the HIP language's variable")
    yield from _sources(source, command, options)
    if command.name == b"file" and arguments and arguments[0][0].upper().startswith(b"GLOB"):
        yield from _globbed(source, command, options, diagnostics)


def _values_after(command: _Command, position: int) -> list[Span]:
    """Arguments that are a property's value: one in ``PROPERTIES`` pairs, the rest in ``set`` and ``set_property``."""
    rest = [span for text, span in command.arguments[position + 1 :] if text not in (b"CACHE", b"PARENT_SCOPE")]
    return rest[:1] if command.name == b"set_target_properties" else rest


def _language_expression(source: SourceFile, text: bytes, span: Span, diagnostics: list[Diagnostic]) -> Iterator[Edit]:
    """``$<$<COMPILE_LANGUAGE:CUDA>:options>``."""
    new = text.replace(b"COMPILE_LANGUAGE:CUDA", b"COMPILE_LANGUAGE:HIP")
    inner = re.search(rb"COMPILE_LANGUAGE:HIP>+:(.*)>", new, re.DOTALL)
    if inner:
        options = _hip_options(source, span.start, inner[1], diagnostics, in_expression=True)
        new = new[: inner.start(1)] + options + new[inner.end(1) :]
    yield _edit(span, new, "options of the HIP compiler")


def _references(text: bytes) -> bytes:
    """``text`` with references to variables that have another name now."""
    return _REFERENCE.sub(lambda match: b"${%s}" % _VARIABLES.get(match[1], match[1]), text)


def _hip_options(
    source: SourceFile, at: int, text: bytes, diagnostics: list[Diagnostic], *, in_expression: bool = False
) -> bytes:
    """The options in ``text``, quoted or not, for the HIP compiler; an unknown one stays and is reported."""
    quote = b'"' if text.startswith(b'"') else b""
    inner = _references(text[len(quote) : len(text) - len(quote)])
    words = [word for word in re.split(rb"[;\s]+", inner) if word]
    kept: list[bytes] = []
    several = False
    following = iter(words)
    for word in following:
        option = word.decode("utf-8", "surrogateescape")
        if option in PREFIXES:
            next(following, None)
            continue
        new = for_hip(option)
        if new is None:
            name = word.decode("utf-8", "replace")
            diagnostics.append(_review(source, at, f"{name} is an option of nvcc with no known counterpart", name))
            new = option
        hip = new.encode("utf-8", "surrogateescape").split()
        several = several or len(hip) > 1
        kept += hip
    if kept != words:
        blanks = inner[: len(inner) - len(inner.lstrip())], inner[len(inner.rstrip()) :] if kept else b""
        listed = b";" in inner or (in_expression and len(words) == 1)
        inner = blanks[0] + (b";" if listed else b" ").join(kept) + blanks[1]
        if several and not in_expression:
            quote = b'"'  # one option became several: still one argument
    return quote + inner + quote


def _sources(source: SourceFile, command: _Command, options: TranslateOptions) -> Iterator[Edit]:
    if command.name not in _SOURCE_COMMANDS:
        return
    files = [(text, span) for text, span in command.arguments if text.strip(b'"').endswith(b".cu")]
    if not files:
        return
    if options.rename:
        for text, span in files:
            renamed = output_path(text.decode("utf-8", "surrogateescape").strip('"'), options)
            quote = b'"' if text.startswith(b'"') else b""
            new = quote + renamed.encode("utf-8", "surrogateescape") + quote
            yield _edit(span, new, "the file is renamed in the output")
        return
    names = b" ".join(text for text, _ in files)
    yield _after(source, command, b"set_source_files_properties(%s PROPERTIES LANGUAGE HIP)" % names)


def _globbed(
    source: SourceFile, command: _Command, options: TranslateOptions, diagnostics: list[Diagnostic]
) -> Iterator[Edit]:
    patterns = [(t, s) for t, s in command.arguments[2:] if b"*" in t]
    cuda = [(t, s) for t, s in patterns if t.strip(b'"').endswith(b".cu")]
    if not cuda:
        return
    if options.rename:
        for text, span in cuda:
            yield _edit(span, text.replace(b".cu", b".hip"), "the files are renamed in the output")
    elif len(cuda) == len(patterns):
        variable = command.arguments[1][0]
        yield _after(source, command, b"set_source_files_properties(${%s} PROPERTIES LANGUAGE HIP)" % variable)
    else:
        message = "the pattern collects .cu and other files: set LANGUAGE HIP on the .cu files"
        diagnostics.append(_review(source, command.span.start, message, "file(GLOB)"))


def _after(source: SourceFile, command: _Command, line: bytes) -> Edit:
    """A new line behind a command, indented like it."""
    start = source.data.rfind(b"\n", 0, command.span.start) + 1
    indent = source.data[start : command.span.start]
    end = b"\r\n" if b"\r\n" in source.data else b"\n"
    place = Span(command.span.end, command.span.end)
    return _edit(
        place, end + (indent if not indent.strip() else b"") + line, ".cu is not a suffix of CMake's HIP language"
    )


def _edit(span: Span, text: bytes, reason: str) -> Edit:
    return Edit(span, text, RULE, reason)


def _review(source: SourceFile, offset: int, message: str, subject: str) -> Diagnostic:
    return _diagnostic(source, offset, REVIEW, Severity.WARNING, message, subject)


def _diagnostic(
    source: SourceFile, offset: int, identity: str, severity: Severity, message: str, subject: str
) -> Diagnostic:
    place = source.place(offset)
    return Diagnostic(identity, severity, message, source.path, place.line, place.column, subject=subject)
