from __future__ import annotations

import pytest

from hipport.core import SourceFile
from hipport.syntax import ParsedFile, Reach


def reach_of(text: str, word: str = "here") -> Reach:
    data = text.encode()
    return ParsedFile(SourceFile("a.cu", data)).reach(data.index(word.encode()))


@pytest.mark.parametrize(
    ("condition", "inside", "in_else"),
    [
        ("ifdef USE_ROCM", Reach.AMD, Reach.CUDA),
        ("ifndef USE_ROCM", Reach.CUDA, Reach.AMD),
        ("if defined(__HIP_PLATFORM_AMD__)", Reach.AMD, Reach.CUDA),
        ("if !defined(USE_ROCM) && SOMETHING", Reach.CUDA, Reach.SHARED),
        ("if defined(__CUDACC__) || defined(__HIPCC__)", Reach.SHARED, Reach.CUDA),
        ("if defined(__CUDACC__)", Reach.SHARED, Reach.SHARED),
        ("if __CUDA_ARCH__ >= 800", Reach.SHARED, Reach.SHARED),
        ("if HIP_VERSION >= 60000000", Reach.AMD, Reach.SHARED),
        ("if defined(__HIP_DEVICE_COMPILE__)", Reach.AMD, Reach.SHARED),
        ("ifdef __GFX9__", Reach.AMD, Reach.SHARED),
        ("if USE_ROCM /* comment */", Reach.AMD, Reach.CUDA),
        ("if defined USE_ROCM && \\\n  (HIP_VERSION > 5)", Reach.AMD, Reach.SHARED),
        ("if GGML_USE_HIP", Reach.AMD, Reach.CUDA),
        ("if WHATEVER(USE_ROCM)", Reach.SHARED, Reach.SHARED),
        ("if 1 +", Reach.SHARED, Reach.SHARED),
    ],
)
def test_branches(condition: str, inside: Reach, in_else: Reach) -> None:
    assert reach_of(f"#{condition}\nhere\n#else\nthere\n#endif\n") is inside
    assert reach_of(f"#{condition}\nhere\n#else\nthere\n#endif\n", "there") is in_else


def test_elif_sees_what_came_before() -> None:
    text = "#if defined(A)\none\n#elif defined(USE_ROCM)\ntwo\n#else\nthree\n#endif\nfour\n"
    assert [reach_of(text, word) for word in ("one", "two", "three", "four")] == [
        Reach.SHARED, Reach.AMD, Reach.CUDA, Reach.SHARED,
    ]  # fmt: skip


def test_nested_in_a_foreign_branch() -> None:
    text = "#ifdef USE_ROCM\n#if X\nhere\n#endif\nafter\n#endif\n"
    assert reach_of(text) is Reach.AMD
    assert reach_of(text, "after") is Reach.AMD


def test_unbalanced_conditionals_are_survived() -> None:
    assert reach_of("#endif\n#else\nhere\n") is Reach.SHARED
    assert reach_of("#ifdef USE_ROCM\nhere\n") is Reach.AMD
