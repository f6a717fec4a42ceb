from __future__ import annotations

import pytest

from hipport.core import SourceFile
from hipport.syntax import ParsedFile, scan
from hipport.syntax.arguments import call_arguments, has_open_comma
from hipport.syntax.constants import fold


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"(a, b)", [b"a", b"b"]),
        (b" /* c */ ( a , f(b, c) )", [b"a", b"f(b, c)"]),
        (b"(T<a, b>::n, 2)", [b"T<a, b>::n", b"2"]),
        (b"(a < b, c > d)", [b"a < b", b"c > d"]),
        (b"(a<b, c)", [b"a<b", b"c"]),
        (b"(\"a, b\", '(', c)", [b'"a, b"', b"'('", b"c"]),
        (b"(a /* , */, b)", [b"a /* , */", b"b"]),
        (b"(dim3{1, 2}, x[i, j])", [b"dim3{1, 2}", b"x[i, j]"]),
        (b"(a, \\\n  b)", [b"a", b"b"]),
        (b"(p->x, q >> 1)", [b"p->x", b"q >> 1"]),
        (b"()", []),
    ],
)
def test_call_arguments(text: bytes, expected: list[bytes]) -> None:
    found = call_arguments(scan(text), 0)
    assert found is not None
    assert [text[span.start : span.end] for span in found[0]] == expected
    assert text[found[1].start : found[1].end] == text.lstrip(b" /*c")


@pytest.mark.parametrize("text", [b"(a, b", b"a", b"", b"(" * 500])
def test_no_list(text: bytes) -> None:
    assert call_arguments(scan(text), 0) is None


def test_open_comma() -> None:
    assert has_open_comma(b"k<a, b>")
    assert not has_open_comma(b"f(a, b)")


@pytest.mark.parametrize(
    ("file", "text", "value"),
    [
        ("", "96 * 1024", 98304),
        ("", "(1 << 16) + 0x10u - 010", 65536 + 16 - 8),
        ("", "256 * sizeof(float)", 1024),
        ("int bytes = 48 * 1024;", "bytes * 2", 98304),
        ("#define BYTES (96 * 1024)", "BYTES", 98304),
        ("constexpr int a = 4; constexpr int b = a * 8;", "b", 32),
        ("int n = 4; void f() { n = 5; }", "n", None),
        ("int n = 4; void f() { g(&n); }", "n", None),
        ("int n = 4; void f() { n++; }", "n", None),
        ("int n = m;", "n", None),
        ("", "n", None),
        ("", "1 / 0", None),
        ("#define A B\n#define B A", "A", None),
        ("", "sizeof(Thing)", None),
    ],
)
def test_fold(file: str, text: str, value: int | None) -> None:
    assert fold(ParsedFile(SourceFile("a.cu", file.encode())), text.encode()) == value
