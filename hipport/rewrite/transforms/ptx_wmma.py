"""Lowering of PTX wmma instructions (PTX ISA 9.7.14.4) to the fragments of nvcuda::wmma."""

from __future__ import annotations

import re

from hipport.rewrite.transforms.ptx_context import CPP, Context, Modifiers, Refusal, lowers
from hipport.syntax.ptx import Operand

_HEADER = "hipport/wmma_ptx.h"
_WMMA = "hipport::tensor::wmma::"
#: Element type -> C++ element type of a fragment, and in memory where that is another.
_ELEMENT = {
    "f16": "__half", "bf16": "__hip_bfloat16", "tf32": f"{_WMMA}precision::tf32", "f32": "float", "f64": "double",
    "s8": "signed char", "u8": "unsigned char", "s32": "int",
    "s4": f"{_WMMA}experimental::precision::s4", "u4": f"{_WMMA}experimental::precision::u4",
    "b1": f"{_WMMA}experimental::precision::b1",
}  # fmt: skip
_MEMORY = {"tf32": "float", "s4": "int", "u4": "unsigned", "b1": "unsigned"}
_LARGE = ("m16n16k16", "m32n8k16", "m8n32k16")
#: Shapes of each operand type; accumulator types that go with it.
_SHAPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "f16": (_LARGE, ("f16", "f32")), "bf16": (_LARGE, ("f32",)), "s8": (_LARGE, ("s32",)), "u8": (_LARGE, ("s32",)),
    "tf32": (("m16n16k8",), ("f32",)), "f64": (("m8n8k4",), ("f64",)), "s4": (("m8n8k32",), ("s32",)),
    "u4": (("m8n8k32",), ("s32",)), "b1": (("m8n8k128",), ("s32",)),
}  # fmt: skip
_BITS = {"bf16": 16, "s8": 8, "u8": 8, "tf32": 32, "s4": 4, "u4": 4, "b1": 1, "f64": 64, "f32": 32, "s32": 32}


def _dimensions(shape: str) -> tuple[int, int, int]:
    m, n, k = map(int, re.findall(r"\d+", shape))
    return m, n, k


def _count(use: str, shape: str, element: str) -> int:
    """Registers of a fragment in PTX."""
    m, n, k = _dimensions(shape)
    if element == "f16":
        return 8 if use in ("a", "b") else 4
    elements = {"a": m * k, "b": k * n}.get(use, m * n)
    return elements * _BITS[element] // 32 // (64 if element == "f64" else 32)


def _register(use: str, element: str) -> str:
    """PTX type of a register."""
    return element if element in ("f32", "s32", "f64") else "b32"


def _fragment(use: str, shape: str, element: str, layout: str) -> str:
    name = {"a": "matrix_a", "b": "matrix_b"}.get(use, "accumulator")
    tail = f", {_WMMA}{layout}_major" if use in ("a", "b") else ""
    return f"{_WMMA}fragment<{_WMMA}{name}, {', '.join(map(str, _dimensions(shape)))}, {_ELEMENT[element]}{tail}>"


def _registers(context: Context, operand: Operand, use: str, shape: str, element: str) -> str:
    registers = context.vector(operand)
    if len(registers) != _count(use, shape, element):
        raise context.wrong(f"{use} needs {_count(use, shape, element)} registers")
    kind = _register(use, element)
    values = ", ".join(context.typed(register, kind) for register in registers)
    return f"hipport::vec<{CPP[kind]}, {len(registers)}>{{{{{values}}}}}"


def _unknown(context: Context) -> Refusal:
    return Refusal(
        "HP601",
        f"PTX '{context.instruction.name}' is a matrix shape without a lowering",
        "use a shape and types that PTX ISA lists for wmma",
        context.instruction.name,
    )


def _known(context: Context, shape: str, operand: str, *sums: str) -> None:
    shapes, accumulators = _SHAPES.get(operand, ((), ()))
    if shape not in shapes or not set(sums) <= set(accumulators):
        raise _unknown(context)


@lowers("wmma", family="Matrix")
def _wmma(context: Context, modifiers: Modifiers) -> None:
    action = modifiers.one_of(("load", "store", "mma"))
    if not action or not modifiers.flag("sync") or not modifiers.flag("aligned"):
        raise modifiers.unknown("")
    context.includes.add(_HEADER)
    (_mma if action == "mma" else _move)(context, modifiers, action)


def _move(context: Context, modifiers: Modifiers, action: str) -> None:
    use, layout = modifiers.one_of(("a", "b", "c", "d")), modifiers.one_of(("row", "col"))
    shape = "".join(modifiers.take(r"m\d+n\d+k\d+"))
    space = modifiers.one_of(("global", "shared", "shared::cta"), "generic")
    element = modifiers.type(*_ELEMENT)
    modifiers.end()
    if not layout or (action == "store") != (use == "d"):
        raise modifiers.unknown(use)
    if use in ("a", "b"):
        _known(context, shape, element)
    elif not any(shape in shapes and element in sums for shapes, sums in _SHAPES.values()):
        raise _unknown(context)
    context.expect(2, 3)
    m, n, k = _dimensions(shape)
    rows, columns = {"a": (m, k), "b": (k, n)}.get(use, (m, n))
    operands = context.instruction.operands
    stride = (
        context.read(context.operand(2), "u32") if len(operands) == 3 else f"{columns if layout == 'row' else rows}u"
    )
    memory, kind = _MEMORY.get(element, _ELEMENT[element]), _register(use, element)
    fragment = _fragment(use, shape, element, layout)
    order = "" if use in ("a", "b") else f", {_WMMA}mem_{layout}_major"
    if action == "store":
        address = context.pointer(context.operand(0), space, "void")
        values = _registers(context, context.operand(1), use, shape, element)
        context.do(f"hipport::wmma_store<{fragment}, {memory}>({address}, {values}, {stride}{order})")
        return
    count = _count(use, shape, element)
    if len(context.vector(context.operand(0))) != count:
        raise context.wrong(f"{use} needs {count} registers")
    address = context.pointer(context.operand(1), space, "const void")
    template = f"{fragment}, {memory}, {CPP[kind]}, {count}"
    context.spread(context.operand(0), kind, f"hipport::wmma_load<{template}>({address}, {stride}{order})")


def _mma(context: Context, modifiers: Modifiers, action: str) -> None:
    layouts = [word for word in context.instruction.modifiers if word in ("row", "col")]
    modifiers.take("row|col")
    shape = "".join(modifiers.take(r"m\d+n\d+k\d+"))
    finite = modifiers.flag("satfinite")
    bits = modifiers.one_of(("xor", "and"))
    modifiers.flag("popc")
    modifiers.flag("rn")
    words = [word for word in context.instruction.modifiers if word in _ELEMENT]
    modifiers.take("|".join(_ELEMENT))
    modifiers.end()
    if len(words) == 2:  # halves are not named
        words = [words[0], "f16", "f16", words[1]]
    if len(words) != 4 or len(layouts) != 2 or words[1] != words[2]:
        raise _unknown(context)
    d, operand, _, c = words
    _known(context, shape, operand, d, c)
    if bool(bits) != (operand == "b1") or (finite and d != "s32"):
        raise modifiers.unknown(bits or "satfinite")
    context.expect(4)
    a = _registers(context, context.operand(1), "a", shape, operand)
    b = _registers(context, context.operand(2), "b", shape, operand)
    sums = _registers(context, context.operand(3), "c", shape, c)
    count, kind = _count("d", shape, d), _register("d", d)
    if len(context.vector(context.operand(0))) != count:
        raise context.wrong(f"d needs {count} registers")
    if bits:
        call = f"hipport::mma_b1<8, 8, 128, {'true' if bits == 'xor' else 'false'}>({a}, {b}, {sums})"
    else:
        fragments = [
            _fragment("d", shape, d, ""), _fragment("a", shape, operand, layouts[0]),
            _fragment("b", shape, operand, layouts[1]), _fragment("c", shape, c, ""),
        ]  # fmt: skip
        template = ", ".join([*fragments, CPP[kind], str(count)])
        call = f"hipport::wmma_mma<{template}>({a}, {b}, {sums}, {'true' if finite else 'false'})"
    context.spread(context.operand(0), kind, call)
