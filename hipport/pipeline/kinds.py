"""What kind of file an input is: analysed by the translator, or copied."""

from __future__ import annotations

import re
from enum import StrEnum

from hipport.core import Diagnostic, Severity


class Kind(StrEnum):
    """How a file takes part in a translation."""

    SOURCE = "source"  # C, C++ and CUDA
    PYTHON = "python"  # build scripts of extensions
    CMAKE = "cmake"
    OTHER = "other"  # copied as it is


_SOURCE = {
    ".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp", ".tcc", ".tpp",
}  # fmt: skip
# Python that builds extensions names one of these; kernels written in Python (Triton) stay as they are.
_BUILD_SCRIPT = re.compile(rb"cpp_extension|CUDAExtension|CUDA_HOME")
_DEVICE_BINARY = {".ptx": "PTX text", ".cubin": "NVIDIA machine code", ".fatbin": "NVIDIA machine code"}
_BUILD_FILE = re.compile(
    r"(?:^|/)(?:GNUm|M|m)akefile$|\.(?:mk|make|bazel|bzl|pyx|pxd|cuf|gn|gni|ninja)$|(?:^|/)(?:BUILD|WORKSPACE|meson\.build)$"
)
_CUDA_WORD = re.compile(rb"\b(?:nvcc|cudart|cuda_runtime|cuda\.h|cublas|__global__|CUDA_HOME|CUDA_PATH)\b")


def suffix_of(path: str) -> str:
    """The lower-case suffix with its dot, empty without one."""
    name = path.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    return name[dot:].lower() if dot > 0 else ""


def kind_of(path: str, data: bytes) -> Kind:
    """Decide by name; for Python by what the script mentions."""
    suffix = suffix_of(path)
    if suffix in _SOURCE:
        return Kind.SOURCE
    name = path.rsplit("/", 1)[-1]
    if name == "CMakeLists.txt" or suffix == ".cmake":
        return Kind.CMAKE
    if suffix == ".py" and (name == "setup.py" or _BUILD_SCRIPT.search(data)):
        return Kind.PYTHON
    return Kind.OTHER


def copied_with_care(path: str, data: bytes) -> tuple[Diagnostic, ...]:
    """Findings about a file that is only copied but belongs to the CUDA build: nothing passes in silence."""
    binary = _DEVICE_BINARY.get(suffix_of(path))
    if binary:
        return (
            Diagnostic(
                "HP942",
                Severity.WARNING,
                f"{binary} was copied: it cannot run on an AMD GPU",
                path=path,
                next_step="translate the CUDA source that it was made from",
            ),
        )
    if _BUILD_FILE.search(path) and (word := _CUDA_WORD.search(data)):
        line = data.count(b"\n", 0, word.start()) + 1
        return (
            Diagnostic(
                "HP943",
                Severity.WARNING,
                f"a build or binding file that mentions {word[0].decode()} was copied: this kind is not translated",
                path=path,
                line=line,
                next_step="port it by hand, and save the change with hipport edits save",
            ),
        )
    return ()
