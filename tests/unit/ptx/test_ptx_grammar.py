"""The PTX grammar and the reader of asm statements, on the forms that inline PTX takes in practice."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipport.syntax.macro_text import read_macro
from hipport.syntax.ptx import (
    Address,
    AsmOperand,
    Block,
    Declaration,
    Float,
    Guard,
    Instruction,
    Integer,
    Label,
    Name,
    Negative,
    Not,
    Pair,
    Part,
    PtxSyntaxError,
    Sink,
    SpecialRegister,
    Vector,
    parse_ptx,
)
from hipport.syntax.ptx_asm import AsmStatement, AsmSyntaxError, parse_asm


def one(text: str) -> Instruction:
    (statement,) = parse_ptx(text).statements
    assert isinstance(statement, Instruction)
    return statement


def asm(text: str, *defines: bytes, parameters: tuple[bytes, ...] = ()) -> AsmStatement:
    macros = dict(filter(None, map(read_macro, defines)))
    return parse_asm(text.encode(), text.index("asm"), macros, parameters)


def test_operands_of_every_kind() -> None:
    i = one("mma.x {%0, %1}, [%2+8], -3, 0f3F800000, _, p|q, !r, %%laneid, [t, {%3, %4}];")
    assert i.operands == (
        Vector((AsmOperand(0), AsmOperand(1))),
        Address(AsmOperand(2), Integer(8)),
        Integer(-3),
        Float(0x3F800000, 32),
        Sink(),
        Pair(Name("p"), Name("q")),
        Not(Name("r")),
        SpecialRegister("laneid"),
        Address(Name("t"), None, (AsmOperand(3), AsmOperand(4))),
    )


@pytest.mark.parametrize(
    ("text", "value"), [("0x1F", 31), ("017", 15), ("0b101", 5), ("42U", 42), ("-1", -1), ("0", 0), ("WARP_SZ", 32)]
)
def test_integers(text: str, value: int) -> None:
    assert one(f"mov.u32 %0, {text};").operands[1] == Integer(value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1.0", Float(0x3FF0000000000000, 64)),
        ("-0.5", Float(0xBFE0000000000000, 64)),
        ("1e3", Float(0x408F400000000000, 64)),
        ("0d4000000000000000", Float(0x4000000000000000, 64)),
        ("-0f3F800000", Float(0xBF800000, 32)),
    ],
)
def test_floats(text: str, number: Float) -> None:
    assert one(f"mov.f32 %0, {text};").operands[1] == number


def test_modifiers_with_colons_digits_and_spaces() -> None:
    i = one("ld.global.nc.L1::no_allocate.L2::128B .v4.f32 %0, [%1];")
    assert i.opcode == "ld"
    assert i.modifiers == ("global", "nc", "L1::no_allocate", "L2::128B", "v4", "f32")
    assert one("cp.async.bulk.tensor.2d.shared::cluster.global.tile [%0], [%1, {%2, %3}], [%4];").modifiers[3] == "2d"


def test_scopes_declarations_guards_labels_comments() -> None:
    tree = parse_ptx(
        "{ // first\n .reg .pred p, q; .reg .b32 t<3>; .reg .v2 .f32 m; /* x */ \n"
        "@!p bra DONE; { .reg .u32 t0; mov.u32 t0, 1; } DONE: add.u32 m.x, t0, t2 }"
    )
    (block,) = tree.statements
    assert isinstance(block, Block)
    p, t, m, branch, inner, done, add = block.statements
    assert p == Declaration("reg", "pred", ("p", "q"), 1, p.offset)  # type: ignore[union-attr]
    assert isinstance(t, Declaration)
    assert t.names == ("t0", "t1", "t2")
    assert isinstance(m, Declaration)
    assert (m.names, m.components) == (("m",), 2)
    assert isinstance(branch, Instruction)
    assert branch.guard == Guard(Name("p"), negated=True)
    assert isinstance(inner, Block)
    assert isinstance(done, Label)
    assert isinstance(add, Instruction)
    assert add.operands[0] == Name("m.x")


def test_percent_depends_on_the_statement() -> None:
    assert parse_ptx("mov.u32 %r1, %laneid;", extended=False).statements[0].operands[1] == SpecialRegister("laneid")  # type: ignore[union-attr]
    assert parse_ptx("mov.u32 %0, %laneid;").statements[0].operands[1] == SpecialRegister("laneid")  # type: ignore[union-attr]
    with pytest.raises(PtxSyntaxError, match="operands"):
        parse_ptx("mov.u32 %r1, %%laneid;", extended=False)


def test_number_of_the_statement_in_labels() -> None:
    label, branch = parse_ptx("WAIT_%=: @%p bra WAIT_%=;").statements
    assert label == Label("WAIT_%=", 0)
    assert isinstance(branch, Instruction)
    assert branch.operands == (Name("WAIT_%="),)
    assert branch.guard == Guard(Name("%p"), negated=False)


def test_parts_of_registers() -> None:
    i = one("vmad.u32.u32.u32 %0, -%1.h0, r.b3, -%2;")
    assert i.operands == (
        AsmOperand(0),
        Negative(Part(AsmOperand(1), "h0")),
        Part(Name("r"), "b3"),
        Negative(AsmOperand(2)),
    )
    assert one("mov.u32 %0, m.x;").operands[1] == Name("m.x")
    assert one("vadd4.u32.u32.u32 %0.b20, %1.b7654, %2, 0;").operands[:2] == (
        Part(AsmOperand(0), "b20"),
        Part(AsmOperand(1), "b7654"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "mov.u32 %0",
        "mov.u32 %0 %1;",
        "{ mov.u32 %0, %1;",
        ".reg b32 x;",
        ".const .b32 x[4];",
        "ld.global [%0;",
        "add %0, ;",
    ],
)
def test_errors_have_a_place(text: str) -> None:
    if text == "mov.u32 %0":  # a missing last semicolon is forgiven
        assert one(text).opcode == "mov"
        return
    with pytest.raises(PtxSyntaxError) as error:
        parse_ptx(text)
    assert 0 <= error.value.offset <= len(text)


@given(st.text(max_size=80))
def test_any_text_parses_or_is_refused(text: str) -> None:
    try:
        tree = parse_ptx(text)
    except PtxSyntaxError as error:
        offset = error.offset
    else:
        assert isinstance(tree, Block)
        return
    assert 0 <= offset <= len(text)


def test_statement_parts() -> None:
    s = asm(
        'asm volatile ( "add.u32 %0, %1, %2;\\n\\t" : "=r"(out[f(1, 2)].x) : "r"(a ? b : (c)), "n"(N)'
        ' : "memory", "cc" );'
    )
    assert s.text == "add.u32 %0, %1, %2;\n\t"
    assert [(o.text, o.expression, o.written, o.read) for o in s.operands] == [
        ("=r", "out[f(1, 2)].x", True, False),
        ("r", "a ? b : (c)", False, True),
        ("n", "N", False, True),
    ]
    assert (s.volatile, s.extended, s.clobbers) == (True, True, ("memory", "cc"))


def test_statement_spellings() -> None:
    assert asm('asm("trap;");').extended is False
    assert asm('asm volatile("" ::: "memory");').clobbers == ("memory",)
    assert asm('asm("x;" :: "r"(a));').operands[0].letter == "r"
    assert asm('asm("x;" : "+f"(a) :);').operands[0].read
    assert asm('__asm__ __volatile__("x;" : "=&r"(a));').operands[0].letter == "r"
    assert asm('asm(R"(mov.u32 %0, "x";)" : "=r"(a));').text == 'mov.u32 %0, "x";'
    assert asm('asm("a" /* c */ "b" // d\n "c;");').text == "abc;"


def test_text_from_macros() -> None:
    text = 'asm(OP "%0, %1, %2;" : "=r"(a) : "r"(b), "r"(c));'
    assert asm(text, b'OP "add" TYPE  // kind', b'TYPE ".u32 "').text == "add.u32 %0, %1, %2;"
    with pytest.raises(AsmSyntaxError, match="'OP'"):
        asm('asm(OP "%0;" : "=r"(a));')


@pytest.mark.parametrize(
    ("use", "text"),
    [
        ('HASH(u32) " x;"', "add.u32 x;"),
        ('TWICE(u32) " x;"', "add.u32 x;"),
        ('TWICE(TYPE) " x;"', "add.s64 x;"),
        ('HASH(TYPE) " x;"', "add.TYPE x;"),  # "#" does not expand its argument
        ('"bar " STR( 3 ) ", " STR(WARPS * 32) ";"', "bar 3, 4 * 32;"),
        ('PASTE(ADD, _U) ";"', "add.u32;"),
        ('LINES(lt) "c"', "setp.lt a;b c"),
        ('EMPTY() "c"', "e;c"),
        ('STR("q") ";"', '"q";'),
    ],
)
def test_text_from_macros_with_parameters(use: str, text: str) -> None:
    defines = (
        b"STR_(x) #x",
        b"STR(x) STR_(x)",
        b'HASH(op) "add." #op',
        b'TWICE(op) "add." STR(op)',
        b"TYPE s64",
        b"WARPS 4",
        b"PASTE(a, b) a##b",
        b'ADD_U "add.u32"',
        b'LINES(op) "setp." STR(op) /* 1 */ \\\n " a;" /* 2 */ \\\n "b "',
        b'EMPTY() "e;"',
    )
    assert asm(f"asm({use});", *defines).text == text


def test_text_from_parameters_of_the_macro_around() -> None:
    with pytest.raises(AsmSyntaxError, match="'type'"):
        asm('asm("add." STR(type) ";");', b"STR(x) #x", parameters=(b"type",))


@pytest.mark.parametrize("use", ["LOOP(1)", "TWO(1)", "VALUE(1)"])
def test_macros_that_are_no_text(use: str) -> None:
    with pytest.raises(AsmSyntaxError, match="whose text is not known"):
        asm(f'asm({use} ";");', b"LOOP(x) LOOP(x)", b'TWO(a, b) "t"', b"VALUE(x) (x + 1)")


@pytest.mark.parametrize("branch", ["#if A", "#  ifdef A", "#else", "#endif"])
def test_preprocessor_branches_inside_a_statement(branch: str) -> None:
    with pytest.raises(AsmSyntaxError, match="differs between preprocessor branches"):
        asm(f'asm("a;"\n{branch}\n"b;");')


def test_continued_lines_in_macros() -> None:
    s = asm('#define X(d) asm volatile("mov.u32 %0, 1;" \\\n   : "=r"(d \\\n + 0))')
    assert s.operands[0].expression == "d   + 0"


@pytest.mark.parametrize(
    "text",
    [
        'asm("x" : "r"(a));',
        'asm("x" :: "=r"(a));',
        'asm("x" : [d] "=r"(a));',
        'asm goto("x" :::: L);',
        "asm(x",
        'asm("x" : "=r"(',
    ],
)
def test_bad_statements(text: str) -> None:
    with pytest.raises(AsmSyntaxError):
        asm(text)


def test_places_in_the_text() -> None:
    text = 'asm("ab"\n  "c\\nd;");'
    s = asm(text)
    assert [text[s.place(i)] for i in (0, 1, 2)] == ["a", "b", "c"]
    assert text[s.place(4)] == "d"
