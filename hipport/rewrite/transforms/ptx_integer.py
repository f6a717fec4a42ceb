"""Lowering of integer, bit and logic instructions (PTX ISA 9.7.1, 9.7.2, 9.7.8, 9.7.9)."""

from __future__ import annotations

from hipport.rewrite.transforms.ptx_context import CPP, PTX, Context, Modifiers, Refusal, lowers
from hipport.syntax.ptx import Pair, Sink

_INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
_FLOATS = ("f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2")
_BITS = ("pred", "b16", "b32", "b64")


def call(context: Context, name: str, kind: str, *operands: int, typed: bool = True) -> str:
    """``hipport::ptx::name<T>(operands...)`` with every operand read as ``kind``."""
    arguments = ", ".join(context.read(context.operand(i), kind) for i in operands)
    template = f"<{CPP[kind]}>" if typed else ""
    return f"{PTX}{name}{template}({arguments})"


def _has_float(context: Context) -> bool:
    return context.instruction.modifiers[-1:] != () and context.instruction.modifiers[-1] in _FLOATS


def _carry(context: Context, *, needs: bool, sets: bool) -> None:
    if needs and not context.carry_set:
        raise Refusal(
            "HP509",
            f"'{context.instruction.name}' takes the carry flag of an earlier asm statement: no compiler keeps it",
            "put the whole chain into one asm statement, or use 64-bit arithmetic or __builtin_addc",
            "carry",
        )
    context.declare("unsigned ptx_carry = 0")
    context.carry_set |= sets


@lowers("add", "sub", family="Integer arithmetic")
def _add_sub(context: Context, modifiers: Modifiers) -> None:
    name = context.instruction.opcode
    if _has_float(context):
        from hipport.rewrite.transforms.ptx_float import arithmetic

        arithmetic(context, modifiers)
        return
    context.expect(3)
    saturate, carry = modifiers.flag("sat"), modifiers.flag("cc")
    kind = modifiers.type(*_INTEGERS, "b32", "b64", "u16x2", "s16x2", "u8x4", "s8x4")
    modifiers.end()
    dst = context.operand(0)
    if kind[3:] == "x2" or kind[2:] == "x4":
        if carry:
            raise modifiers.unknown("cc")
        a, b = (context.read(context.operand(i), kind) for i in (1, 2))
        template = f"<{CPP[kind[:-2]]}, {'true' if saturate else 'false'}>"
        context.set(dst, kind, f"{PTX}{name}_packed{template}({a}, {b})")
    elif carry:
        _carry(context, needs=False, sets=True)
        a, b = (context.read(context.operand(i), kind) for i in (1, 2))
        context.set(dst, kind, f"{PTX}{name}_cc<{CPP[kind]}>({a}, {b}, ptx_carry)")
    else:
        context.set(dst, kind, call(context, f"{name}_sat" if saturate else name, kind, 1, 2))


@lowers("addc", "subc", family="Extended-precision arithmetic")
def _add_sub_with_carry(context: Context, modifiers: Modifiers) -> None:
    context.expect(3)
    sets = modifiers.flag("cc")
    kind = modifiers.type("u32", "s32", "u64", "s64", "b32", "b64")
    modifiers.end()
    _carry(context, needs=True, sets=sets)
    a, b = (context.read(context.operand(i), kind) for i in (1, 2))
    name = context.instruction.opcode + ("_cc" if sets else "")
    context.set(context.operand(0), kind, f"{PTX}{name}<{CPP[kind]}>({a}, {b}, ptx_carry)")


_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}


@lowers("mul", "mad", family="Integer arithmetic")
def _mul_mad(context: Context, modifiers: Modifiers) -> None:
    if _has_float(context):
        from hipport.rewrite.transforms.ptx_float import arithmetic

        arithmetic(context, modifiers)
        return
    name = context.instruction.opcode
    part = modifiers.one_of(("lo", "hi", "wide"))
    saturate, carry = modifiers.flag("sat"), modifiers.flag("cc")
    kind = modifiers.type(*_INTEGERS)
    modifiers.end()
    if not part or (part == "wide" and kind not in _WIDER):
        raise modifiers.unknown("")
    result = _WIDER[kind] if part == "wide" else kind
    context.expect(3 if name == "mul" else 4)
    arguments = [context.read(context.operand(i), kind) for i in (1, 2)]
    if name == "mad":
        arguments.append(context.read(context.operand(3), result))
    suffix = "_sat" if saturate else ""
    if carry:
        _carry(context, needs=False, sets=True)
        arguments.append("ptx_carry")
        suffix = "_cc"
    text = f"{PTX}{name}_{part}{suffix}<{CPP[kind]}>({', '.join(arguments)})"
    context.set(context.operand(0), result, text)


@lowers("madc", family="Extended-precision arithmetic")
def _madc(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    part = modifiers.one_of(("lo", "hi"))
    sets = modifiers.flag("cc")
    kind = modifiers.type("u32", "s32", "u64", "s64")
    modifiers.end()
    if not part:
        raise modifiers.unknown("")
    _carry(context, needs=True, sets=sets)
    arguments = ", ".join(context.read(context.operand(i), kind) for i in (1, 2, 3))
    name = f"madc_{part}{'_cc' if sets else ''}"
    context.set(context.operand(0), kind, f"{PTX}{name}<{CPP[kind]}>({arguments}, ptx_carry)")


@lowers("mul24", "mad24", family="Integer arithmetic")
def _mul24(context: Context, modifiers: Modifiers) -> None:
    name = context.instruction.opcode
    part = modifiers.one_of(("lo", "hi"))
    saturate = modifiers.flag("sat")
    kind = modifiers.type("u32", "s32")
    modifiers.end()
    if not part or saturate:
        raise modifiers.unknown("sat" if saturate else "")
    operands = (1, 2) if name == "mul24" else (1, 2, 3)
    context.expect(len(operands) + 1)
    context.set(context.operand(0), kind, call(context, f"{name}_{part}", kind, *operands))


@lowers("div", "rem", family="Integer arithmetic")
def _div_rem(context: Context, modifiers: Modifiers) -> None:
    if _has_float(context):
        from hipport.rewrite.transforms.ptx_float import arithmetic

        arithmetic(context, modifiers)
        return
    context.expect(3)
    kind = modifiers.type(*_INTEGERS)
    modifiers.end()
    context.set(context.operand(0), kind, call(context, context.instruction.opcode, kind, 1, 2))


@lowers("sad", family="Integer arithmetic")
def _sad(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    kind = modifiers.type(*_INTEGERS)
    modifiers.end()
    context.set(context.operand(0), kind, call(context, "sad", kind, 1, 2, 3))


@lowers("min", "max", family="Comparison and selection")
def _min_max(context: Context, modifiers: Modifiers) -> None:
    if _has_float(context):
        from hipport.rewrite.transforms.ptx_float import min_max

        min_max(context, modifiers)
        return
    context.expect(3)
    name = context.instruction.opcode
    relu = modifiers.flag("relu")
    kind = modifiers.type(*_INTEGERS, "u16x2", "s16x2")
    modifiers.end()
    if kind in ("u16x2", "s16x2"):
        half = "unsigned short" if kind == "u16x2" else "short"
        a, b = (context.read(context.operand(i), kind) for i in (1, 2))
        text = f"{PTX}{name}_16x2<{half}>({a}, {b})"
        text = f"{PTX}max_16x2<{half}>({text}, 0u)" if relu else text
    else:
        text = call(context, name, kind, 1, 2)
        text = f"{PTX}max<{CPP[kind]}>({text}, 0)" if relu else text
    context.set(context.operand(0), kind, text)


@lowers("abs", "neg", family="Integer arithmetic")
def _abs_neg(context: Context, modifiers: Modifiers) -> None:
    if _has_float(context):
        from hipport.rewrite.transforms.ptx_float import sign

        sign(context, modifiers)
        return
    context.expect(2)
    kind = modifiers.type("s16", "s32", "s64")
    modifiers.end()
    context.set(context.operand(0), kind, call(context, context.instruction.opcode, kind, 1))


@lowers("popc", "clz", family="Bit operations")
def _count(context: Context, modifiers: Modifiers) -> None:
    context.expect(2)
    kind = modifiers.type("b32", "b64")
    modifiers.end()
    context.set(context.operand(0), "u32", call(context, context.instruction.opcode, kind, 1))


@lowers("bfind", family="Bit operations")
def _bfind(context: Context, modifiers: Modifiers) -> None:
    context.expect(2)
    name = "bfind_shiftamt" if modifiers.flag("shiftamt") else "bfind"
    kind = modifiers.type("u32", "s32", "u64", "s64")
    modifiers.end()
    context.set(context.operand(0), "u32", call(context, name, kind, 1))


@lowers("brev", "not", "cnot", family="Bit operations")
def _unary_bits(context: Context, modifiers: Modifiers) -> None:
    context.expect(2)
    kind = modifiers.type(*_BITS)
    modifiers.end()
    if kind == "pred":
        context.set(context.operand(0), kind, f"!{context.read(context.operand(1), kind)}")
        return
    name = {"not": "bit_not"}.get(context.instruction.opcode, context.instruction.opcode)
    context.set(context.operand(0), kind, call(context, name, kind, 1))


@lowers("and", "or", "xor", family="Bit operations")
def _binary_bits(context: Context, modifiers: Modifiers) -> None:
    context.expect(3)
    kind = modifiers.type(*_BITS)
    modifiers.end()
    if kind == "pred":
        a, b = (context.read(context.operand(i), kind) for i in (1, 2))
        sign = {"and": "&&", "or": "||", "xor": "!="}[context.instruction.opcode]
        context.set(context.operand(0), kind, f"({a} {sign} {b})")
        return
    context.set(context.operand(0), kind, call(context, f"bit_{context.instruction.opcode}", kind, 1, 2))


@lowers("lop3", family="Bit operations")
def _lop3(context: Context, modifiers: Modifiers) -> None:
    combine = modifiers.one_of(("or", "and"))
    context.expect(6 if combine else 5)
    modifiers.type("b32")
    modifiers.end()
    table = context.constant(context.operand(4))
    arguments = ", ".join(context.read(context.operand(i), "b32") for i in (1, 2, 3))
    text, dst = f"{PTX}lop3<{_hex(table)}>({arguments})", context.operand(0)
    if not combine:
        context.set(dst, "b32", text)
        return
    if not isinstance(dst, Pair):
        raise context.wrong("a second destination for the predicate is missing")
    given, value = context.read(context.operand(5), "pred"), context.temporary(text)
    context.set(dst.second, "pred", f"({value} != 0 {'||' if combine == 'or' else '&&'} {given})")
    if not isinstance(dst.first, Sink):
        context.set(dst.first, "b32", value)


def _hex(text: str) -> str:
    return f"{int(text):#04x}" if text.isdigit() else text


@lowers("shl", "shr", family="Bit operations")
def _shift(context: Context, modifiers: Modifiers) -> None:
    context.expect(3)
    kind = modifiers.type("b16", "b32", "b64", *_INTEGERS)
    modifiers.end()
    value, amount = context.read(context.operand(1), kind), context.read(context.operand(2), "u32")
    context.set(context.operand(0), kind, f"{PTX}{context.instruction.opcode}<{CPP[kind]}>({value}, {amount})")


@lowers("shf", family="Bit operations")
def _shf(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    side, mode = modifiers.one_of("lr"), modifiers.one_of(("clamp", "wrap"))
    modifiers.type("b32")
    modifiers.end()
    if not side or not mode:
        raise modifiers.unknown("")
    context.set(context.operand(0), "b32", call(context, f"shf_{side}_{mode}", "b32", 1, 2, 3, typed=False))


@lowers("bfe", family="Bit operations")
def _bfe(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    kind = modifiers.type("u32", "s32", "u64", "s64")
    modifiers.end()
    value = context.read(context.operand(1), kind)
    position, length = (context.read(context.operand(i), "u32") for i in (2, 3))
    context.set(context.operand(0), kind, f"{PTX}bfe<{CPP[kind]}>({value}, {position}, {length})")


@lowers("bfi", family="Bit operations")
def _bfi(context: Context, modifiers: Modifiers) -> None:
    context.expect(5)
    kind = modifiers.type("b32", "b64")
    modifiers.end()
    field, into = (context.read(context.operand(i), kind) for i in (1, 2))
    position, length = (context.read(context.operand(i), "u32") for i in (3, 4))
    context.set(context.operand(0), kind, f"{PTX}bfi<{CPP[kind]}>({field}, {into}, {position}, {length})")


@lowers("bmsk", "szext", family="Bit operations")
def _masked(context: Context, modifiers: Modifiers) -> None:
    context.expect(3)
    name = context.instruction.opcode
    mode = modifiers.one_of(("clamp", "wrap"))
    kind = modifiers.type("b32") if name == "bmsk" else modifiers.type("u32", "s32")
    modifiers.end()
    if not mode:
        raise modifiers.unknown("")
    first = context.read(context.operand(1), kind)
    second = context.read(context.operand(2), "u32")
    template = "" if name == "bmsk" else f"<{CPP[kind]}>"
    context.set(context.operand(0), kind, f"{PTX}{name}_{mode}{template}({first}, {second})")


@lowers("fns", family="Bit operations")
def _fns(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    modifiers.type("b32")
    modifiers.end()
    arguments = ", ".join(context.read(context.operand(i), kind) for i, kind in ((1, "b32"), (2, "u32"), (3, "s32")))
    context.set(context.operand(0), "b32", f"{PTX}fns({arguments})")


@lowers("prmt", family="Bit operations")
def _prmt(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    modifiers.type("b32")
    mode = modifiers.one_of(("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"))
    modifiers.end()
    context.set(
        context.operand(0), "b32", call(context, f"prmt_{mode}" if mode else "prmt", "b32", 1, 2, 3, typed=False)
    )


@lowers("dp4a", "dp2a", family="Integer arithmetic")
def _dot(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    name = context.instruction.opcode
    half = modifiers.one_of(("lo", "hi")) if name == "dp2a" else ""
    types = modifiers.take("u32|s32")
    modifiers.end()
    if len(types) == 1 and context.instruction.modifiers.count(types[0]) == 2:
        types = types * 2
    if name == "dp2a" and not half:
        raise context.wrong("'.lo' or '.hi' is missing")
    if len(types) != 2:
        raise modifiers.unknown("")
    a_type, b_type = types
    result = "u32" if types == ["u32", "u32"] else "s32"
    arguments = [context.read(context.operand(i), "b32") for i in (1, 2)]
    arguments.append(context.read(context.operand(3), result))
    signs = f"<{'true' if a_type == 's32' else 'false'}, {'true' if b_type == 's32' else 'false'}>"
    suffix = f"_{half}" if half else ""
    context.set(context.operand(0), result, f"{PTX}{name}{suffix}{signs}({', '.join(arguments)})")


#: Relation of integers -> the signed or unsigned comparison it is.
COMPARE_INTEGER = {
    "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "lo": "lt", "ls": "le", "hi": "gt", "hs": "ge",
}  # fmt: skip
_COMPARE_FLOAT = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
_COMPARED = ("b16", "b32", "b64", *_INTEGERS, "f16", "f16x2", "bf16", "bf16x2", "f32", "f64")


def _comparison(context: Context, modifiers: Modifiers, first: int) -> tuple[str, str, str]:
    """Read comparison, ftz and source type; give the C++ test of operands ``first`` and ``first + 1``.

    Returns:
        The test of the whole value (of the low half for x2 types), that of the high half or empty, the source type.
    """
    relation = modifiers.one_of(set(COMPARE_INTEGER) | set(_COMPARE_FLOAT))
    flush = modifiers.flag("ftz")
    kind = modifiers.type(*_COMPARED)
    a, b = (context.read(context.operand(i), kind) for i in (first, first + 1))
    if kind in ("f16x2", "bf16x2"):
        base = kind[:-2]
        a, b = context.temporary(a), context.temporary(b)
        tests = [
            f"{PTX}{relation}({PTX}{base}_value({x}{shift}), {PTX}{base}_value({y}{shift}))"
            for x, y, shift in ((a, b, ""), (a, b, " >> 16"))
        ]
        if relation not in _COMPARE_FLOAT:
            raise modifiers.unknown(relation)
        return tests[0], tests[1], kind
    if kind in ("f16", "bf16"):
        a, b = f"{PTX}{kind}_value({a})", f"{PTX}{kind}_value({b})"
    if kind in ("f16", "bf16", "f32", "f64"):
        if relation not in _COMPARE_FLOAT:
            raise modifiers.unknown(relation)
        if flush and kind == "f32":
            a, b = f"{PTX}ftz({a})", f"{PTX}ftz({b})"
        return f"{PTX}{relation}({a}, {b})", "", kind
    if relation not in COMPARE_INTEGER:
        raise modifiers.unknown(relation)
    if relation in ("lo", "ls", "hi", "hs"):
        kind = "u" + kind[1:]
    return f"{PTX}{COMPARE_INTEGER[relation]}<{CPP[kind]}>({a}, {b})", "", kind


def _combined(context: Context, modifiers: Modifiers, operator: str, test: str, third: int) -> tuple[str, str]:
    """Apply ``.and/.or/.xor`` with the predicate operand ``third``: the result and its complement's form."""
    if not operator:
        return test, f"!{test}"
    other = context.read(context.operand(third), "pred")
    sign = {"and": "&&", "or": "||", "xor": "!="}[operator]
    return f"({test} {sign} {other})", f"(!{test} {sign} {other})"


@lowers("setp", family="Comparison and selection")
def _setp(context: Context, modifiers: Modifiers) -> None:
    operator = modifiers.one_of(("and", "or", "xor"))
    test, high, _ = _comparison(context, modifiers, 1)
    modifiers.end()
    context.expect(4 if operator else 3)
    dst = context.operand(0)
    if high:
        if not isinstance(dst, Pair):
            raise context.wrong("two destination predicates are needed")
        context.set(dst.first, "pred", _combined(context, modifiers, operator, test, 3)[0])
        context.set(dst.second, "pred", _combined(context, modifiers, operator, high, 3)[0])
        return
    if not isinstance(dst, Pair):
        context.set(dst, "pred", _combined(context, modifiers, operator, test, 3)[0])
        return
    kept = context.temporary(test)
    yes, no = _combined(context, modifiers, operator, kept, 3)
    if operator:
        yes, no = context.temporary(yes), context.temporary(no)
    if not isinstance(dst.first, Sink):
        context.set(dst.first, "pred", yes)
    if not isinstance(dst.second, Sink):
        context.set(dst.second, "pred", no)


@lowers("set", family="Comparison and selection")
def _set(context: Context, modifiers: Modifiers) -> None:
    operator = modifiers.one_of(("and", "or", "xor"))
    words = [m for m in context.instruction.modifiers if m in _COMPARED]
    if len(words) != 2:
        raise modifiers.unknown("")
    result = modifiers.type("u32", "s32", "f32", "f16", "bf16", "f16x2", "bf16x2", "u16", "s16")
    test, high, _ = _comparison(context, modifiers, 1)
    modifiers.end()
    context.expect(4 if operator else 3)
    test = _combined(context, modifiers, operator, test, 3)[0]
    if high:
        high = _combined(context, modifiers, operator, high, 3)[0]
        one = {"f16x2": "0x3c00u", "bf16x2": "0x3f80u"}.get(result, "0xffffu")
        text = f"(({test} ? {one} : 0u) | ({high} ? {one} << 16 : 0u))"
    elif result == "f32":
        text = f"({test} ? 1.0f : 0.0f)"
    elif result in ("f16", "bf16"):
        text = f"static_cast<unsigned short>({test} ? {'0x3c00' if result == 'f16' else '0x3f80'} : 0)"
    else:
        text = f"({test} ? {'0xffffu' if result[1:] == '16' else '0xffffffffu'} : 0u)"
    context.set(context.operand(0), result, text)


@lowers("selp", family="Comparison and selection")
def _selp(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    kind = modifiers.type("b16", "b32", "b64", *_INTEGERS, "f32", "f64")
    modifiers.end()
    a, b = (context.typed(context.operand(i), kind) for i in (1, 2))
    context.set(context.operand(0), kind, f"({context.read(context.operand(3), 'pred')} ? {a} : {b})")


@lowers("slct", family="Comparison and selection")
def _slct(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    flush = modifiers.flag("ftz")
    kind = modifiers.type("b16", "b32", "b64", *_INTEGERS, "f32", "f64")
    chooser = modifiers.type("s32", "f32")
    modifiers.end()
    a, b = (context.typed(context.operand(i), kind) for i in (1, 2))
    c = context.typed(context.operand(3), chooser)
    c = f"{PTX}ftz({c})" if flush and chooser == "f32" else c
    context.set(context.operand(0), kind, f"({c} >= 0 ? {a} : {b})")


@lowers("mov", family="Data movement")
def _mov(context: Context, modifiers: Modifiers) -> None:
    context.expect(2)
    kind = modifiers.type("pred", "b16", "b32", "b64", *_INTEGERS, "f32", "f64")
    modifiers.end()
    source = context.read(context.operand(1), kind)
    context.set(context.operand(0), kind, source)


_SIMD = r"v(?:add|sub|absdiff|min|max|avrg|set|shl|shr|mad)(?:2|4)?"
