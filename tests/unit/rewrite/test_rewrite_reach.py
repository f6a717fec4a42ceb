"""Which text is shared is decided by the input's conditions, not by what edits make of them."""

from __future__ import annotations

import pytest

from hipport.core import FileResult, SourceFile, TranslateOptions
from hipport.rewrite import Project, translate_source
from hipport.rulebook import load_rulebook


def port(text: str, path: str = "a.h", project: Project = Project()) -> FileResult:  # noqa: B008
    return translate_source(SourceFile(path, text.encode()), load_rulebook(), TranslateOptions(), project)


@pytest.mark.parametrize("condition", ["#ifdef __CUDACC__", "#if defined(__NVCC__) || X", "#ifndef __CUDACC_RTC__"])
def test_a_gate_on_nvcc_is_no_hand_made_port(condition: str) -> None:
    result = port(f"int a;\n{condition}\nvoid f() {{ cudaNoSuchCall(); cudaFree(0); }}\n#endif\n")
    assert "__CUDACC" not in result.output.decode()
    assert [d.id for d in result.diagnostics] == ["HP900"]  # the unknown name, and no HP907


def test_later_passes_edit_behind_such_a_gate() -> None:
    text = "#ifdef __CUDACC__\n__device__ int f(int v) { return __shfl_sync(0xffffffff, __ldg(&v), 0); }\n#endif\n"
    assert "__shfl(" in port(text).output.decode()


def test_a_condition_of_the_input_still_counts() -> None:
    text = "#ifdef __CUDACC__\nint a;\n#endif\n#ifdef __HIPCC__\nvoid f() { cudaNoSuchCall(); }\n#endif\n"
    result = port(text)
    assert [(d.id, d.line) for d in result.diagnostics] == [("HP907", 4)]


def test_globs_of_rules_and_settings_see_the_folders_above() -> None:
    vendored = "#if __CUDA_ARCH__ >= 800\nvoid f() { cudaFree(0); }\n#endif\n"
    assert port(vendored, "include/cute/x.hpp").output != vendored.encode()
    inside = Project(above="csrc/cutlass")
    assert port(vendored, "include/cute/x.hpp", inside).output == vendored.encode()
    assert port(vendored, "cutlass/include/cute/x.hpp", Project(above="csrc")).output == vendored.encode()


def test_the_next_step_of_a_refusal_is_one() -> None:
    (found,) = [d for d in port("void f() { cublasUint8gemmBias(0); }\n").diagnostics if d.id == "HP700"]
    assert "hipBLAS" in found.next_step
    assert "explain" not in found.next_step


def test_utf16_says_how_to_convert() -> None:
    source = SourceFile("a.cu", "void f() { cudaFree(0); }".encode("utf-16"))
    (found,) = translate_source(source, load_rulebook(), TranslateOptions()).diagnostics
    assert "UTF-16" in found.message
    assert "iconv" in found.next_step


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int f() { return ::cudaFree(0); }", "int f() { return ::hipFree(0); }"),
        ("#define FREE ::cudaFree", "#define FREE ::hipFree"),
        ("using T = typename ::cub::BlockReduce<int, 64>::T;", "using T = typename ::hipcub::BlockReduce<int, 64>::T;"),
        ("int f() { return mine::cudaFree(0) + mine :: cudaFree(0) + mine:: cudaFree(0); }", ""),
    ],
)
def test_global_and_foreign_qualifiers(before: str, after: str) -> None:
    assert port(before + "\n").output.decode() == (after or before) + "\n"


def test_has_include_asks_for_the_header_that_is_included() -> None:
    text = '#if defined(A) && __has_include(<cuda_fp8.h>) || __has_include("mine.h")\n#include <cuda_fp8.h>\n#endif\n'
    assert port(text).output.decode() == text.replace("cuda_fp8.h", "hipport/fp8.h")


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("#define RT(x) cuda##x\n", "cuda"),
        ("#define BLAS(x) cublasS ## x\n", "cublasS"),
        ("void f() { cuda\\\nFree(0); }\n", "cudaFree"),
        ("void f() { cuda\\\r\nFree(0); }\r\n", "cudaFree"),
    ],
)
def test_names_made_by_the_preprocessor_are_reported(text: str, subject: str) -> None:
    assert ("HP916", subject) in [(d.id, d.subject) for d in port(text).diagnostics]


@pytest.mark.parametrize(
    "text",
    [
        "#define RT(x) my##x\n",
        "#define X(a) a\\\nb\n",
        "// cuda##x cuda\\\nFree\n",
        'const char* s = "cuda##x";\n',
        "#ifdef USE_ROCM\n#else\n#define RT(x) cuda##x\n#endif\n",
    ],
)
def test_near_misses_of_made_names(text: str) -> None:
    assert "HP916" not in {d.id for d in port(text).diagnostics}
