"""Loops of a function: control flow graph, dominators, natural loops (Aho, Lam, Sethi, Ullman, section 9.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hipport.perf.functions import Function
from hipport.perf.isa import Kind, kind_of


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop; loops that share a header are one.

    Attributes:
        header: address of its first instruction.
        blocks: indices of its basic blocks, sorted.
        always: of these, the ones on every path around the loop.
        instructions: indices of all its instructions.
        always_instructions: indices of the instructions that every iteration executes.
    """

    header: int
    blocks: tuple[int, ...]
    always: tuple[int, ...]
    instructions: tuple[int, ...]
    always_instructions: tuple[int, ...]


def find_loops(function: Function) -> tuple[Loop, ...]:
    """Loops of a function, ordered by their headers in reverse post-order."""
    if not function.instructions:
        return ()
    starts, successors = _graph(function)
    order, dominators, predecessors = _dominators(successors)
    ends = [*starts[1:], len(function.instructions)]

    bodies: dict[int, set[int]] = {}
    latches: dict[int, list[int]] = {}
    for block in order:
        for header in successors[block]:
            if dominators[block] >> header & 1:  # a back edge
                bodies.setdefault(header, set()).update(_body(header, block, predecessors, set(order)))
                latches.setdefault(header, []).append(block)

    def instructions(blocks: Sequence[int]) -> tuple[int, ...]:
        return tuple(i for block in blocks for i in range(starts[block], ends[block]))

    loops = []
    for header, body in bodies.items():
        blocks = tuple(sorted(body))
        always = tuple(b for b in blocks if all(dominators[latch] >> b & 1 for latch in latches[header]))
        address = function.instructions[starts[header]].address
        loops.append(Loop(address, blocks, always, instructions(blocks), instructions(always)))
    return tuple(loops)


def innermost(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Loops that hold no other of the given loops."""
    return tuple(loop for loop in loops if not any(set(other.blocks) < set(loop.blocks) for other in loops))


def _graph(function: Function) -> tuple[list[int], list[list[int]]]:
    """First instruction of each basic block, and each block's successors."""
    instructions = function.instructions
    index_of = {instruction.address: i for i, instruction in enumerate(instructions)}
    leaders = {0}
    targets: dict[int, int] = {}
    for i, instruction in enumerate(instructions):
        if kind_of(instruction.opcode) is Kind.BRANCH:
            if instruction.target in index_of:
                targets[i] = index_of[instruction.target]
                leaders.add(targets[i])
            if i + 1 < len(instructions):
                leaders.add(i + 1)
    starts = sorted(leaders)
    block_at = {start: block for block, start in enumerate(starts)}
    successors: list[list[int]] = []
    for block in range(len(starts)):
        last = (starts[block + 1] if block + 1 < len(starts) else len(instructions)) - 1
        opcode = instructions[last].opcode
        falls = not opcode.startswith(("s_branch", "s_endpgm", "s_setpc")) and last + 1 < len(instructions)
        following = (
            [block_at[targets[last]]] if last in targets and opcode.startswith(("s_branch", "s_cbranch")) else []
        )
        successors.append(following + ([block + 1] if falls else []))
    return starts, successors


def _dominators(successors: Sequence[Sequence[int]]) -> tuple[list[int], list[int], list[list[int]]]:
    """Reachable blocks in reverse post-order, each block's dominators as a bit set, and predecessors."""
    predecessors: list[list[int]] = [[] for _ in successors]
    for block, following in enumerate(successors):
        for successor in following:
            predecessors[successor].append(block)
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(successors[0]))]
    while stack:
        block, rest = stack[-1]
        fresh = next((s for s in rest if s not in seen), None)
        if fresh is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(fresh)
            stack.append((fresh, iter(successors[fresh])))
    order.reverse()

    everything = (1 << len(successors)) - 1
    dominators = [everything] * len(successors)
    dominators[0] = 1
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            common = everything
            for predecessor in predecessors[block]:
                if predecessor in seen:
                    common &= dominators[predecessor]
            common |= 1 << block
            if common != dominators[block]:
                dominators[block] = common
                changed = True
    return order, dominators, predecessors


def _body(header: int, latch: int, predecessors: Sequence[Sequence[int]], reachable: set[int]) -> set[int]:
    body = {header, latch}
    work = [latch] if latch != header else []
    while work:
        for predecessor in predecessors[work.pop()]:
            if predecessor in reachable and predecessor not in body:
                body.add(predecessor)
                work.append(predecessor)
    return body
