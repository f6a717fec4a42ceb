"""Properties of translation that hold for every text."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hipport.core import Edit, FileResult, SourceFile, Span, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rewrite.change import Change
from hipport.rewrite.resolve import OffsetMap, apply, resolve
from hipport.rulebook import EMPTY, load_rulebook
from hipport.syntax import ParsedFile, scan

BOOK = load_rulebook()
PROFILE = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    database=None,
)
LONG_RUN = settings(PROFILE, max_examples=int(os.environ.get("HIPPORT_FUZZ_EXAMPLES", "2000")), derandomize=False)

# Pieces that rules, tables and the scanner look at; joined at random they make right and wrong CUDA text.
PIECES = [
    "cudaMalloc(&p, 4);",
    "cudaStream_t s;",
    "#include <cuda_runtime.h>\n",
    '#include "user-cuda.h"\n',
    "__global__ void k(int* p) {",
    "}",
    "{",
    "(",
    ")",
    "<",
    ">",
    ";",
    ",",
    "k<<<1, 2, 0, s>>>(p);",
    "ns::k<int, 3><<<dim3(1), 2>>>(p);",
    "__shared__ float t[32];",
    "__launch_bounds__(256, 2)",
    "__launch_bounds__(N<1,2>::v, 2, 1)",
    "__shfl_xor_sync(0xffffffff, v, 1)",
    "__syncwarp();",
    "// cudaFree\n",
    "/* cudaFree */",
    '"cudaFree"',
    "'c'",
    'R"(cudaFree)"',
    "#ifdef USE_ROCM\n",
    "#if __CUDA_ARCH__ >= 800\n",
    "#else\n",
    "#endif\n",
    "#define M(x) \\\n  cudaFree(x)\n",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\\\n",
    "__device__ ",
    "template <typename T> ",
    "typename T::U{}",
    'asm volatile("mov.u32 %0, %%laneid;" : "=r"(x));',
    "warpSize",
    "at::cuda::getCurrentCUDAStream()",
    "c10::cuda::",
    "cub::",
    "prop.major >= 9",
    "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 99999);",
    "\ufeff",
    "é",
    "#",
    "\\",
    '"',
    "'",
    "x",
    "1'0",
    "=",
    "auto ",
    "#if defined(__CUDACC__)\n",
    "cudaDeviceProp prop;",
    "half h = __float2half(1.f);",
    "__nv_bfloat16 b;",
    "atomicAdd(p, 1);",
    "__activemask()",
]
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=25).map(lambda parts: "".join(parts).encode("utf-8")),
    st.lists(st.one_of(st.sampled_from(PIECES).map(str.encode), st.binary(max_size=6)), max_size=12).map(b"".join),
)
OPTIONS = st.builds(
    TranslateOptions,
    launch=st.sampled_from(["chevron", "macro"]),
    warp_model=st.sampled_from(["logical32", "native64", "padded"]),
    unsafe=st.booleans(),
    rename=st.booleans(),
)


def run(text: bytes, options: TranslateOptions = TranslateOptions(), *, empty: bool = False) -> FileResult:  # noqa: B008
    return translate_source(SourceFile("src/a.cu", text), EMPTY if empty else BOOK, options)


@PROFILE
@given(TEXTS)
def test_no_rules_is_identity(text: bytes) -> None:
    assert run(text, empty=True).output == text


@PROFILE
@given(TEXTS, OPTIONS)
def test_translation_is_idempotent(text: bytes, options: TranslateOptions) -> None:
    first = run(text, options)
    second = run(first.output, options)
    assert second.output == first.output, [e.edit for e in second.edits]


@PROFILE
@given(TEXTS)
def test_translation_is_a_function(text: bytes) -> None:
    assert run(text) == run(text)


@PROFILE
@given(TEXTS)
def test_comments_and_strings_are_untouched(text: bytes) -> None:
    result = run(text)
    before, after = scan(text), scan(result.output)
    if any(edit.edit.rule.startswith("HP5") for edit in result.edits):
        return  # an asm statement is rewritten with the strings in it
    for spans, found in ((before.comments, after.comments), (before.literals, after.literals)):
        kept = [result.output[span.start : span.end] for span in found]
        for span in spans:
            assert text[span.start : span.end] in kept


@PROFILE
@given(TEXTS)
def test_edits_of_a_pass_never_overlap_and_rebuild_the_output(text: bytes) -> None:
    result = run(text)
    current = text
    passes = sorted({edit.pass_number for edit in result.edits})
    for number in passes:
        edits = sorted((e.edit for e in result.edits if e.pass_number == number), key=lambda e: e.span)
        for one, two in pairwise(edits):
            assert one.span.end <= two.span.start
        current = apply(current, edits)
    assert current == result.output


@PROFILE
@given(TEXTS)
def test_diagnostics_point_into_the_input(text: bytes) -> None:
    lines = text.count(b"\n") + 1
    for diagnostic in run(text).diagnostics:
        assert 1 <= diagnostic.line <= lines
        assert diagnostic.count >= 1
        assert diagnostic.message


@PROFILE
@given(TEXTS)
def test_the_output_parses_no_worse_or_says_so(text: bytes) -> None:
    """Text that parses still does; in broken text a count that rises is reported."""
    result = run(text)
    before, after = (len(ParsedFile(SourceFile("src/a.cu", data)).errors) for data in (text, result.output))
    assert (result.parse_errors_before, result.parse_errors_after) == (before, after)
    assert after == 0 or before > 0
    assert (after > before) == any(d.id == "HP906" for d in result.diagnostics)


EDITS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 8), st.sampled_from([b"", b"a", b"bc"]), st.integers(0, 2)),
    max_size=10,
)


@PROFILE
@given(EDITS)
def test_standing_changes_never_overlap(rows: list[tuple[int, int, bytes, int]]) -> None:
    changes = [
        Change((Edit(Span(start, start + length), text, f"HP{i}", ""),), f"HP{i}", rank=rank)
        for i, (start, length, text, rank) in enumerate(rows)
    ]
    standing, conflicts = resolve(changes)
    spans = sorted(edit.span for change in standing for edit in change.edits)
    for one, two in pairwise(spans):
        assert one != two
        assert not one.overlaps(two)
    losers = {change.rule for conflict in conflicts for change in (conflict.first, conflict.second)}
    assert not losers & {change.rule for change in standing}
    if changes:
        assert standing or conflicts


@PROFILE
@given(EDITS)
def test_the_way_back_finds_untouched_bytes(rows: list[tuple[int, int, bytes, int]]) -> None:
    data = bytes(range(48, 96))
    edits: list[Edit] = []
    for start, length, text, _ in sorted(rows):
        if not edits or edits[-1].span.end < start:
            edits.append(Edit(Span(start, start + length), text, "HP998", ""))
    output = apply(data, edits)
    back = OffsetMap(edits)
    touched = {offset for e in edits for offset in range(e.span.start, e.span.end)}
    for offset, byte in enumerate(output):
        origin = back.back(offset)
        if byte in data and origin not in touched and byte not in b"abc":
            assert data[origin] == byte


@pytest.mark.fuzz
@pytest.mark.parametrize(
    ("property_test", "strategies"),
    [
        (test_no_rules_is_identity, (TEXTS,)),
        (test_translation_is_idempotent, (TEXTS, OPTIONS)),
        (test_translation_is_a_function, (TEXTS,)),
        (test_comments_and_strings_are_untouched, (TEXTS,)),
        (test_edits_of_a_pass_never_overlap_and_rebuild_the_output, (TEXTS,)),
        (test_diagnostics_point_into_the_input, (TEXTS,)),
        (test_the_output_parses_no_worse_or_says_so, (TEXTS,)),
        (test_standing_changes_never_overlap, (EDITS,)),
        (test_the_way_back_finds_untouched_bytes, (EDITS,)),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_long_run(property_test: Callable[..., None], strategies: tuple[st.SearchStrategy[Any], ...]) -> None:
    """A property with random seeds: ``HIPPORT_FUZZ_EXAMPLES=5000 pytest tests/fuzz -m fuzz`` sets how many texts."""
    inner: Callable[..., None] = property_test.hypothesis.inner_test  # type: ignore[attr-defined]
    LONG_RUN(given(*strategies)(inner))()
