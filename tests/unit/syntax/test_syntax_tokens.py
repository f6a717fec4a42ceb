from __future__ import annotations

import pytest

from hipport.syntax import scan


def names(text: bytes) -> list[bytes]:
    return [name for _, name in scan(text).identifiers]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a b_1 $c", [b"a", b"b_1", b"$c"]),
        (b"x // cudaMalloc\ny", [b"x", b"y"]),
        (b"x // spliced \\\n cudaMalloc\ny", [b"x", b"y"]),
        (b"x // spliced \\ \r\n cudaMalloc\r\ny", [b"x", b"y"]),
        (b"a /* b \n c */ d", [b"a", b"d"]),
        (b"a /* never closed b", [b"a"]),
        (b'f("cudaMalloc \\" still", g)', [b"f", b"g"]),
        (b"f('\"', g)", [b"f", b"g"]),
        (b'R"(a " b)" c', [b"c"]),
        (b'u8R"xy(a )" )x" b)xy" c', [b"c"]),
        (b"1'000'000 + x", [b"x"]),
        (b"0x1fu + 1e-5f + .5f + a", [b"a"]),
        (b"#error don't cudaMalloc\nx", [b"x"]),
        (b"don't cudaFree\nx", [b"don", b"t", b"cudaFree", b"x"]),  # a lone quote hides nothing
        (b'"no end\ncudaFree', [b"no", b"end", b"cudaFree"]),
        (b'PRIu64"x" y', [b"PRIu64", b"y"]),
        (b"#define A(x) cudaFree(x)\n", [b"A", b"x", b"cudaFree", b"x"]),
        (b"a\xc3\xa9b", [b"a\xc3\xa9b"]),
    ],
)
def test_identifiers(text: bytes, expected: list[bytes]) -> None:
    assert names(text) == expected


def test_offsets_are_those_of_the_text() -> None:
    text = b'/* \xe9 */ a "s" b'
    for start, name in scan(text).identifiers:
        assert text[start : start + len(name)] == name


def test_includes() -> None:
    text = b'#include <cuda.h>\n  #  include "a b.h" // c\n#include MACRO\n// #include <no.h>\n'
    found = scan(text)
    assert [include.path for include in found.includes] == ["<cuda.h>", '"a b.h"']
    assert [text[i.span.start : i.span.end] for i in found.includes] == [b"<cuda.h>", b'"a b.h"']
    assert b"MACRO" in found.words


def test_a_directive_behind_a_byte_order_mark() -> None:
    assert [include.path for include in scan(b"\xef\xbb\xbf#include <a.h>\nx").includes] == ["<a.h>"]


def test_directives_run_to_the_end_of_the_logical_line() -> None:
    text = b"#define A \\\r\n  b \\\r\n  c\r\n#if A\r\n#endif\r\n"
    found = [(d.keyword, text[d.rest.start : d.rest.end]) for d in scan(text).directives]
    assert found == [("define", b" A \\\r\n  b \\\r\n  c"), ("if", b" A"), ("endif", b"")]


def test_a_hash_on_a_spliced_line_is_no_directive() -> None:
    assert [d.keyword for d in scan(b"#define A \\\n#if B\n#undef A\n").directives] == ["define", "undef"]
