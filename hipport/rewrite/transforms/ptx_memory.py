"""Lowering of loads, stores, atomics, address conversions and cp.async (PTX ISA 9.7.9, 9.7.13)."""

from __future__ import annotations

from hipport.rewrite.transforms.ptx_context import CPP, PTX, STORAGE, Context, Modifiers, Refusal, lowers
from hipport.syntax.ptx import AsmOperand, Integer, Name, Sink

_SPACES = ("global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry")
_TYPES = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64")
_SCOPES = {
    "cta": "__HIP_MEMORY_SCOPE_WORKGROUP",
    "cluster": "__HIP_MEMORY_SCOPE_AGENT",
    "gpu": "__HIP_MEMORY_SCOPE_AGENT",
    "sys": "__HIP_MEMORY_SCOPE_SYSTEM",
}
_ORDERS = {
    "relaxed": "__ATOMIC_RELAXED",
    "acquire": "__ATOMIC_ACQUIRE",
    "release": "__ATOMIC_RELEASE",
    "acq_rel": "__ATOMIC_ACQ_REL",
}
_STREAMING = {"cs", "lu", "no_allocate", "evict_first"}
_HINTS = r"L1::\w+|L2::\w+|L1\w*|L2\w*|ca|cg|cs|lu|cv|wb|wt|nc"


def _hints(modifiers: Modifiers) -> tuple[bool, bool]:
    """Take cache operators and eviction hints.

    Returns:
        Whether the access streams (used once), and whether it must not be cached at all (``.cv``).
    """
    words = modifiers.take(_HINTS)
    plain = {word.split("::")[-1] for word in words}
    return bool(plain & _STREAMING), bool(plain & {"cv", "wt"})


def _n_operands(context: Context, needed: int) -> None:
    """Operands needed, and perhaps one more: a cache policy, which is a hint."""
    policy = "L2::cache_hint" in context.instruction.modifiers
    context.expect(needed + 1 if policy else needed)


@lowers("ld", "ldu", family="Memory")
def _ld(context: Context, modifiers: Modifiers) -> None:
    order, scope = modifiers.one_of(("weak", "relaxed", "acquire")), modifiers.one_of(_SCOPES)
    volatile = modifiers.flag("volatile") | modifiers.flag("mmio")
    space = modifiers.one_of(_SPACES, "generic")
    streaming, uncached = _hints(modifiers)
    width = modifiers.one_of(("v2", "v4", "v8"), "v1")
    kind = modifiers.type(*_TYPES)
    modifiers.end()
    _n_operands(context, 2)
    items = context.vector(context.operand(0))
    if len(items) != int(width[1:]):
        raise context.wrong(f"{len(items)} destinations for .{width}")
    pointer = context.pointer(context.operand(1), space, CPP[kind])
    if order in ("relaxed", "acquire"):
        if width != "v1":
            raise modifiers.unknown(width)
        text = f"{PTX}load<{_ORDERS[order]}, {_SCOPES[scope or 'sys']}>({pointer})"
        context.set(items[0], kind, text)
        return
    name = "load_volatile" if volatile or uncached else "load_streaming" if streaming else "load"
    if width == "v1":
        context.set(items[0], kind, f"{PTX}{name}({pointer})")
    else:
        context.spread(context.operand(0), kind, f"{PTX}{name}<{width[1:]}>({pointer})")


@lowers("st", family="Memory")
def _st(context: Context, modifiers: Modifiers) -> None:
    if modifiers.flag("async"):
        from hipport.rewrite.transforms.ptx_refused import hopper

        raise hopper(context.instruction)
    order, scope = modifiers.one_of(("weak", "relaxed", "release")), modifiers.one_of(_SCOPES)
    volatile = modifiers.flag("volatile") | modifiers.flag("mmio")
    space = modifiers.one_of(_SPACES, "generic")
    streaming, uncached = _hints(modifiers)
    width = modifiers.one_of(("v2", "v4", "v8"), "v1")
    kind = modifiers.type(*_TYPES)
    modifiers.end()
    _n_operands(context, 2)
    items = context.vector(context.operand(1))
    if len(items) != int(width[1:]):
        raise context.wrong(f"{len(items)} sources for .{width}")
    pointer = context.pointer(context.operand(0), space, CPP[kind])
    values = ", ".join(context.read(item, kind) for item in items)
    if order in ("relaxed", "release"):
        if width != "v1":
            raise modifiers.unknown(width)
        context.do(f"{PTX}store<{_ORDERS[order]}, {_SCOPES[scope or 'sys']}>({pointer}, {values})")
        return
    name = "store_volatile" if volatile or uncached else "store_streaming" if streaming else "store"
    context.do(f"{PTX}{name}({pointer}, {values})")


_ATOMIC_OPS = ("and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max")
_PACKED = ("f16", "f16x2", "bf16", "bf16x2")


@lowers("atom", "red", family="Memory")
def _atomic(context: Context, modifiers: Modifiers) -> None:
    if modifiers.flag("async"):
        from hipport.rewrite.transforms.ptx_refused import hopper

        raise hopper(context.instruction)
    returns = context.instruction.opcode == "atom"
    order = modifiers.one_of(_ORDERS, "relaxed")
    scope = modifiers.one_of(_SCOPES, "gpu")
    space = modifiers.one_of(_SPACES, "generic")
    operation = modifiers.one_of(_ATOMIC_OPS)
    modifiers.flag("noftz")
    _hints(modifiers)
    width = int(modifiers.one_of(("v2", "v4", "v8"), "v1")[1:])
    kind = modifiers.type("b16", "b32", "b64", "u32", "s32", "u64", "s64", "f32", "f64", *_PACKED)
    modifiers.end()
    if not operation:
        raise modifiers.unknown("")
    first = 1 if returns else 0
    _n_operands(context, first + (3 if operation == "cas" else 2))
    pointer = context.pointer(context.operand(first), space, CPP[kind])
    name = f"atomic_{operation}{'_' + kind if kind in _PACKED else ''}"
    template = f"<{_ORDERS[order]}, {_SCOPES[scope]}>"
    if width > 1:
        if returns or operation == "cas":
            raise modifiers.unknown(f"v{width}")
        base = context.temporary(pointer)
        for i, item in enumerate(context.vector(context.operand(1))):
            context.do(f"{PTX}{name}{template}({base} + {i}, {context.read(item, kind)})")
        return
    values = [context.read(context.operand(first + 1), kind)]
    if operation == "cas":
        values.append(context.read(context.operand(first + 2), kind))
    text = f"{PTX}{name}{template}({pointer}, {', '.join(values)})"
    if returns and not isinstance(context.operand(0), Sink):
        context.set(context.operand(0), kind, text)
    else:
        context.do(text)


@lowers("prefetch", "prefetchu", family="Memory")
def _prefetch(context: Context, modifiers: Modifiers) -> None:
    if modifiers.flag("tensormap"):
        from hipport.rewrite.transforms.ptx_refused import hopper

        raise hopper(context.instruction)
    space = modifiers.one_of(_SPACES, "generic")
    _hints(modifiers)
    modifiers.end()
    context.expect(1)
    context.do(f"{PTX}prefetch({context.pointer(context.operand(0), space, 'char')})")


@lowers("applypriority", "discard", family="Memory")
def _cache_hint(context: Context, modifiers: Modifiers) -> None:
    modifiers.one_of(_SPACES)
    _hints(modifiers)
    modifiers.end()
    context.do(f"static_cast<void>(0) /* {context.instruction.name}: a cache hint without counterpart */")


@lowers("createpolicy", family="Memory")
def _createpolicy(context: Context, modifiers: Modifiers) -> None:
    """Cache policies are hints and are dropped where they are used."""
    context.set(context.operand(0), "b64", "0ull")


@lowers("cvta", family="Memory")
def _cvta(context: Context, modifiers: Modifiers) -> None:
    to = modifiers.flag("to")
    space = modifiers.one_of(_SPACES)
    kind = modifiers.type("u32", "u64")
    modifiers.end()
    context.expect(2)
    source = context.read(context.operand(1), kind)
    if space == "global":
        context.set(context.operand(0), kind, source)
    elif space in ("shared", "shared::cta"):
        name = "generic_to_shared" if to else "shared_to_generic"
        context.set(context.operand(0), kind, f"{PTX}{name}({source})")
    else:
        raise modifiers.unknown(space)


@lowers("isspacep", family="Memory")
def _isspacep(context: Context, modifiers: Modifiers) -> None:
    space = modifiers.one_of(_SPACES)
    modifiers.end()
    context.expect(2)
    if space not in ("global", "shared", "shared::cta", "local"):
        raise modifiers.unknown(space)
    source = context.read(context.operand(1), "u64")
    context.set(context.operand(0), "pred", f"{PTX}is_{space.split('::')[0]}({source})")


@lowers("cp", family="Asynchronous copies")
def _cp(context: Context, modifiers: Modifiers) -> None:
    if not modifiers.flag("async"):
        raise modifiers.unknown("")
    words = set(context.instruction.modifiers)
    if words & {"bulk", "reduce"}:
        from hipport.rewrite.transforms.ptx_refused import hopper

        raise hopper(context.instruction)
    if modifiers.flag("commit_group"):
        modifiers.end()
        context.do(f"{PTX}cp_async_commit_group()")
    elif modifiers.flag("wait_all"):
        modifiers.end()
        context.do(f"{PTX}cp_async_wait_all()")
    elif modifiers.flag("wait_group"):
        modifiers.end()
        context.expect(1)
        context.do(f"{PTX}cp_async_wait_group<{context.constant(context.operand(0))}>()")
    elif modifiers.flag("mbarrier"):
        _cp_async_arrive(context, modifiers)
    else:
        _cp_async_copy(context, modifiers)


def _cp_async_arrive(context: Context, modifiers: Modifiers) -> None:
    modifiers.flag("arrive")
    counted = not modifiers.flag("noinc")
    space = modifiers.one_of(_SPACES, "generic")
    modifiers.flag("b64")
    modifiers.end()
    context.expect(1)
    context.includes.add("hipport/mbarrier.h")
    pointer = context.pointer(context.operand(0), space, "unsigned long long")
    context.do(f"{PTX}cp_async_mbarrier_arrive{'' if counted else '_noinc'}({pointer})")


def _cp_async_copy(context: Context, modifiers: Modifiers) -> None:
    modifiers.one_of(("ca", "cg"))
    shared, source = modifiers.one_of(("shared", "shared::cta")), modifiers.flag("global")
    _hints(modifiers)
    modifiers.end()
    if not shared or not source:
        raise modifiers.unknown("")
    operands = list(context.instruction.operands)
    if "L2::cache_hint" in context.instruction.modifiers:
        operands.pop()
    if len(operands) not in (3, 4):
        raise context.wrong(f"{len(operands)} operands")
    size = context.constant(operands[2])
    if isinstance(operands[2], Integer) and operands[2].value not in (4, 8, 16):
        raise context.wrong("the copy size must be 4, 8 or 16")
    to = context.pointer(operands[0], "shared", "void")
    origin = context.pointer(operands[1], "global", "const void")
    if len(operands) == 3:
        context.do(f"{PTX}cp_async<{size}>({to}, {origin})")
        return
    last = operands[3]
    is_predicate = isinstance(last, AsmOperand | Name) and context.variable(last).storage == "pred"
    # A predicate is PTX's ignore-src: nothing is read, zeros are written.
    count = f"({context.read(last, 'pred')} ? 0 : {size})" if is_predicate else context.read(last, "s32")
    context.do(f"{PTX}cp_async_zfill<{size}>({to}, {origin}, {count})")


def storage_of(letter: str) -> str:
    """PTX type of the storage behind an asm constraint letter.

    Raises:
        Refusal: the letter is not one of those that CUDA documents and this tool carries.
    """
    found = STORAGE.get(letter)
    if found is None:
        raise Refusal(
            "HP501",
            f"asm constraint '{letter}' is not understood",
            "use the constraints h, r, l, f, d and n",
            "constraint",
        )
    return found
