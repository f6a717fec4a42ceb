from __future__ import annotations

import pytest

from hipport.core import SourceFile
from hipport.syntax import ParsedFile, compile_query, matches


def parsed(text: str) -> ParsedFile:
    return ParsedFile(SourceFile("a.cu", text.encode()))


@pytest.mark.parametrize(
    "text",
    [
        "void f() { auto s = make(typename T::Layout{}); }",
        "void f() { auto s = make(typename T::template Layout<3, int>::type(1)); }",
        "CUTE_HOST_DEVICE constexpr auto f() { return 1; }",
        "struct __align__(sizeof(int) * 4) V { int v[4]; };",
        "__global__ void k() { extern __shared__ __align__(16) char t[]; }",
        "template <typename T, typename U = int> struct A {};",
        "template <typename T> using B = typename T::type;",
        "template <typename T> void f(typename T::type x) { typename T::other y(x); g(y); }",
    ],
)
def test_what_confuses_the_grammar_is_blanked(text: str) -> None:
    file = parsed(text)
    assert file.errors == []
    assert file.data == text.encode(), "blanking is for the parser only"


def test_errors_are_counted() -> None:
    assert len(parsed("void f( { }").errors) > 0
    assert parsed("void f() { }").errors == []


def test_macro_bodies_have_file_offsets() -> None:
    text = "int a;\n#define LAUNCH(k, s) \\\n  do { k<<<1, 2, 0, s>>>(a); } \\\n  while (0)\n"
    text += "#define DECL __global__ void f(int* p)\n"
    file = parsed(text)
    query = compile_query("(kernel_call_syntax) @root")
    spans = [
        fragment.span(found["root"][0]) for fragment in file.fragments() for _, found in matches(query, fragment.root)
    ]
    assert [file.text(span) for span in spans] == [b"<<<1, 2, 0, s>>>"]
    assert [fragment.macro for fragment in file.macro_bodies] == ["LAUNCH", "DECL"]


def test_crlf_splices_in_macro_bodies() -> None:
    file = parsed("#define L(k) \\\r\n  k<<<1, \\\r\n 2>>>()\r\nint x;\r\n")
    query = compile_query("(kernel_call_syntax) @root")
    (fragment,) = file.macro_bodies
    ((_, found),) = matches(query, fragment.root)
    assert file.text(fragment.span(found["root"][0])) == b"<<<1, \\\r\n 2>>>"


@pytest.mark.parametrize("text", ["(" * 5000, "a+" * 50000, "f<" * 50000])
def test_unbounded_text_gets_no_tree(text: str) -> None:
    file = parsed(text)
    assert not file.bounded
    assert file.errors == []
    assert next(iter(file.fragments())).root.child_count == 0


def test_bad_query() -> None:
    with pytest.raises(ValueError, match="no_such_node"):
        compile_query("(no_such_node) @x")
