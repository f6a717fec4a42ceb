"""Lowering of floating-point instructions (PTX ISA 9.7.3 to 9.7.5)."""

from __future__ import annotations

from hipport.rewrite.transforms.ptx_context import CPP, PTX, Context, Modifiers, lowers
from hipport.rewrite.transforms.ptx_refused import hopper, is_refused

_ROUNDINGS = ("rn", "rz", "rm", "rp")
_PACKED = ("f16", "f16x2", "bf16", "bf16x2")
_APPROXIMATE = (
    "HP510",
    "{name} becomes AMD's instruction or library function: as accurate or better, but not the same bits",
    "compare with a tolerance",
)


def _wrapped(text: str, *, flush: bool, saturate: bool, relu: bool, kind: str) -> str:
    """Results pass through the flush of subnormals, then the clamp."""
    suffix = {"f32": "", "f64": "", "f32x2": ""}.get(kind, f"_{kind}")
    if flush:
        text = f"{PTX}ftz{suffix}({text})"
    if saturate:
        text = f"{PTX}saturate{suffix}({text})"
    if relu:
        text = f"{PTX}relu{suffix}({text})"
    return text


def _inputs(context: Context, kind: str, flush: bool, *operands: int) -> list[str]:
    suffix = {"f32": "", "f64": ""}.get(kind, f"_{kind}")
    texts = [context.read(context.operand(i), kind) for i in operands]
    return [f"{PTX}ftz{suffix}({text})" for text in texts] if flush else texts


def arithmetic(context: Context, modifiers: Modifiers) -> None:
    """add, sub, mul, mad, fma, div of every floating-point type."""
    name = context.instruction.opcode
    rounding = modifiers.one_of(_ROUNDINGS)
    approximate = modifiers.one_of(("approx", "full")) if name == "div" else ""
    flush, saturate = modifiers.flag("ftz"), modifiers.flag("sat")
    relu = modifiers.flag("relu") if name == "fma" else False
    modifiers.flag("noftz")
    kind = modifiers.type("f32", "f64", "f32x2", *_PACKED)
    narrow = modifiers.one_of(("f16", "bf16")) if kind == "f32" and name in ("add", "sub", "fma") else ""
    modifiers.end()
    if kind == "f32x2" and name in ("add", "sub", "mul", "fma"):
        _both(context, name, rounding or "rn", flush=flush)
        return
    if kind == "f32x2" or (kind == "f64" and name == "div" and rounding != "rn"):
        raise modifiers.unknown(rounding)
    n_sources = 3 if name in ("fma", "mad") else 2
    context.expect(n_sources + 1)
    if name == "mad":
        name = "fma"
    if narrow and flush:
        raise modifiers.unknown("ftz")
    if narrow:  # the factors, or the first summand, are halves
        wide = [_as_real(context.read(context.operand(i), narrow), narrow) for i in range(1, n_sources)]
        arguments = ", ".join([*wide, context.read(context.operand(n_sources), "f32")])
    else:
        arguments = ", ".join(_inputs(context, kind, flush, *range(1, n_sources + 1)))
    if approximate:
        context.note(*(part.format(name=context.instruction.name) for part in _APPROXIMATE))
        text = f"{PTX}div_{'approx_ftz' if flush else 'approx'}({arguments})"
    elif kind in _PACKED:
        if rounding not in ("", "rn"):
            raise modifiers.unknown(rounding)
        text = f"{PTX}{name}_{kind}({arguments})"
    else:
        text = f"{PTX}{name}_{rounding or 'rn'}({arguments})"
        if (
            not rounding and not narrow and name in ("add", "sub", "mul")
        ):  # the assembler may contract these; so may clang
            sign = {"add": "+", "sub": "-", "mul": "*"}[name]
            first, second = _inputs(context, kind, flush, 1, 2)
            text = f"({_operand(first)} {sign} {_operand(second)})"
    context.set(context.operand(0), kind, _wrapped(text, flush=flush, saturate=saturate, relu=relu, kind=kind))


def _both(context: Context, name: str, rounding: str, *, flush: bool) -> None:
    """Two f32 operations in 64-bit registers."""
    n_sources = 3 if name == "fma" else 2
    context.expect(n_sources + 1)
    names = "xyz"[:n_sources]
    inner = ", ".join(f"{PTX}ftz({x})" if flush else x for x in names)
    call = _wrapped(f"{PTX}{name}_{rounding}({inner})", flush=flush, saturate=False, relu=False, kind="f32")
    operation = f"[]({', '.join(f'float {x}' for x in names)}) {{ return {call}; }}"
    sources = ", ".join(context.read(context.operand(i), "f32x2") for i in range(1, n_sources + 1))
    context.set(context.operand(0), "f32x2", f"{PTX}both_f32({operation}, {sources})")


def _operand(text: str) -> str:
    return text if text.replace("_", "a").isalnum() or text.endswith(")") else f"({text})"


@lowers("fma", family="Floating point")
def _fma(context: Context, modifiers: Modifiers) -> None:
    if is_refused(context.instruction):
        raise hopper(context.instruction)
    arithmetic(context, modifiers)


def min_max(context: Context, modifiers: Modifiers) -> None:
    """min and max of floating-point values, with two or three sources."""
    name = context.instruction.opcode
    flush, keep_nan = modifiers.flag("ftz"), modifiers.flag("NaN")
    magnitude = modifiers.flag("abs")
    sign = modifiers.flag("xorsign")
    modifiers.flag("abs")
    kind = modifiers.type("f32", "f64", *_PACKED)
    modifiers.end()
    context.expect(3, 4)
    n_sources = len(context.instruction.operands) - 1
    if (sign and (n_sources != 2 or kind == "f64" or not magnitude)) or (magnitude and not sign and n_sources != 3):
        raise modifiers.unknown("abs")
    if n_sources == 3 and kind != "f32":
        raise modifiers.unknown(kind)
    sources = _inputs(context, kind, flush, *range(1, n_sources + 1))
    suffix = "" if kind in ("f32", "f64") else f"_{kind}"
    nan = "_nan" if keep_nan else ""
    function = f"{PTX}{name}{nan}{'_xorsign' if sign else ''}{suffix}" if suffix else f"{PTX}f{name}{nan}"
    if sign and not suffix:
        a, b = (context.temporary(source) for source in sources)
        text = f"{PTX}xorsign({a}, {b}, {function}(__builtin_fabsf({a}), __builtin_fabsf({b})))"
    else:
        if magnitude and n_sources == 3:
            sources = [f"__builtin_fabsf({source})" for source in sources]
        text = f"{function}({sources[0]}, {sources[1]})"
        if n_sources == 3:
            text = f"{function}({text}, {sources[2]})"
    context.set(context.operand(0), kind, _wrapped(text, flush=flush, saturate=False, relu=False, kind=kind))


def sign(context: Context, modifiers: Modifiers) -> None:
    """abs and neg of floating-point values."""
    context.expect(2)
    flush = modifiers.flag("ftz")
    kind = modifiers.type("f32", "f64", *_PACKED)
    modifiers.end()
    name = context.instruction.opcode
    (source,) = _inputs(context, kind, flush, 1)
    suffix = "" if kind in ("f32", "f64") else f"_{kind}"
    context.set(context.operand(0), kind, f"{PTX}f{name}{suffix}({source})")


@lowers("copysign", family="Floating point")
def _copysign(context: Context, modifiers: Modifiers) -> None:
    context.expect(3)
    kind = modifiers.type("f32", "f64")
    modifiers.end()
    a, b = (context.read(context.operand(i), kind) for i in (1, 2))
    # PTX copies the sign of the first source onto the second.
    context.set(context.operand(0), kind, f"__builtin_copysign{'f' if kind == 'f32' else ''}({b}, {a})")


@lowers("testp", family="Floating point")
def _testp(context: Context, modifiers: Modifiers) -> None:
    context.expect(2)
    question = modifiers.one_of(("finite", "infinite", "number", "notanumber", "normal", "subnormal"))
    kind = modifiers.type("f32", "f64")
    modifiers.end()
    if not question:
        raise modifiers.unknown("")
    context.set(context.operand(0), "pred", f"{PTX}is_{question}({context.read(context.operand(1), kind)})")


_UNARY = ("rcp", "sqrt", "rsqrt", "ex2", "lg2", "sin", "cos", "tanh")


@lowers(*_UNARY, family="Floating point")
def _unary(context: Context, modifiers: Modifiers) -> None:
    context.expect(2)
    name = context.instruction.opcode
    approximate = modifiers.flag("approx")
    rounding = modifiers.one_of(_ROUNDINGS)
    flush = modifiers.flag("ftz")
    kind = modifiers.type("f32", "f64", *_PACKED)
    modifiers.end()
    if approximate == bool(rounding) or (rounding and name not in ("rcp", "sqrt")):
        raise modifiers.unknown(rounding)
    if kind == "f64" and rounding not in ("", "rn"):
        raise modifiers.unknown(rounding)
    if kind in _PACKED and name not in ("ex2", "tanh"):
        raise modifiers.unknown(kind)
    source = context.read(context.operand(1), kind)
    if approximate:
        context.note(*(part.format(name=context.instruction.name) for part in _APPROXIMATE))
        suffix = f"_{kind}" if kind in _PACKED else ""
        text = f"{PTX}{name}_approx{'_ftz' if flush and kind == 'f32' else ''}{suffix}({source})"
    else:
        source = f"{PTX}ftz({source})" if flush else source
        text = f"{PTX}{name}_{rounding}({source})"
        text = f"{PTX}ftz({text})" if flush else text
    context.set(context.operand(0), kind, text)


_FLOATS = ("f16", "bf16", "f32", "f64")
_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
_ROUND_INTEGER = ("rni", "rzi", "rmi", "rpi")


@lowers("cvt", family="Conversion")
def _cvt(context: Context, modifiers: Modifiers) -> None:
    if is_refused(context.instruction):
        raise hopper(context.instruction)
    rounding = modifiers.one_of((*_ROUND_INTEGER, "rn", "rna", "rz", "rm", "rp"))
    flush, saturate = modifiers.flag("ftz"), modifiers.flag("sat")
    finite, relu = modifiers.flag("satfinite"), modifiers.flag("relu")
    if modifiers.flag("pack"):
        _cvt_pack(context, modifiers, saturate=saturate)
        return
    packed = modifiers.one_of(("f16x2", "bf16x2", "tf32", *_SMALL, "ue8m0x2"))
    if packed:
        _cvt_packed(context, modifiers, packed, rounding, flush=flush, finite=finite, relu=relu)
        return
    result = modifiers.type(*_FLOATS, *_INTEGERS)
    source = result if context.instruction.modifiers.count(result) == 2 else modifiers.type(*_FLOATS, *_INTEGERS)
    modifiers.flag(result)
    modifiers.end()
    context.expect(2)
    text = context.read(context.operand(1), source)
    if source in _INTEGERS and result in _INTEGERS:
        text = f"{PTX}cvt{'_sat' if saturate else ''}<{CPP[result]}, {CPP[source]}>({text})"
    elif source in _INTEGERS:
        if rounding not in _ROUNDINGS:
            raise modifiers.unknown(rounding)
        text = f"{PTX}cvt_{rounding}_{result}<{CPP[source]}>({text})"
        text = _wrapped(text, flush=False, saturate=saturate, relu=False, kind=result)
    elif result in _INTEGERS:
        if rounding not in _ROUND_INTEGER:
            raise modifiers.unknown(rounding)
        text = _as_real(text, source)
        text = f"{PTX}ftz({text})" if flush and source == "f32" else text
        text = f"{PTX}cvt_{rounding}<{CPP[result]}>({text})"
    else:
        text = _between_floats(modifiers, text, source, result, rounding, flush=flush, saturate=saturate, relu=relu)
        text = f"{PTX}finite_{result}({text})" if finite else text
    if finite and result not in ("f16", "bf16"):
        raise modifiers.unknown("satfinite")
    context.set(context.operand(0), result, text)


def _as_real(text: str, kind: str) -> str:
    """A half-precision operand as float, which holds it exactly."""
    return f"{PTX}{kind}_value({text})" if kind in ("f16", "bf16") else text


def _between_floats(
    modifiers: Modifiers, text: str, source: str, result: str, rounding: str, *, flush: bool, saturate: bool, relu: bool
) -> str:
    text = _as_real(text, source)
    if flush and source == "f32":
        text = f"{PTX}ftz({text})"
    if rounding in _ROUND_INTEGER:
        if source != result:
            raise modifiers.unknown(rounding)
        text = f"{PTX}round_{rounding}({text})"
        if result in ("f16", "bf16"):
            text = f"{PTX}cvt_rn_{result}({text})"
    elif result in ("f16", "bf16") or (source == "f64" and result == "f32"):
        if rounding not in _ROUNDINGS and not (result == source):
            raise modifiers.unknown(rounding)
        text = f"{PTX}cvt_{rounding or 'rn'}_{result}({text})"
    elif result == "f64" and source != "f64":
        text = f"static_cast<double>({text})"
    return _wrapped(text, flush=flush and result == "f32", saturate=saturate, relu=relu, kind=result)


def _cvt_pack(context: Context, modifiers: Modifiers, *, saturate: bool) -> None:
    """cvt.pack.sat: two signed words to two saturated small integers, low parts of the third operand above them."""
    result = modifiers.type("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2")
    modifiers.type("s32")
    modifiers.flag("b32")
    modifiers.end()
    bits = int(result[1:])
    context.expect(3 if bits == 16 else 4)
    if not saturate:
        raise modifiers.unknown("")
    arguments = [context.read(context.operand(i), "s32") for i in (1, 2)]
    arguments.append(context.read(context.operand(3), "b32") if bits < 16 else "0u")
    signed = "true" if result[0] == "s" else "false"
    context.set(context.operand(0), "b32", f"{PTX}cvt_pack_sat<{bits}, {signed}>({', '.join(arguments)})")


_SMALL = ("e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2", "e2m1x2")


def _cvt_packed(
    context: Context, modifiers: Modifiers, result: str, rounding: str, *, flush: bool, finite: bool, relu: bool
) -> None:
    source = modifiers.one_of(("f32", "f16x2", "bf16x2", *_SMALL, "ue8m0x2"))
    modifiers.end()
    if flush:
        raise modifiers.unknown("ftz")
    if source == "f32" and result != "tf32":
        context.expect(3)
        # The first source goes to the upper part.
        high, low = (context.read(context.operand(i), "f32") for i in (1, 2))
    else:
        context.expect(2)
        high = low = ""
    if result == "tf32" and source == "f32" and rounding in ("rn", "rna", "rz"):
        text = f"{PTX}cvt_{rounding}_tf32({context.read(context.operand(1), 'f32')})"
        text = f"{PTX}finite_tf32({text})" if finite else text
        text = f"{PTX}relu_tf32({text})" if relu else text
    elif result in ("f16x2", "bf16x2") and source == "f32" and rounding in ("rn", "rz"):
        name = f"cvt_{rounding}{'_satfinite' if finite else ''}_{result}"
        text = _wrapped(f"{PTX}{name}({low}, {high})", flush=False, saturate=False, relu=relu, kind=result)
    elif result in _SMALL and source in ("f32", "f16x2") and rounding == "rn" and finite:
        if source == "f16x2":
            value = context.temporary(context.typed(context.operand(1), "f16x2"))
            low, high = f"{PTX}f16_value({value})", f"{PTX}f16_value({value} >> 16)"
        text = f"{PTX}cvt_rn_satfinite{'_relu' if relu else ''}_{result}({low}, {high})"
    elif result == "f16x2" and source in _SMALL and rounding == "rn":
        text = f"{PTX}cvt_rn_f16x2_{source}({context.read(context.operand(1), source)})"
        text = _wrapped(text, flush=False, saturate=False, relu=relu, kind="f16x2")
    elif result == "ue8m0x2" and source in ("f32", "bf16x2") and rounding in ("rz", "rp") and not relu:
        if source == "bf16x2":
            value = context.temporary(context.typed(context.operand(1), "bf16x2"))
            low, high = f"{PTX}bf16_value({value})", f"{PTX}bf16_value({value} >> 16)"
        choices = ", ".join("true" if flag else "false" for flag in (rounding == "rp", finite))
        text = f"{PTX}cvt_ue8m0x2<{choices}>({low}, {high})"
    elif result == "bf16x2" and source == "ue8m0x2" and rounding == "rn" and not relu and not finite:
        text = f"{PTX}cvt_rn_bf16x2_ue8m0x2({context.read(context.operand(1), source)})"
    else:
        raise modifiers.unknown(source or rounding)
    context.set(context.operand(0), result, text)
