"""Lowering of video instructions: arithmetic on bytes and halfwords of registers (PTX ISA 9.7.18, 9.7.19)."""

from __future__ import annotations

from dataclasses import dataclass

from hipport.rewrite.transforms.ptx_context import PTX, Context, Modifiers, lowers
from hipport.rewrite.transforms.ptx_integer import COMPARE_INTEGER
from hipport.syntax.ptx import Negative, Operand, Part

_ELEMENT = {
    ("b", "u32"): "unsigned char", ("b", "s32"): "signed char",
    ("h", "u32"): "unsigned short", ("h", "s32"): "short",
    ("", "u32"): "unsigned", ("", "s32"): "int",
}  # fmt: skip
_TYPES = ("u32", "s32")
_SECOND = ("add", "min", "max")


@dataclass(frozen=True, slots=True)
class _Element:
    """One element of a register: its C++ type, its number and the register."""

    type: str
    number: int
    register: Operand


def _element(context: Context, operand: Operand, kind: str) -> _Element:
    if not isinstance(operand, Part):
        return _Element(_ELEMENT["", kind], 0, operand)
    size, digits = operand.selector[0], operand.selector[1:]
    if len(digits) != 1 or int(digits) >= (4 if size == "b" else 2):
        raise context.wrong(f"selector '.{operand.selector}'")
    return _Element(_ELEMENT[size, kind], int(digits), operand.operand)


def _read(context: Context, operand: Operand, kind: str) -> str:
    element = _element(context, operand, kind)
    return f"{PTX}video_part<{element.type}, {element.number}>({context.read(element.register, 'b32')})"


def _types(modifiers: Modifiers, context: Context, count: int) -> list[str]:
    words = [m for m in context.instruction.modifiers if m in _TYPES]
    modifiers.take("u32|s32")
    if len(words) != count:
        raise modifiers.unknown("")
    return words


@lowers("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vset", "vshl", "vshr", family="Scalar video")
def _scalar(context: Context, modifiers: Modifiers) -> None:
    """One operation on parts of registers, then a second one or a merge with the third operand."""
    name = context.instruction.opcode
    if name == "vset":
        relation = modifiers.one_of(COMPARE_INTEGER)
        a_kind, b_kind = _types(modifiers, context, 2)
        kind, operation = "u32", f"set_{COMPARE_INTEGER.get(relation, '')}"
        if not relation:
            raise modifiers.unknown("")
    else:
        kind, a_kind, b_kind = _types(modifiers, context, 3)
        operation = name[1:]
    saturate = name != "vset" and modifiers.flag("sat")
    if name in ("vshl", "vshr"):
        mode = modifiers.one_of(("clamp", "wrap"))
        if not mode or b_kind != "u32":
            raise modifiers.unknown("")
        if saturate and name == "vshl":
            raise modifiers.unknown("sat")
        operation = f"{operation}_{mode}"
    second = modifiers.one_of(_SECOND)
    modifiers.end()
    destination = context.operand(0)
    merge = isinstance(destination, Part)
    context.expect(4 if second or merge else 3)
    if second and merge:
        raise context.wrong("a second operation and a merge")
    target = _element(context, destination, kind)
    a, b = _read(context, context.operand(1), a_kind), _read(context, context.operand(2), b_kind)
    template = f"<{PTX}video_{operation}, {target.type}, {'true' if saturate else 'false'}>"
    text = f"{PTX}video{template}({a}, {b})"
    if second:
        c = context.typed(context.operand(3), kind)
        text = f"{PTX}video_then<{PTX}video_{second}, {_ELEMENT['', kind]}>({text}, {c})"
    elif merge:
        c = context.read(context.operand(3), "b32")
        text = f"{PTX}video_merge<{target.type}, {target.number}>({text}, {c})"
    else:
        text = f"static_cast<unsigned>({text})"
    context.set(target.register, kind, text)


@lowers("vmad", family="Scalar video")
def _vmad(context: Context, modifiers: Modifiers) -> None:
    context.expect(4)
    kind, a_kind, b_kind = _types(modifiers, context, 3)
    plus_one, saturate = modifiers.flag("po"), modifiers.flag("sat")
    scale = modifiers.one_of(("shr7", "shr15"))
    modifiers.end()
    sources: list[Operand] = []
    negated: list[bool] = []
    for i in (1, 2, 3):
        operand = context.operand(i)
        negated.append(isinstance(operand, Negative))
        sources.append(operand.operand if isinstance(operand, Negative) else operand)
    if plus_one and any(negated):
        raise context.wrong("'.po' and negated operands")
    product = negated[0] != negated[1]
    if product and negated[2]:
        raise context.wrong("a negated product and a negated addend")
    final = "s32" in (a_kind, b_kind) or product or negated[2]
    flags = [final, saturate, plus_one, product, negated[2]]
    words = ["true" if f else "false" for f in flags]
    template = f"<{words[0]}, {scale[3:] or 0}, {', '.join(words[1:])}>"
    a, b = _read(context, sources[0], a_kind), _read(context, sources[1], b_kind)
    context.set(context.operand(0), kind, f"{PTX}video_mad{template}({a}, {b}, {context.read(sources[2], 'b32')})")


@lowers(
    "vadd2", "vsub2", "vabsdiff2", "vmin2", "vmax2", "vavrg2", "vset2",
    "vadd4", "vsub4", "vabsdiff4", "vmin4", "vmax4", "vavrg4", "vset4",
    family="SIMD video",
)  # fmt: skip
def _simd(context: Context, modifiers: Modifiers) -> None:
    """Two halfwords or four bytes at once, chosen from both sources by selectors."""
    context.expect(4)
    name = context.instruction.opcode
    size = "h" if name.endswith("2") else "b"
    if name.startswith("vset"):
        relation = modifiers.one_of(COMPARE_INTEGER)
        a_kind, b_kind = _types(modifiers, context, 2)
        kind, operation = "u32", f"set_{COMPARE_INTEGER.get(relation, '')}"
        if not relation:
            raise modifiers.unknown("")
    else:
        kind, a_kind, b_kind = _types(modifiers, context, 3)
        operation = name[1:-1]
    saturate, accumulate = not name.startswith("vset") and modifiers.flag("sat"), modifiers.flag("add")
    modifiers.end()
    if accumulate and saturate:
        raise modifiers.unknown("sat")
    destination, mask = context.operand(0), (1 << (2 if size == "h" else 4)) - 1
    if isinstance(destination, Part):
        mask = sum(1 << int(digit) for digit in set(_digits(context, destination, size, 1, mask.bit_length())))
        destination = destination.operand
    registers = [o.operand if isinstance(o, Part) else o for o in (context.operand(1), context.operand(2))]
    a, b = (context.read(register, "b32") for register in registers)
    chosen = [_chosen(context, context.operand(i), size, a, b) or (a, b)[i - 1] for i in (1, 2)]
    words = ", ".join("true" if f else "false" for f in (saturate, accumulate))
    types = ", ".join(_ELEMENT[size, k] for k in (kind, a_kind, b_kind))
    c = context.read(context.operand(3), "b32")
    call = f"{PTX}simd<{PTX}video_{operation}, {types}, {words}, {mask}>({chosen[0]}, {chosen[1]}, {c})"
    context.set(destination, kind, call)


def _digits(context: Context, part: Part, size: str, fewest: int, most: int) -> str:
    digits = part.selector[1:]
    if part.selector[0] != size or not fewest <= len(digits) <= most:
        raise context.wrong(f"selector '.{part.selector}'")
    return digits


def _chosen(context: Context, operand: Operand, size: str, a: str, b: str) -> str:
    """Elements picked from both sources: the last digit of the selector names the lowest element."""
    if not isinstance(operand, Part):
        return ""
    count = 2 if size == "h" else 4
    digits = _digits(context, operand, size, count, count)
    nibbles = digits if size == "b" else "".join(f"{2 * int(d) + 1}{2 * int(d)}" for d in digits)
    return f"{PTX}prmt({a}, {b}, 0x{nibbles}u)"
