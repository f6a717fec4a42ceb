"""setup.py: ``CUDAExtension`` builds HIP under a ROCm PyTorch; options meant for nvcc do not.

A file that chooses by itself for ROCm is left, unless a pack of `hipport.rewrite.transforms.sites` is made for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

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
from hipport.rewrite.change import Change, Project
from hipport.rewrite.matching import rule_changes, selected
from hipport.rewrite.nvcc_flags import PREFIXES, for_hip
from hipport.rewrite.renames import output_path
from hipport.rewrite.resolve import apply
from hipport.rulebook import Rule, Rulebook
from hipport.syntax import ParsedFile

RULE = "HP823"
KNOWS_ROCM = "HP824"
REVIEW = "HP825"
_HAND_PORTED = re.compile(
    rb"\bIS_ROCM\b|\bROCM_HOME\b|torch\.version\.hip|\bIS_HIP_EXTENSION\b|\bUSE_ROCM\b|\bIS_HIP\b"
)
_COMMA = re.compile(rb"[ \t]*,")
_LINE_END = re.compile(rb"[ \t]*\r?\n")
_FLAG_NAME = re.compile(r"nvcc|cuda_flag|cc_flag|gencode|arch_flag", re.IGNORECASE)

# Libraries to link by name, as an extension's ``libraries`` or ``-l`` names them.
_LIBRARIES = {
    "cuda": "amdhip64",
    "cudart": "amdhip64",
    "cudart_static": "amdhip64",
    "cublas": "hipblas",
    "cublasLt": "hipblaslt",
    "cufft": "hipfft",
    "curand": "hiprand",
    "cusolver": "hipsolver",
    "cusparse": "hipsparse",
    "nccl": "rccl",
    "nvrtc": "hiprtc",
}
_NVIDIA_LIBRARY = re.compile(r"cu(?:blas|da|dnn|fft|file|pti|rand|solver|sparse|tensor)|nv|npp|nccl")


def translate_setup(source: SourceFile, rulebook: Rulebook, options: TranslateOptions, project: Project) -> FileResult:
    """Translate a ``setup.py``."""
    if b"CUDAExtension" not in source.data and b"nvcc" not in source.data:
        return FileResult(source.path, source.path, FileState.COPIED, source.sha256, source.data)
    parsed = ParsedFile(source)
    if packs := selected(parsed, rulebook, options, project, only_named=True):
        return _packed(parsed, packs, rulebook, options, project)
    if _HAND_PORTED.search(source.data):
        note = _diagnostic(source, 1, 1, KNOWS_ROCM, Severity.NOTE, "chooses for ROCm by itself", "setup.py")
        return FileResult(source.path, source.path, FileState.UNCHANGED, source.sha256, source.data, (), (note,))
    try:
        tree = ast.parse(source.data)
    except (SyntaxError, ValueError, RecursionError) as error:
        failed = _diagnostic(source, 1, 1, REVIEW, Severity.WARNING, f"does not parse as Python: {error}", "setup.py")
        return FileResult(source.path, source.path, FileState.UNCHANGED, source.sha256, source.data, (), (failed,))
    lines = _line_offsets(source.data)
    edits: list[Edit] = []
    diagnostics: list[Diagnostic] = []
    seen: set[int] = set()
    for sequence in _flag_lists(tree):
        _edit_flags(source, lines, sequence, edits, diagnostics, seen)
    for name in _library_names(tree):
        _edit_library(source, lines, name, edits, diagnostics, seen)
    if options.rename:
        edits += _renamed_sources(tree, lines, options)
    if b"CUDAExtension" in source.data:
        at = source.place(source.data.index(b"CUDAExtension"))
        diagnostics.append(
            _diagnostic(
                source, at.line, at.column, REVIEW, Severity.NOTE,
                "CUDAExtension works under ROCm; its build runs torch's hipify over the sources again", "CUDAExtension",
            )
        )  # fmt: skip
    return _result(source, edits, diagnostics)


def _result(source: SourceFile, edits: list[Edit], diagnostics: list[Diagnostic]) -> FileResult:
    edits.sort(key=lambda edit: edit.span)
    applied = tuple(
        AppliedEdit(e, source.place(e.span.start).line, source.data[e.span.start : e.span.end], 1) for e in edits
    )
    state = FileState.TRANSLATED if edits else FileState.UNCHANGED
    ordered = tuple(sorted(diagnostics, key=lambda d: (d.line, d.column, d.message)))
    return FileResult(source.path, source.path, state, source.sha256, apply(source.data, edits), applied, ordered)


def _packed(
    parsed: ParsedFile, packs: list[Rule], rulebook: Rulebook, options: TranslateOptions, project: Project
) -> FileResult:
    """The file with the places replaced that rules made for it name."""
    edits: list[Edit] = []
    diagnostics: list[Diagnostic] = []
    for found in rule_changes(parsed, packs, rulebook, options, project, 1):
        if isinstance(found, Change):
            edits += found.edits
        else:
            diagnostics.append(replace(found.diagnostic, path=parsed.source.path, line=1, column=1))
    return _result(parsed.source, edits, diagnostics)


def _renamed_sources(tree: ast.AST, lines: list[int], options: TranslateOptions) -> Iterator[Edit]:
    """Names of ``.cu`` files, which ``--rename`` changes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith((".cu", ".cuh")):
            end = _offset(lines, node, end=True) - 1  # before the closing quote
            suffix = len(node.value) - node.value.rindex(".")
            new = output_path(node.value, options)
            if new != node.value:
                text = new[new.index(".", len(node.value) - suffix) :]
                yield Edit(Span(end - suffix, end), text.encode(), "HP407", f"{node.value} is renamed in the output")


def _flag_lists(tree: ast.AST) -> Iterator[list[ast.expr]]:
    """Lists of options for the device compiler: under a key "nvcc", or in a variable named like flags."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "nvcc":
                    yield from _lists_in(value)
        elif isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(_FLAG_NAME.search(ast.unparse(target)) for target in targets):
                yield from _lists_in(node.value)
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("append", "extend")
            and _FLAG_NAME.search(ast.unparse(node.func.value))
        ):
            for argument in node.args:
                yield (
                    [argument] if isinstance(argument, ast.Constant) else [e for es in _lists_in(argument) for e in es]
                )


def _library_names(tree: ast.AST) -> Iterator[ast.Constant]:
    """Texts in lists of libraries and of the linker's options: keyword arguments, and variables of such a name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword):
            named = node.arg or ""
        elif isinstance(node, ast.Assign | ast.AugAssign):
            named = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
        else:
            continue
        if node.value is not None and re.search(
            r"(?:\A|_)(?:libraries|libs|extra_link_args|link_args|ldflags)\Z", named
        ):
            for elements in _lists_in(node.value):
                yield from (e for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str))


def _edit_library(
    source: SourceFile,
    lines: list[int],
    element: ast.Constant,
    edits: list[Edit],
    diagnostics: list[Diagnostic],
    seen: set[int],
) -> None:
    """Name HIP's library for one of CUDA's; report one that has no counterpart."""
    span = Span(_offset(lines, element, end=False), _offset(lines, element, end=True))
    if span.start in seen:
        return
    seen.add(span.start)
    given = str(element.value)
    library = given.removeprefix("-l")
    hip = _LIBRARIES.get(library)
    if hip is not None:
        text = f'"{given[: len(given) - len(library)]}{hip}"'
        edits.append(Edit(span, text.encode(), RULE, f"{library} is {hip} under ROCm"))
    elif _NVIDIA_LIBRARY.match(library):
        diagnostics.append(
            _diagnostic(
                source, element.lineno, element.col_offset + 1, REVIEW, Severity.WARNING,
                f"{given} is a library of CUDA with no known counterpart", given,
            )
        )  # fmt: skip


def _lists_in(value: ast.expr) -> Iterator[list[ast.expr]]:
    for node in ast.walk(value):
        if isinstance(node, ast.List | ast.Tuple):
            yield list(node.elts)


def _edit_flags(
    source: SourceFile,
    lines: list[int],
    elements: list[ast.expr],
    edits: list[Edit],
    diagnostics: list[Diagnostic],
    seen: set[int],
) -> None:
    value_of = ""
    for element in elements:
        if not isinstance(element, ast.Constant) or not isinstance(element.value, str):
            value_of = ""
            continue
        span = Span(_offset(lines, element, end=False), _offset(lines, element, end=True))
        if span.start in seen:
            continue
        seen.add(span.start)
        option = element.value
        hip = "" if value_of else for_hip(option)
        value_of = option if not value_of and option in PREFIXES else ""
        if hip is None:
            diagnostics.append(
                _diagnostic(
                    source, element.lineno, element.col_offset + 1, REVIEW, Severity.WARNING,
                    f"{option} is an option of nvcc with no known counterpart", option,
                )
            )  # fmt: skip
        elif hip == "" and len(elements) == 1 and not _in_list(source, span):
            diagnostics.append(
                _diagnostic(
                    source, element.lineno, element.col_offset + 1, REVIEW, Severity.WARNING,
                    f"{option} is an option of nvcc only: remove the call that adds it", option,
                )
            )  # fmt: skip
        elif hip == "":
            edits.append(_removal(source, span, option, edits))
        elif hip != option.strip():
            words = ", ".join(f'"{word}"' for word in hip.split())
            edits.append(Edit(span, words.encode(), RULE, f"{option} is {hip} for clang"))


def _in_list(source: SourceFile, span: Span) -> bool:
    """False for a bare argument: ``flags.append("-lineinfo")``."""
    return not source.data[: span.start].rstrip().endswith(b"(")


def _removal(source: SourceFile, span: Span, option: str, edits: list[Edit]) -> Edit:
    """Remove an element with its comma; a line of which nothing remains goes too, with its earlier removals."""
    data = source.data
    comma = _COMMA.match(data, span.end)
    end = comma.end() if comma else span.end
    line_start = data.rfind(b"\n", 0, span.start) + 1
    earlier = [e for e in edits if not e.replacement and line_start <= e.span.start and e.span.end <= span.start]
    before = bytearray(data[line_start : span.start])
    for edit in earlier:
        before[edit.span.start - line_start : edit.span.end - line_start] = b" " * (edit.span.end - edit.span.start)
    reason = f"{option} is for nvcc only"
    rest = _LINE_END.match(data, end)
    if rest and comma:
        if not before.strip():
            for edit in earlier:
                edits.remove(edit)
            return Edit(Span(line_start, rest.end()), b"", RULE, reason)
        kept = line_start + len(bytes(before).rstrip())
        return Edit(Span(max(kept, max((e.span.end for e in earlier), default=0)), end), b"", RULE, reason)
    if comma:
        end += len(data[end : end + 80]) - len(data[end : end + 80].lstrip(b" \t"))
    return Edit(Span(span.start, end), b"", RULE, reason)


def _line_offsets(data: bytes) -> list[int]:
    """Offset of each line as Python counts lines."""
    offsets = [0]
    for line in data.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    if data.startswith(b"\xef\xbb\xbf"):
        offsets[0] = 3
    return offsets


def _offset(lines: list[int], node: ast.expr, *, end: bool) -> int:
    line, column = (node.end_lineno, node.end_col_offset) if end else (node.lineno, node.col_offset)
    return lines[(line or 1) - 1] + (column or 0)


def _diagnostic(
    source: SourceFile, line: int, column: int, identity: str, severity: Severity, message: str, subject: str
) -> Diagnostic:
    return Diagnostic(identity, severity, message, source.path, line, column, subject=subject)
