"""Compiler messages as diagnostics. The texts are what clang 22 prints for the mistakes named beside them."""

from __future__ import annotations

import pytest

from hipport.build.messages import categorise, parse_messages, to_diagnostics
from hipport.build.sourcemap import LineMap, SourceMap
from hipport.core import Severity

PLAIN = SourceMap()


@pytest.mark.parametrize(
    ("text", "id_", "subject"),
    [
        ("'cub/cub.cuh' file not found", "HP801", "cub/cub.cuh"),
        ("use of undeclared identifier 'cudaMalloc'", "HP802", "cudaMalloc"),
        ("unknown type name 'nv_bfloat16'; did you mean 'hip_bfloat16'?", "HP802", "nv_bfloat16"),
        ("no member named 'x' in 'hipDeviceProp_t'", "HP802", "x"),
        ("no matching function for call to 'hipFuncSetAttribute'", "HP803", "hipFuncSetAttribute"),
        ("too few arguments to function call, expected 6, have 1", "HP803", ""),
        ("static assertion failed due to requirement 'sizeof(int) == 8': mask must be 64", "HP804", ""),
        ("invalid input constraint 'l' in asm", "HP805", "l"),
        ("invalid instruction", "HP805", ""),
        ("local memory (80000) exceeds limit (65536) in 'big(float*)'", "HP806", "big(float*)"),
        ("'__builtin_amdgcn_mfma_f32_32x32x8f16' needs target feature mai-insts", "HP808", ""),
        ("undefined hidden symbol: ext(int)", "HP809", "ext(int)"),
        ("expected ';' after expression", "HP800", ""),
    ],
)
def test_categories(text: str, id_: str, subject: str) -> None:
    category, found = categorise(text)
    assert (category.id, found) == (id_, subject)


def test_an_error_keeps_its_place_and_the_source_map_moves_it() -> None:
    sources = SourceMap({"a.hip": "a.cu"}, lambda path: LineMap.from_edits([(1, 0, 3)]))
    (diagnostic,) = to_diagnostics("a.hip:10:5: error: use of undeclared identifier 'foo'\n", "a.hip", sources)
    assert (diagnostic.path, diagnostic.line, diagnostic.column) == ("a.cu", 7, 5)
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.subject == "foo"
    assert diagnostic.next_step


@pytest.mark.parametrize("printed", ["./h.cuh", "csrc/../h.cuh", "././csrc/.././h.cuh"])
def test_a_header_is_found_in_the_map_however_clang_spells_its_folder(printed: str) -> None:
    """A quoted include beside a unit at the root is ``./h.cuh``, one that steps up keeps its dots."""
    sources = SourceMap({}, lambda path: LineMap.from_edits([(1, 0, 3)] if path == "h.cuh" else []))
    text = f"In file included from u.cu:1:\n{printed}:9:11: error: use of undeclared identifier 'foo'\n"
    (diagnostic,) = to_diagnostics(text, "u.cu", sources)
    assert (diagnostic.path, diagnostic.line) == ("h.cuh", 6)


def test_an_error_in_a_system_header_is_reported_where_the_tree_asked_for_it() -> None:
    text = """\
/sdk/usr/include/rocprim/x.hpp:33:9: error: static assertion failed: block size
/sdk/usr/include/rocprim/y.hpp:12:3: note: in instantiation of template class 'x<3>' requested here
csrc/a.cu:40:7: note: in instantiation of function template specialization 'y<3>' requested here
csrc/a.cu:90:1: note: in instantiation of function template specialization 'z<3>' requested here
"""
    (diagnostic,) = to_diagnostics(text, "csrc/a.cu", PLAIN)
    assert (diagnostic.path, diagnostic.line) == ("csrc/a.cu", 40)
    assert diagnostic.message.endswith("(in rocprim/x.hpp:33)")
    assert "/sdk" not in diagnostic.message


@pytest.mark.parametrize(
    "header", ["cuda_runtime.h", "cuda.h", "cuda_fp16.h", "cublas_v2.h", "cub/cub.cuh", "cuda/std/atomic", "mma.h"]
)
def test_a_header_of_cuda_means_an_untranslated_file(header: str) -> None:
    text = f"a.cu:1:10: fatal error: '{header}' file not found\n"
    (diagnostic,) = to_diagnostics(text, "a.cu", PLAIN)
    assert (diagnostic.id, diagnostic.subject) == ("HP801", header)
    assert "hipport translate" in diagnostic.next_step


@pytest.mark.parametrize(
    "header", ["cuda_helpers/x.h", "my/cuda.h", "curve.h", "hip/hip_runtime.h", "cutlass/cutlass.h"]
)
def test_another_header_is_looked_for_in_a_folder(header: str) -> None:
    (diagnostic,) = to_diagnostics(f"a.cu:1:10: fatal error: '{header}' file not found\n", "a.cu", PLAIN)
    assert (diagnostic.id, "include_dirs" in diagnostic.next_step) == ("HP801", True)


def test_the_include_chain_places_an_error_of_a_header() -> None:
    text = """\
In file included from csrc/a.cu:3:
In file included from /sdk/include/lib/one.h:8:
/sdk/include/lib/two.h:5:10: fatal error: 'three.h' file not found
"""
    (diagnostic,) = to_diagnostics(text, "csrc/a.cu", PLAIN)
    assert (diagnostic.id, diagnostic.path, diagnostic.line) == ("HP801", "csrc/a.cu", 3)


def test_an_inline_assembly_error_is_one_diagnostic() -> None:
    text = "b.cu:2:47: error: invalid instruction\n<inline asm>:1:2: note: instantiated into assembly here\n"
    (diagnostic,) = to_diagnostics(text, "b.cu", PLAIN)
    assert (diagnostic.id, diagnostic.line, diagnostic.column) == ("HP805", 2, 47)


def test_linker_errors_belong_to_the_unit_and_summaries_are_dropped() -> None:
    text = """\
lld: error: undefined hidden symbol: ext(int)
>>> referenced by a-gfx1100-1c145f.o:(k(int*))
clang++-22: error: amdgcn-link command failed with exit code 1 (use -v to see invocation)
3 errors generated when compiling for gfx942.
"""
    (diagnostic,) = to_diagnostics(text, "f.cu", PLAIN)
    assert (diagnostic.id, diagnostic.path, diagnostic.line) == ("HP809", "f.cu", 0)


def test_only_a_cut_lane_mask_of_the_project_is_a_warning() -> None:
    flag = "[-Wshorten-64-to-32]"
    text = f"""\
a.cu:5:85: warning: implicit conversion loses integer precision: 'unsigned long long' to 'unsigned int' {flag}
a.cu:6:10: warning: implicit conversion loses integer precision: 'size_t' (aka 'unsigned long') to 'int' {flag}
/sdk/include/x.h:7:1: warning: implicit conversion loses integer precision: 'unsigned long long' to 'int' {flag}
a.cu:8:10: warning: unused variable 'x' [-Wunused-variable]
a.cu:9:10: warning: implicit conversion loses integer precision: 'lane_mask' (aka 'unsigned long long') to 'int' {flag}
"""
    found = to_diagnostics(text, "a.cu", PLAIN)
    assert [(d.id, d.line, d.severity) for d in found] == [
        ("HP812", 5, Severity.WARNING),
        ("HP812", 9, Severity.WARNING),
    ]


def test_the_same_message_of_many_instantiations_is_one_diagnostic() -> None:
    line = "a.cu:5:1: error: no matching function for call to 'f'\n"
    assert len(to_diagnostics(line * 50, "a.cu", PLAIN)) == 1


def test_notes_stay_with_their_message() -> None:
    text = "a.cu:1:2: error: one\na.cu:3:4: note: first\nb.h:5:6: note: second\na.cu:7:8: warning: two [-Wx]\n"
    one, two = parse_messages(text)
    assert one.notes == (("a.cu", 3, "first"), ("b.h", 5, "second"))
    assert (two.text, two.flag, two.notes) == ("two", "-Wx", ())


def test_paths_with_spaces_and_colons_in_the_text() -> None:
    (message,) = parse_messages("dir with space/ä.cu:12:3: error: a: b: error: c\n")
    assert (message.path, message.line, message.text) == ("dir with space/ä.cu", 12, "a: b: error: c")
