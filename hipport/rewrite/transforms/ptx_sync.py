"""Lowering of barriers, fences, warp collectives and control instructions (PTX ISA 9.7.12, 9.7.13, 9.7.19)."""

from __future__ import annotations

from hipport.rewrite.transforms.ptx_context import CPP, PTX, Context, Modifiers, Refusal, lowers
from hipport.rewrite.transforms.ptx_refused import hopper
from hipport.syntax.ptx import Integer, Pair, Sink

_WARP = "hipport/warp.h"
_SCOPES = {"cta": "cta", "gl": "gpu", "gpu": "gpu", "cluster": "gpu", "sys": "sys"}


@lowers("bar", "barrier", family="Barriers")
def _bar(context: Context, modifiers: Modifiers) -> None:
    if modifiers.flag("warp"):
        modifiers.flag("sync")
        modifiers.end()
        context.expect(1)
        context.includes.add(_WARP)
        context.do(f"hipport::syncwarp({context.read(context.operand(0), 'b32')})")
        return
    if "cluster" in context.instruction.modifiers:
        raise hopper(context.instruction)
    modifiers.flag("cta")
    action = modifiers.one_of(("sync", "arrive", "red"))
    modifiers.flag("aligned")
    reduction = modifiers.one_of(("popc", "and", "or"))
    kind = modifiers.one_of(("u32", "pred"))
    modifiers.end()
    if action == "red":
        _bar_red(context, reduction, kind)
        return
    if not action or reduction or kind:
        raise modifiers.unknown(reduction or kind)
    context.expect(1, 2)
    which = context.operand(0)
    if len(context.instruction.operands) == 1 and action == "sync" and which == Integer(0):
        context.do("__syncthreads()")
        return
    number = context.read(which, "u32")
    count = context.read(context.operand(1), "u32") if len(context.instruction.operands) == 2 else ""
    if action == "arrive" and not count:
        raise context.wrong("a thread count is needed")
    context.includes.add("hipport/named_barrier.h")
    context.note(
        "HP511",
        "named barrier: AMD has one barrier per workgroup, so this one is counted in LDS",
        "its threads must be whole wavefronts (64 on CDNA): two warps of one wavefront must not wait for each other; "
        "call hipport::named_barrier_init() at the start of the kernel where hipport did not insert it",
        f"{context.instruction.opcode}.{action}",
    )
    arguments = f"{number}, {count}" if count else number
    context.do(f"hipport::named_barrier_{action}({arguments})")


def _bar_red(context: Context, reduction: str, kind: str) -> None:
    context.expect(3, 4)
    if context.operand(1) != Integer(0) or len(context.instruction.operands) == 4:
        raise Refusal(
            "HP512",
            "a barrier reduction on a named barrier has no counterpart",
            "reduce through LDS and a barrier",
            context.instruction.name,
        )
    predicate = context.read(context.operand(len(context.instruction.operands) - 1), "pred")
    if reduction == "popc" and kind == "u32":
        context.set(context.operand(0), "u32", f"__syncthreads_count({predicate})")
    elif reduction in ("and", "or") and kind == "pred":
        context.set(context.operand(0), "pred", f"(__syncthreads_{reduction}({predicate}) != 0)")
    else:
        raise context.wrong("unknown reduction")


@lowers("membar", "fence", family="Fences")
def _fence(context: Context, modifiers: Modifiers) -> None:
    context.expect(0)
    if modifiers.flag("proxy") or any(word.startswith("proxy") for word in context.instruction.modifiers):
        words = modifiers.take(r".*")
        if any("tensormap" in word for word in words):
            raise hopper(context.instruction)
        # Generic and asynchronous accesses go the same way on AMD; the order within the block remains.
        context.do(f"{PTX}fence_cta()")
        return
    if "mbarrier_init" in context.instruction.modifiers:
        modifiers.take(r".*")
        context.do(f"{PTX}fence_cta()")
        return
    order = modifiers.one_of(("sc", "acq_rel", "acquire", "release"))
    scope = modifiers.one_of(_SCOPES)
    modifiers.end()
    if not scope:
        raise modifiers.unknown("")
    strong = context.instruction.opcode == "membar" or order in ("sc", "")
    context.do(f"{PTX}fence_{'sc_' if strong else ''}{_SCOPES[scope]}()")


@lowers("shfl", family="Warp")
def _shfl(context: Context, modifiers: Modifiers) -> None:
    synced = modifiers.flag("sync")
    mode = modifiers.one_of(("up", "down", "bfly", "idx"))
    modifiers.type("b32")
    modifiers.end()
    if not mode:
        raise modifiers.unknown("")
    context.expect(5 if synced else 4)
    dst = context.operand(0)
    value = context.typed(context.operand(1), "b32")
    lane, clamp = (context.read(context.operand(i), "b32") for i in (2, 3))
    mask = context.read(context.operand(4), "b32") if synced else "hipport::full_mask"
    context.includes.add(_WARP)
    if not isinstance(dst, Pair):
        context.set(dst, "b32", f"{PTX}shfl_{mode}({value}, {lane}, {clamp}, {mask})[0]")
        return
    both = context.temporary(f"{PTX}shfl_{mode}({value}, {lane}, {clamp}, {mask})")
    if not isinstance(dst.first, Sink):
        context.set(dst.first, "b32", f"{both}[0]")
    if not isinstance(dst.second, Sink):
        context.set(dst.second, "pred", f"({both}[1] != 0)")


@lowers("vote", family="Warp")
def _vote(context: Context, modifiers: Modifiers) -> None:
    synced = modifiers.flag("sync")
    what = modifiers.one_of(("all", "any", "uni", "ballot"))
    kind = modifiers.type("pred", "b32")
    modifiers.end()
    if not what or (kind == "b32") != (what == "ballot"):
        raise modifiers.unknown("")
    context.expect(3 if synced else 2)
    predicate = context.read(context.operand(1), "pred")
    mask = context.read(context.operand(2), "b32") if synced else "hipport::full_mask"
    context.includes.add(_WARP)
    text = f"hipport::{what}_sync({mask}, {predicate})"
    context.set(context.operand(0), kind, text if kind == "b32" else f"({text} != 0)")


@lowers("match", family="Warp")
def _match(context: Context, modifiers: Modifiers) -> None:
    what = modifiers.one_of(("any", "all"))
    modifiers.flag("sync")
    kind = modifiers.type("b32", "b64")
    modifiers.end()
    context.expect(3)
    value, mask = context.typed(context.operand(1), kind), context.read(context.operand(2), "b32")
    context.includes.add(_WARP)
    dst = context.operand(0)
    if what == "any":
        context.set(dst, "b32", f"hipport::match_any_sync({mask}, {value})")
        return
    context.declare("int ptx_all = 0")
    first = dst.first if isinstance(dst, Pair) else dst
    context.set(first, "b32", f"hipport::match_all_sync({mask}, {value}, &ptx_all)")
    if isinstance(dst, Pair) and not isinstance(dst.second, Sink):
        context.set(dst.second, "pred", "(ptx_all != 0)")


@lowers("redux", family="Warp")
def _redux(context: Context, modifiers: Modifiers) -> None:
    modifiers.flag("sync")
    operation = modifiers.one_of(("add", "min", "max", "and", "or", "xor"))
    magnitude, keep_nan = modifiers.flag("abs"), modifiers.flag("NaN")
    kind = modifiers.type("u32", "s32", "b32", "f32")
    modifiers.end()
    if not operation:
        raise modifiers.unknown("")
    context.expect(3)
    value, mask = context.typed(context.operand(1), kind), context.read(context.operand(2), "b32")
    context.includes.add(_WARP)
    if kind == "f32":
        name = f"{PTX}redux_{operation}{'_abs' if magnitude else ''}{'_nan' if keep_nan else ''}"
        context.set(context.operand(0), kind, f"{name}({mask}, {value})")
        return
    context.set(context.operand(0), kind, f"hipport::reduce_{operation}_sync({mask}, {value})")


@lowers("activemask", family="Warp")
def _activemask(context: Context, modifiers: Modifiers) -> None:
    modifiers.type("b32")
    modifiers.end()
    context.expect(1)
    context.includes.add(_WARP)
    context.set(context.operand(0), "b32", "hipport::activemask()")


@lowers("elect", family="Warp")
def _elect(context: Context, modifiers: Modifiers) -> None:
    modifiers.flag("sync")
    modifiers.end()
    context.expect(2)
    mask = context.read(context.operand(1), "b32")
    context.includes.add(_WARP)
    dst = context.operand(0)
    leader = context.temporary(f"{PTX}elect({mask})")
    if isinstance(dst, Pair):
        if not isinstance(dst.first, Sink):
            context.set(dst.first, "b32", leader)
        if not isinstance(dst.second, Sink):
            context.set(dst.second, "pred", f"({leader} == hipport::lane_id())")
    else:
        context.set(dst, "b32", leader)


@lowers("nanosleep", family="Control")
def _nanosleep(context: Context, modifiers: Modifiers) -> None:
    modifiers.type("u32")
    modifiers.end()
    context.expect(1)
    context.do(f"{PTX}nanosleep({context.read(context.operand(0), 'u32')})")


@lowers("trap", "brkpt", family="Control")
def _trap(context: Context, modifiers: Modifiers) -> None:
    modifiers.end()
    context.expect(0)
    context.do("__builtin_trap()" if context.instruction.opcode == "trap" else "__builtin_debugtrap()")


@lowers("exit", family="Control")
def _exit(context: Context, modifiers: Modifiers) -> None:
    modifiers.end()
    context.expect(0)
    if not context.in_kernel:
        raise Refusal(
            "HP513",
            "PTX exit ends one thread; outside a __global__ function no C++ statement does that",
            "return a flag and leave the kernel with return",
            "exit",
        )
    context.do("return")


@lowers("pmevent", family="Control")
def _pmevent(context: Context, modifiers: Modifiers) -> None:
    context.do("static_cast<void>(0) /* pmevent: profiler only */")


@lowers("griddepcontrol", family="Control")
def _griddepcontrol(context: Context, modifiers: Modifiers) -> None:
    """Kernels of a stream follow each other on AMD, so the dependency holds already."""
    modifiers.one_of(("wait", "launch_dependents"))
    modifiers.end()
    context.do(f"static_cast<void>(0) /* {context.instruction.name}: kernels of a stream run one after another */")


@lowers("bra", family="Control")
def _bra(context: Context, modifiers: Modifiers) -> None:
    modifiers.flag("uni")
    modifiers.end()
    context.expect(1)
    target = context.operand(0)
    name = getattr(target, "name", "")
    if not name:
        raise context.wrong("a label is expected")
    context.do(f"goto {label(name)}")


def label(name: str) -> str:
    """C++ label for a PTX label."""
    return "ptx_" + "".join(c if c.isalnum() else "_" for c in name)


@lowers("mbarrier", family="Asynchronous copies")
def _mbarrier(context: Context, modifiers: Modifiers) -> None:
    """Barrier objects in shared memory, counted in threads; transaction counts are refused."""
    words = context.instruction.modifiers
    if any(word in ("expect_tx", "complete_tx", "cluster") or "cluster" in word for word in words):
        raise hopper(context.instruction)
    action = modifiers.one_of(("init", "inval", "arrive", "arrive_drop", "test_wait", "try_wait", "pending_count"))
    parity, no_complete = modifiers.flag("parity"), modifiers.flag("noComplete")
    modifiers.one_of(("release", "acquire", "relaxed"))
    modifiers.one_of(("cta",))
    space = modifiers.one_of(("shared", "shared::cta"), "generic")
    kind = modifiers.type("b64")
    modifiers.end()
    context.includes.add("hipport/mbarrier.h")
    if not action or action == "pending_count":
        raise modifiers.unknown(action)
    if action in ("init", "inval"):
        context.expect(2 if action == "init" else 1)
        pointer = context.pointer(context.operand(0), space, CPP[kind])
        count = f", {context.read(context.operand(1), 'u32')}" if action == "init" else ""
        context.do(f"{PTX}mbarrier_{action}({pointer}{count})")
        return
    operands = context.instruction.operands
    if action in ("arrive", "arrive_drop"):
        context.expect(1, 2, 3)
        has_state = len(operands) > 1
        pointer = context.pointer(operands[1 if has_state else 0], space, CPP[kind])
        count = context.read(operands[2], "u32") if len(operands) == 3 else "1u"
        text = f"{PTX}mbarrier_{action}({pointer}, {count})"
        if no_complete and len(operands) != 3:
            raise context.wrong("noComplete needs a count")
        if has_state and not isinstance(operands[0], Sink):
            context.set(operands[0], kind, text)
        else:
            context.do(text)
        return
    context.expect(3, 4)
    pointer = context.pointer(operands[1], space, CPP[kind])
    state = context.read(operands[2], "u32" if parity else "b64")
    name = f"mbarrier_{action}{'_parity' if parity else ''}"
    context.set(operands[0], "pred", f"{PTX}{name}({pointer}, {state})")
