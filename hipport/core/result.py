"""What translating one file gives; the record that every later stage reads."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hipport.core.diagnostic import Diagnostic
from hipport.core.edit import Edit


class FileState(StrEnum):
    """What happened to a file."""

    TRANSLATED = "translated"  # at least one edit
    UNCHANGED = "unchanged"  # read and analysed, nothing to change
    PASSTHROUGH = "passthrough"  # analysed and reported, copied byte for byte by policy (vendored CUTLASS)
    COPIED = "copied"  # not CUDA: copied as it is
    FAILED = "failed"  # could not be analysed (binary named .cu, unreadable): copied if possible, with a diagnostic


@dataclass(frozen=True, slots=True)
class AppliedEdit:
    """An edit as it was applied, in the coordinates of the *original* input for the reviewer.

    Attributes:
        edit: the edit; its span refers to the text of the pass that made it.
        line: 1-based line in the original input.
        before: the bytes it replaced.
        pass_number: 1-based fixpoint pass.
    """

    edit: Edit
    line: int
    before: bytes
    pass_number: int


@dataclass(frozen=True, slots=True)
class FileResult:
    """Outcome of translating one file. Pure data: same input bytes, rules and options give the same result.

    Attributes:
        path: input path relative to the tree root.
        output_path: path in the output tree (differs with ``--rename``).
        state: see `FileState`.
        input_sha256: of the input bytes.
        output: translated bytes.
        edits: in order of application.
        diagnostics: sorted by line, column, id.
        parse_errors_before: ERROR and MISSING nodes in the input's tree.
        parse_errors_after: the same for the output; never larger.
        includes: include directives as written in the output (``"flash.h"``, ``<hip/hip_runtime.h>``).
    """

    path: str
    output_path: str
    state: FileState
    input_sha256: str
    output: bytes
    edits: tuple[AppliedEdit, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    parse_errors_before: int = 0
    parse_errors_after: int = 0
    includes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TranslateOptions:
    """Everything besides bytes and rules that may influence a translation (part of the cache key).

    Attributes:
        targets: LLVM processor names the output is meant for.
        warp_model: ``logical32``, ``native64`` or ``padded``.
        file_warp_models: (glob, warp model) of files that have another; the last glob that fits counts.
        kernel_warp_models: (name, warp model) of kernels and device functions that have another.
        launch: ``chevron`` (keep ``<<<>>>``) or ``macro`` (hipLaunchKernelGGL).
        rename: rename ``.cu``/``.cuh`` outputs to ``.hip``/``.h`` and their includes with them.
        unsafe: also apply edits marked unsafe.
        rocm: (major, minor) of the HIP headers the output is written for.
        passthrough: glob patterns of files that are analysed and copied byte for byte.
    """

    targets: tuple[str, ...] = ("gfx942",)
    warp_model: str = "logical32"
    file_warp_models: tuple[tuple[str, str], ...] = ()
    kernel_warp_models: tuple[tuple[str, str], ...] = ()
    launch: str = "chevron"
    rename: bool = False
    unsafe: bool = False
    rocm: tuple[int, int] = (6, 4)
    passthrough: tuple[str, ...] = ("csrc/cutlass/**",)
