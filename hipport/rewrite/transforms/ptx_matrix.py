"""Lowering of warp matrix instructions: ldmatrix, stmatrix, movmatrix, mma.sync (PTX ISA 9.7.14)."""

from __future__ import annotations

from hipport.rewrite.transforms.ptx_context import Context, Modifiers, Refusal, lowers
from hipport.rewrite.transforms.ptx_refused import hopper, is_refused

_HEADER = "hipport/mma.h"


@lowers("ldmatrix", "stmatrix", family="Matrix")
def _ldmatrix(context: Context, modifiers: Modifiers) -> None:
    name = context.instruction.opcode
    modifiers.flag("sync")
    modifiers.flag("aligned")
    shape, number = modifiers.one_of(("m8n8", "m8n16", "m16n16", "m16n8")), modifiers.one_of(("x1", "x2", "x4"))
    trans = modifiers.flag("trans")
    space = modifiers.one_of(("shared", "shared::cta"), "generic")
    kind = modifiers.one_of(("b16", "b8", "b8x16"))
    packed = modifiers.one_of(("b6x16_p32", "b4x16_p64"))
    modifiers.end()
    count = int(number[1:] or 0)
    flag = "true" if trans else "false"
    match (name, shape, kind, trans):
        case (_, "m8n8", "b16", _):
            call = f"{name}<{count}, {flag}>"
        case ("ldmatrix", "m8n16", "b8x16", False) if packed:
            call = f"ldmatrix_m8n16<{count}, hipport::RowFormat::{packed}>"
        case ("ldmatrix", "m16n16", "b8", True) | ("ldmatrix", "m16n16", "b8x16", True) if bool(packed) == (
            kind != "b8"
        ):
            call = f"ldmatrix_m16n16_trans<{count}, hipport::RowFormat::{packed or 'b8'}>"
        case ("stmatrix", "m16n8", "b8", True):
            call = f"stmatrix_m16n8_trans<{count}>"
        case _:
            raise modifiers.unknown(kind)
    if not count or (shape == "m16n16" and count == 4) or (packed and kind != "b8x16"):
        raise modifiers.unknown(number)
    context.expect(2)
    context.includes.add(_HEADER)
    n_registers = 2 * count if shape == "m16n16" else count
    if name == "ldmatrix":
        address = context.pointer(context.operand(1), space, "const void")
        if len(context.vector(context.operand(0))) != n_registers:
            raise context.wrong(f"{number} needs {n_registers} registers")
        context.spread(context.operand(0), "b32", f"hipport::{call}({address})")
        return
    address = context.pointer(context.operand(0), space, "void")
    registers = context.vector(context.operand(1))
    if len(registers) != n_registers:
        raise context.wrong(f"{number} needs {n_registers} registers")
    values = ", ".join(context.typed(register, "b32") for register in registers)
    context.do(f"hipport::{call}({address}, {{{{{values}}}}})")


@lowers("movmatrix", family="Matrix")
def _movmatrix(context: Context, modifiers: Modifiers) -> None:
    for word in ("sync", "aligned", "m8n8", "trans"):
        if not modifiers.flag(word):
            raise modifiers.unknown("")
    modifiers.type("b16")
    modifiers.end()
    context.expect(2)
    context.includes.add(_HEADER)
    context.set(context.operand(0), "b32", f"hipport::movmatrix_trans({context.read(context.operand(1), 'b32')})")


#: (shape, A type, B type, accumulator type) -> registers of A, B and C per thread.
MMA_FORMS: dict[tuple[str, str, str, str], tuple[int, int, int]] = {
    ("m16n8k8", "f16", "f16", "f16"): (2, 1, 2),
    ("m16n8k8", "f16", "f16", "f32"): (2, 1, 4),
    ("m16n8k16", "f16", "f16", "f16"): (4, 2, 2),
    ("m16n8k16", "f16", "f16", "f32"): (4, 2, 4),
    ("m16n8k8", "bf16", "bf16", "f32"): (2, 1, 4),
    ("m16n8k16", "bf16", "bf16", "f32"): (4, 2, 4),
    ("m16n8k4", "tf32", "tf32", "f32"): (2, 1, 4),
    ("m16n8k8", "tf32", "tf32", "f32"): (4, 2, 4),
    ("m8n8k4", "f64", "f64", "f64"): (1, 1, 2),
    ("m16n8k4", "f64", "f64", "f64"): (2, 1, 4),
    ("m16n8k8", "f64", "f64", "f64"): (4, 2, 4),
    ("m16n8k16", "f64", "f64", "f64"): (8, 4, 4),
    ("m8n8k128", "b1", "b1", "s32"): (1, 1, 2),
    ("m16n8k128", "b1", "b1", "s32"): (2, 1, 4),
    ("m16n8k256", "b1", "b1", "s32"): (4, 2, 4),
    **{("m16n8k16", a, b, "f32"): (2, 1, 4) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")},
    **{("m16n8k32", a, b, "f32"): (4, 2, 4) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")},
    **{("m16n8k16", a, b, "f16"): (2, 1, 2) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")},
    **{("m16n8k32", a, b, "f16"): (4, 2, 2) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")},
    **{("m8n8k16", a, b, "s32"): (1, 1, 2) for a in ("s8", "u8") for b in ("s8", "u8")},
    **{("m16n8k16", a, b, "s32"): (2, 1, 4) for a in ("s8", "u8") for b in ("s8", "u8")},
    **{("m16n8k32", a, b, "s32"): (4, 2, 4) for a in ("s8", "u8") for b in ("s8", "u8")},
    **{("m8n8k32", a, b, "s32"): (1, 1, 2) for a in ("s4", "u4") for b in ("s4", "u4")},
    **{("m16n8k32", a, b, "s32"): (2, 1, 4) for a in ("s4", "u4") for b in ("s4", "u4")},
    **{("m16n8k64", a, b, "s32"): (4, 2, 4) for a in ("s4", "u4") for b in ("s4", "u4")},
}
_MATRIX_TYPES = ("f16", "bf16", "tf32", "f32", "f64", "s8", "u8", "s4", "u4", "b1", "e4m3", "e5m2", "s32")


@lowers("mma", family="Matrix")
def _mma(context: Context, modifiers: Modifiers) -> None:
    if is_refused(context.instruction):
        raise hopper(context.instruction)
    modifiers.flag("sync")
    modifiers.flag("aligned")
    shape = modifiers.take(r"m\d+n\d+k\d+")
    layouts = [word for word in context.instruction.modifiers if word in ("row", "col")]
    modifiers.take("row|col")
    finite = modifiers.flag("satfinite")
    words = [word for word in context.instruction.modifiers if word in _MATRIX_TYPES]
    modifiers.take("|".join(_MATRIX_TYPES))
    bits = modifiers.one_of(("xor", "and")) if "b1" in words else ""
    modifiers.take("rn|popc")
    modifiers.end()
    if len(shape) != 1 or len(words) != 4:
        raise modifiers.unknown("")
    d, a, b, c = words
    if shape[0] == "m8n8k4" and a == b == "f16" and d == c and not finite and len(layouts) == 2:
        _mma_quads(context, layouts, d)
        return
    form = MMA_FORMS.get((shape[0], a, b, c))
    if form is None or layouts != ["row", "col"] or d != c:
        raise Refusal(
            "HP601",
            f"PTX '{context.instruction.name}' is a matrix shape without a lowering",
            "use m16n8k16 (half, bfloat16), m16n8k8 (tf32) or m16n8k32 (int8) with row.col operands",
            context.instruction.name,
        )
    context.expect(4)
    n_a, n_b, n_c = form
    kind = {"f16": "b32", "f32": "f32", "s32": "s32", "f64": "f64"}[c]
    source = "f64" if a == "f64" else "b32"
    groups = []
    for index, (count, element) in enumerate(((n_c, kind), (n_a, source), (n_b, source), (n_c, kind))):
        registers = context.vector(context.operand(index))
        if len(registers) != count:
            raise context.wrong(f"operand {index + 1} needs {count} registers")
        if index:
            groups.append("{{" + ", ".join(context.typed(register, element) for register in registers) + "}}")
    if a == "b1":
        shape_text = shape[0][1:].replace("n", ", ").replace("k", ", ")
        operation = "true" if bits == "xor" else "false"
        context.includes.add(_HEADER)
        context.spread(context.operand(0), kind, f"hipport::mma_b1<{shape_text}, {operation}>({', '.join(groups)})")
        return
    types = ", ".join(f"hipport::Element::{name}" for name in (a, b))
    template = f"<{shape[0][1:].replace('n', ', ').replace('k', ', ')}, {types}>"
    context.includes.add(_HEADER)
    saturate = "_satfinite" if finite else ""
    context.spread(context.operand(0), kind, f"hipport::mma_{c}{saturate}{template}({', '.join(groups)})")


def _mma_quads(context: Context, layouts: list[str], element: str) -> None:
    """m8n8k4 of halves: four products, either layout of A and B, sums in f16 or f32."""
    context.expect(4)
    count = 8 if element == "f32" else 4
    kind = "f32" if element == "f32" else "b32"
    groups = []
    for index, (expected, part) in enumerate(((count, kind), (2, "b32"), (2, "b32"), (count, kind))):
        registers = context.vector(context.operand(index))
        if len(registers) != expected:
            raise context.wrong(f"operand {index + 1} needs {expected} registers")
        groups.append("{{" + ", ".join(context.typed(r, part) for r in registers) + "}}" if index else "")
    context.includes.add(_HEADER)
    rows = ", ".join("true" if layout == "row" else "false" for layout in layouts)
    context.spread(context.operand(0), kind, f"hipport::mma_quads_{element}<{rows}>({', '.join(groups[1:])})")
