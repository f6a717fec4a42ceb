"""A tiny translator with the engine's signature, so that these tests are about trees and not about rules."""

from __future__ import annotations

import re

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


class FakeEngine:
    """Renames ``cudaX`` to ``hipX``, reports ``wgmma``, remembers what it was asked; ``replacement`` is its rule."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.replacement = b"hip"

    def __call__(self, source: SourceFile, options: TranslateOptions) -> FileResult:
        self.calls.append(source.path)
        output = source.data
        edits = []
        for match in reversed(list(re.finditer(rb"\bcuda(?=[A-Z])", source.data))):
            span = Span(match.start(), match.end())
            edit = Edit(span, self.replacement, "HP199", "renamed by a table")
            edits.append(AppliedEdit(edit, source.place(span.start).line, match[0], 1))
            output = output[: span.start] + self.replacement + output[span.end :]
        found = tuple(
            Diagnostic("HP500", Severity.WARNING, "PTX", source.path, source.place(m.start()).line, subject="wgmma")
            for m in re.finditer(rb"wgmma", source.data)
        )
        path = source.path
        if options.rename:
            path = re.sub(r"\.cu$", ".hip", path)
        return FileResult(
            path=source.path,
            output_path=path,
            state=FileState.TRANSLATED if edits else FileState.UNCHANGED,
            input_sha256=source.sha256,
            output=output,
            edits=tuple(reversed(edits)),
            diagnostics=found,
            includes=tuple(m.decode() for m in re.findall(rb"#include ([<\"][^>\"]+[>\"])", output)),
        )
