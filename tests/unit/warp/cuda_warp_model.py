"""What CUDA's warp functions return, one lane at a time, and the random cases that they are asked about.

Written from the CUDA C++ Programming Guide ("Warp Vote Functions", "Warp Match Functions", "Warp Reduce Functions",
"Warp Shuffle Functions", "Cooperative Groups") and the PTX ISA ("Special Registers"); it knows nothing of wavefronts.

A lane is a number 0..31 of its warp. Values are bit patterns of up to 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

FULL = 0xFFFFFFFF


@dataclass(frozen=True)
class Lane:
    """What one thread knows when it calls.

    Attributes:
        lane: its number in the warp.
        together: lanes that execute the call with it, itself included.
        mask: its mask argument.
        value, argument, width: of every lane of the warp, by lane.
        warp: number of the warp in its block.
        warps: warps of the block.
    """

    lane: int
    together: tuple[int, ...]
    mask: int
    values: dict[int, int]
    argument: int
    width: int
    warp: int
    warps: int

    @property
    def members(self) -> list[int]:
        """Lanes of the mask that are here, in order."""
        return [lane for lane in self.together if self.mask >> lane & 1]

    @property
    def value(self) -> int:
        """The caller's own value."""
        return self.values[self.lane]


Model = Callable[[Lane], "int | None"]  # None: CUDA leaves the result undefined


@dataclass(frozen=True)
class Operation:
    """A CUDA statement that sets ``r`` from ``m``, ``v``, ``a`` and ``w``, and what it must give.

    Attributes:
        name: for messages.
        code: CUDA.
        model: the expected bits.
        masks: ``group`` (all lanes of the branch), ``split`` (disjoint parts of it), ``full`` (the warp does not
            diverge) or ``tile`` (tiles of ``tile`` threads do not).
        tile: size of the tile that stays together.
        bits: width of the values.
        numbers: values and partial results are small integers in that type (``float``, ``double``), so that sums are
            exact in any order.
        few: values are taken from a handful, so that some are equal.
    """

    name: str
    code: str
    model: Model
    masks: str = "group"
    tile: int = 32
    bits: int = 32
    numbers: str = ""
    few: bool = False


def bits_of(lanes: list[int]) -> int:
    """Mask of the lanes."""
    return sum(1 << lane for lane in lanes)


def number(kind: str, bits: int) -> int | float:
    """A bit pattern as a value of the C type."""
    if kind in ("float", "double"):
        types = (np.uint32, np.float32) if kind == "float" else (np.uint64, np.float64)
        return float(np.array([bits], types[0]).view(types[1])[0])
    width = 64 if "long long" in kind else 32
    bits &= (1 << width) - 1
    return bits - (1 << width) if "unsigned" not in kind and bits >> (width - 1) else bits


def pattern(kind: str, value: float) -> int:
    """The bit pattern of a value of the C type; integers wrap around."""
    if kind == "float":
        return int(np.array([value], np.float32).view(np.uint32)[0])
    if kind == "double":
        return int(np.array([value], np.float64).view(np.uint64)[0])
    return int(value) & ((1 << (64 if "long long" in kind else 32)) - 1)


# -- shuffles --------------------------------------------------------------------------------------------------------
def shuffle(kind: str, *, width: int = 0, rank_in: str = "segment") -> Model:
    """``idx``, ``up``, ``down`` or ``xor``; ``width`` 0: the run-time argument."""

    def model(at: Lane) -> int | None:
        size = width or at.width
        first = at.lane // size * size
        last = first + size - 1
        if kind == "idx":  # "the value of var held by the srcLane modulo width"
            source = first + at.argument % size
        elif kind == "up":
            source = at.lane - at.argument % 32
            source = source if source >= first else at.lane
        elif kind == "down":
            source = at.lane + at.argument % 32
            source = source if source <= last else at.lane
        else:  # may reach earlier segments, not later ones
            source = at.lane ^ (at.argument % 32)
            source = source if source <= last else at.lane
        return at.values[source] if source in at.members else None

    return model


# -- votes, matches, reductions ----------------------------------------------------------------------------------------
def true_lanes(at: Lane) -> list[int]:
    """Members whose predicate, the lowest bit of the value, holds."""
    return [lane for lane in at.members if at.values[lane] & 1]


def ballot(at: Lane) -> int:
    return bits_of(true_lanes(at))


def vote_any(at: Lane) -> int:
    return int(bool(true_lanes(at)))


def vote_all(at: Lane) -> int:
    return int(len(true_lanes(at)) == len(at.members))


def active(at: Lane) -> int:
    return bits_of(list(at.together))


def match_any(at: Lane) -> int:
    return bits_of([lane for lane in at.members if at.values[lane] == at.value])


def match_all(at: Lane) -> int:
    """The mask when all agree, and the predicate above it."""
    same = all(at.values[lane] == at.value for lane in at.members)
    return (bits_of(at.members) | 1 << 32) if same else 0


def fold(kind: str, operation: str, numbers: list[int | float]) -> int:
    """Bits of the numbers combined."""
    result = numbers[0]
    for value in numbers[1:]:
        if operation == "add":
            result = result + value
        elif operation in ("min", "max"):
            result = min(result, value) if operation == "min" else max(result, value)
        else:
            a, b = int(result), int(value)
            result = a & b if operation == "and" else a | b if operation == "or" else a ^ b
    return pattern(kind, result)


def reduction(kind: str, operation: str) -> Model:
    """All members get the members' values combined."""
    return lambda at: fold(kind, operation, [number(kind, at.values[lane]) for lane in at.members])


# -- groups ----------------------------------------------------------------------------------------------------------
Group = Callable[[Lane], list[int]]


def tile_of(size: int) -> Group:
    """Lanes of the caller's tile."""
    return lambda at: list(range(at.lane // size * size, at.lane // size * size + size))


def coalesced(at: Lane) -> list[int]:
    return list(at.together)


def by_bit(group: Group) -> Group:
    """binary_partition by the lowest bit of the value."""
    return lambda at: [lane for lane in group(at) if at.values[lane] & 1 == at.value & 1]


def by_label(group: Group) -> Group:
    """labeled_partition by the value."""
    return lambda at: [lane for lane in group(at) if at.values[lane] == at.value]


def ranked(group: Group) -> Model:
    """Rank of the caller in its group, and the group's size above it."""
    return lambda at: group(at).index(at.lane) | len(group(at)) << 8


def group_ballot(group: Group) -> Model:
    """Bit per rank."""
    return lambda at: sum(1 << rank for rank, lane in enumerate(group(at)) if at.values[lane] & 1)


def group_match(group: Group) -> Model:
    """Ranks that hold the caller's value."""
    return lambda at: sum(1 << rank for rank, lane in enumerate(group(at)) if at.values[lane] == at.value)


def group_shuffle(group: Group, kind: str) -> Model:
    """Shuffle by rank; out of range is the caller's own value, for ``idx`` undefined."""

    def model(at: Lane) -> int | None:
        lanes, step = group(at), at.argument % 32
        rank = lanes.index(at.lane)
        target = {"idx": step, "up": rank - step, "down": rank + step}[kind]
        if 0 <= target < len(lanes):
            return at.values[lanes[target]]
        return None if kind == "idx" else at.value

    return model


def group_fold(group: Group, kind: str, operation: str) -> Model:
    return lambda at: fold(kind, operation, [number(kind, at.values[lane]) for lane in group(at)])


def group_scan(group: Group, kind: str, operation: str, *, inclusive: bool) -> Model:
    def model(at: Lane) -> int | None:
        lanes = group(at)
        count = lanes.index(at.lane) + inclusive
        if count == 0:  # CUDA: the first thread of an exclusive scan gets the default value for sums
            return pattern(kind, 0) if operation == "add" else None
        return fold(kind, operation, [number(kind, at.values[lane]) for lane in lanes[:count]])

    return model


# -- the operations --------------------------------------------------------------------------------------------------
_SHUFFLES = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "xor": "__shfl_xor_sync"}
_REDUCTIONS = {"add": "cg::plus", "min": "cg::less", "max": "cg::greater", "and": "cg::bit_and", "or": "cg::bit_or",
               "xor": "cg::bit_xor"}  # fmt: skip


def shuffle_operations(kinds: dict[str, int]) -> list[Operation]:
    """Shuffles of the C types (with their bits): run-time width, static widths, full mask written out."""
    found = []
    for kind, bits in kinds.items():
        for name, function in _SHUFFLES.items():
            step = "(int)a" if name == "idx" else "(a & 31)"
            value = f"get<{kind}>(v)"
            call = f"r = put({function}(%s, {value}, {step}%s));"
            found += [
                Operation(f"{name} {kind} run-time width", call % ("m", ", w"), shuffle(name), bits=bits),
                Operation(f"{name} {kind}", call % ("m", ""), shuffle(name, width=32), bits=bits),
                Operation(
                    f"{name} {kind} full", call % ("0xffffffffu", ""), shuffle(name, width=32), "full", bits=bits
                ),
                Operation(f"{name} {kind} width 8", call % ("~0u", ", 8"), shuffle(name, width=8), "full", bits=bits),
            ]
    return found


def warp_operations() -> list[Operation]:
    """Votes, matches, reductions and special registers."""
    found = [
        Operation("ballot", "r = __ballot_sync(m, v & 1);", ballot, "split"),
        Operation("any", "r = __any_sync(m, v & 1);", vote_any, "split", few=True),
        Operation("all", "r = __all_sync(m, v & 1);", vote_all, "split", few=True),
        Operation("ballot full", "r = __ballot_sync(0xffffffff, v & 1);", ballot, "full"),
        Operation("activemask", "r = __activemask();", active),
        Operation("popc of ballot", "r = __popc(__ballot_sync(m, v & 1));", lambda at: len(true_lanes(at)), "split"),
        Operation("first of ballot", "r = (unsigned)__ffs(__ballot_sync(m, v & 1));",
                  lambda at: min(true_lanes(at)) + 1 if true_lanes(at) else 0, "split"),
        Operation("syncwarp", "slot[threadIdx.x] = v; __syncwarp(m); r = slot[(threadIdx.x & ~31) | __ffs(m) - 1];",
                  lambda at: at.values[min(at.members)], "split"),
        Operation("match_all", "int p; r = __match_all_sync(m, get<unsigned>(v), &p);"
                  " r |= (unsigned long long)(p != 0) << 32;",
                  match_all, "split", few=True),
        Operation("match_all double", "int p; r = __match_all_sync(m, get<double>(v), &p);"
                  " r |= (unsigned long long)(p != 0) << 32;", match_all, "split", bits=64, few=True),
    ]  # fmt: skip
    for kind, bits in {"unsigned": 32, "int": 32, "float": 32, "unsigned long long": 64, "double": 64}.items():
        found.append(Operation(f"match_any {kind}", f"r = __match_any_sync(m, get<{kind}>(v));", match_any, "split",
                               bits=bits, few=True))  # fmt: skip
    for kind in ("unsigned", "int"):
        for name in ("add", "min", "max", "and", "or", "xor") if kind == "unsigned" else ("add", "min", "max"):
            code = f"r = put(__reduce_{name}_sync(m, get<{kind}>(v)));"
            found.append(Operation(f"reduce_{name} {kind}", code, reduction(kind, name), "split"))
            found.append(Operation(f"reduce_{name} {kind} full", code, reduction(kind, name), "full"))
    registers: dict[str, Model] = {
        "laneid": lambda at: at.lane,
        "lanemask_eq": lambda at: 1 << at.lane,
        "lanemask_lt": lambda at: (1 << at.lane) - 1,
        "lanemask_le": lambda at: (2 << at.lane) - 1,
        "lanemask_gt": lambda at: FULL & ~((2 << at.lane) - 1),
        "lanemask_ge": lambda at: FULL & ~((1 << at.lane) - 1),
    }
    for name, model in registers.items():
        code = f'unsigned x; asm volatile("mov.u32 %0, %%{name};" : "=r"(x)); r = x;'
        found.append(Operation(name, code, model))
    return found


def group_operations() -> list[Operation]:
    """Tiles, coalesced groups and partitions."""
    found = []
    for size in (1, 2, 4, 8, 16, 32):
        group = tile_of(size)
        tile = f"auto g = cg::tiled_partition<{size}>(cg::this_thread_block()); "

        cases: dict[str, tuple[str, Model]] = {
            "shfl": ("r = put(g.shfl(get<int>(v), a));", shuffle("idx", width=size)),
            "shfl_up": ("r = put(g.shfl_up(get<double>(v), a & 31));", shuffle("up", width=size)),
            "shfl_down": ("r = put(g.shfl_down(get<float>(v), a & 31));", shuffle("down", width=size)),
            "shfl_xor": (f"r = put(g.shfl_xor(get<unsigned>(v), a & {size - 1}));", _tile_xor(size)),
            "ballot": ("r = g.ballot(v & 1);", group_ballot(group)),
            "rank": ("r = g.thread_rank() | g.size() << 8;", ranked(group)),
            "meta": ("r = g.meta_group_rank() | g.meta_group_size() << 8;", _place(size)),
            "match_any": ("r = g.match_any(get<unsigned>(v));", group_match(group)),
            "any and all": ("r = g.any(v & 1) | g.all(v & 1) << 1;", _any_all(group)),
        }
        for name, (code, model) in cases.items():
            bits, few = 64 if name == "shfl_up" else 32, name in ("match_any", "any and all")
            found.append(Operation(f"tile {size} {name}", tile + code, model, "tile", size, bits, few=few))
        found += _combining(f"tile {size}", tile, group, "tile", size)
    together = "auto g = cg::coalesced_threads(); "
    found += _of_ranks("coalesced", together, coalesced, "group", 32)
    found += _combining("coalesced", together, coalesced, "group", 32)
    for name, parent, group, masks in (
        ("tile 32", "cg::tiled_partition<32>(cg::this_thread_block())", tile_of(32), "tile"),
        ("tile 8", "cg::tiled_partition<8>(cg::this_thread_block())", tile_of(8), "tile"),
        ("coalesced", "cg::coalesced_threads()", coalesced, "group"),
    ):
        size = 8 if name == "tile 8" else 32
        half = f"auto g = cg::binary_partition({parent}, (v & 1) != 0); "
        found += _of_ranks(f"binary {name}", half, by_bit(group), masks, size)
        found += _combining(f"binary {name}", half, by_bit(group), masks, size)[:3]
        labels = f"auto g = cg::labeled_partition({parent}, get<int>(v)); "
        found += _of_ranks(f"labeled {name}", labels, by_label(group), masks, size)
    return found


def _place(size: int) -> Model:
    return lambda at: (at.warp * 32 + at.lane) // size | at.warps * 32 // size << 8


def _tile_xor(size: int) -> Model:
    return lambda at: at.values[at.lane ^ (at.argument & (size - 1))]


def _any_all(group: Group) -> Model:
    def model(at: Lane) -> int:
        votes = [at.values[lane] & 1 for lane in group(at)]
        return int(any(votes)) | int(all(votes)) << 1

    return model


def _of_ranks(name: str, make: str, group: Group, masks: str, tile: int) -> list[Operation]:
    cases = {
        "rank": ("r = g.thread_rank() | g.size() << 8;", ranked(group)),
        "ballot": ("r = g.ballot(v >> 1 & 1);", lambda at: sum(1 << r for r, x in enumerate(group(at))
                                                               if at.values[x] >> 1 & 1)),
        "shfl": ("r = put(g.shfl(get<int>(v), (a & 31) % g.size()));", lambda at: at.values[
            group(at)[at.argument % 32 % len(group(at))]]),
        "shfl_up": ("r = put(g.shfl_up(get<int>(v), a & 31));", group_shuffle(group, "up")),
        "shfl_down": ("r = put(g.shfl_down(get<int>(v), a & 31));", group_shuffle(group, "down")),
    }  # fmt: skip
    return [
        Operation(f"{name} {case}", make + code, model, masks, tile, few=True)
        for case, (code, model) in cases.items()
    ]  # fmt: skip


def _combining(name: str, make: str, group: Group, masks: str, tile: int) -> list[Operation]:
    found = []
    for kind, operation in (("int", "add"), ("unsigned", "xor"), ("int", "max"), ("float", "add"), ("double", "min"),
                            ("unsigned long long", "or"), ("long long", "add"), ("unsigned", "and")):  # fmt: skip
        bits = 64 if kind in ("double", "long long", "unsigned long long") else 32
        numbers = kind if kind in ("float", "double") else ""
        code = f"r = put(cg::reduce(g, get<{kind}>(v), {_REDUCTIONS[operation]}<{kind}>()));"
        model = group_fold(group, kind, operation)
        found.append(Operation(f"{name} reduce {operation} {kind}", make + code, model, masks, tile, bits, numbers))
    for kind, operation in (("int", "add"), ("unsigned", "max"), ("float", "add")):
        numbers = kind if kind == "float" else ""
        for scan in ("inclusive", "exclusive"):
            code = f"r = put(cg::{scan}_scan(g, get<{kind}>(v), {_REDUCTIONS[operation]}<{kind}>()));"
            model = group_scan(group, kind, operation, inclusive=scan == "inclusive")
            found.append(Operation(f"{name} {scan} {operation} {kind}", make + code, model, masks, tile, 32, numbers))
    return found
