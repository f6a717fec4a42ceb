"""The warp model `native64`: reductions over whole wavefronts where that is proved to give the same bits.

Two things are rewritten, both for integers only, whose sums, extremes and bit operations do not depend on the order:

- a block reduction or a warp-aggregated atomic: every warp reduces a value over its 32 lanes and its first lane hands
  the result on, to an array of partial results in shared memory or to an atomic. `hipport/native.h` reduces over the
  wavefront instead, so that half as many partial results come out (HP242);
- a butterfly that ends with the same value in all 32 lanes becomes one call without shuffles (HP243).

A site is rewritten when every obligation is proved from the text of its function; otherwise it stays as `logical32` has
it, and a note names the obligation that failed (HP219).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from hipport.core import Edit, Severity
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.transforms.warp_hazards import functions
from hipport.rewrite.transforms.warp_models import chosen_model, file_model, has_choices
from hipport.rewrite.transforms.warp_native_forms import INTEGERS, Body
from hipport.rewrite.transforms.warp_native_proof import UnprovedError, handed_on
from hipport.rewrite.transforms.warp_native_trees import Reduction, callee, reductions, warp_helpers
from hipport.syntax import ParsedFile

_WARP_CALL = re.compile(rb"__(?:(?:shfl\w*|ballot|any|all|uni|match_\w+|reduce_\w+)_sync|activemask)\Z")


@dataclass
class Plan:
    """What is proved for a file, and why the rest is not."""

    blocks: list[tuple[Reduction, list[Edit]]] = field(default_factory=list)
    butterflies: list[Reduction] = field(default_factory=list)
    unproved: list[tuple[int, str]] = field(default_factory=list)


def block_reductions(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Reductions over the wavefront with half as many partial results (HP242)."""
    for _, edits in _plan(parsed, context).blocks:
        yield _ranked(context.change(edits))


def butterflies(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Butterflies over a warp without shuffles (HP243)."""
    for tree in _plan(parsed, context).butterflies:
        yield _ranked(context.change([context.edit(tree.span, tree.text("warp"))]))


def model(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Functions where the model native64 keeps the code of logical32, with the reason (HP219)."""
    for offset, reason in _plan(parsed, context).unproved:
        yield context.report(
            offset,
            f"kept in the warp model logical32, which is right on every target: {reason}",
            severity=Severity.NOTE,
            subject="warp model",
        )


def _ranked(change: Change) -> Change:
    return replace(change, rank=3)  # before the rules that only know a name in it


def _plan(parsed: ParsedFile, context: Context) -> Plan:
    plan = Plan()
    choices = has_choices(parsed, context)
    if context.pass_number != 1 or not (choices or file_model(parsed, context) == "native64"):
        return plan
    everything = functions(parsed)
    asked = [f for f in everything if not choices or chosen_model(parsed, context, f) == "native64"]
    if not asked:
        return plan
    helpers = warp_helpers([Body(f) for f in everything])
    bodies = [Body(f) for f in everything]
    for function in asked:
        _plan_function(Body(function), context, helpers, bodies, plan)
    return plan


def _plan_function(
    body: Body, context: Context, helpers: dict[bytes, Reduction], bodies: list[Body], plan: Plan
) -> None:
    calls = [n for n in body.function.walk("call_expression") if _WARP_CALL.match(callee(body, n))]
    trees = list(reductions(body, helpers))
    if not trees and not calls:
        return
    first = body.function.offset(calls[0] if calls else trees[0].statement)
    if not context.shared(first):
        return
    try:
        _own_macros(body)
    except UnprovedError as reason:
        plan.unproved.append((first, str(reason)))
        return
    claimed: set[int] = set()
    reasons: list[str] = []
    for tree in trees:
        if id(tree) in claimed:
            continue
        try:
            edits, second = handed_on(body, context, tree, trees, bodies)
        except UnprovedError as reason:
            reasons.append(str(reason))
            continue
        plan.blocks.append((tree, edits))
        claimed |= {id(tree), *([id(second)] if second is not None else [])}
    rest = [tree for tree in trees if id(tree) not in claimed]
    local = [tree for tree in rest if tree.everywhere and tree.before and tree.type in INTEGERS]
    plan.butterflies.extend(local)
    if body.function.name in helpers:
        return  # its callers are looked at
    done = [tree.span for tree in trees if id(tree) in claimed] + [tree.span for tree in local]
    left = [n for n in calls if not any(s.start <= body.function.offset(n) < s.end for s in done)]
    left += [tree.statement for tree in rest if tree not in local]
    if left:
        why = reasons[0] if reasons else "it is no reduction over whole warps"
        plan.unproved.append((min(body.function.offset(n) for n in left), why))


def _own_macros(body: Body) -> None:
    """No macro of the file hides statements in the function."""
    for node in body.function.walk("identifier"):
        name = body.of(node)
        if name in body.parsed.defined and body.number(node) is None:
            raise UnprovedError(f"the macro {name.decode()} may hide code")
