"""Warp code that cannot be carried over silently: each hazard with its reason, in the original text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from hipport.core import Edit, Severity, Span
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.transforms.warp import is_full_mask
from hipport.rewrite.transforms.warp_divergence import Divergence, Level
from hipport.syntax import Fragment, ParsedFile

_COLLECTIVE = re.compile(
    rb"__(?:shfl(?:_up|_down|_xor)?|ballot|any|all|uni|match_any|match_all|reduce_(?:add|min|max|and|or|xor))_sync\Z"
)
_HEX = re.compile(rb"0[xX]([0-9a-fA-F]{1,8})[uUlL]*\Z")
_CONSTANT = re.compile(
    rb"(?:#\s*define\s+(\w+)\s+|\b(?:const|constexpr|enum)\b[^;={}()]*?\b(\w+)\s*=\s*)\(?\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b"
)
_SLEEP = re.compile(rb"(?:__)?nanosleep|__threadfence\w*|__syncwarp|s_sleep")
_ATOMIC_LOCK = re.compile(rb"\batomic(?:CAS|Exch)(?:_block|_system)?\s*\(")


@dataclass(frozen=True)
class Function:
    """A function of the file with its divergence, made on demand."""

    parsed: ParsedFile
    fragment: Fragment
    node: Node
    name: bytes
    constants: dict[bytes, int]

    @cached_property
    def divergence(self) -> Divergence:
        """Levels of its variables."""
        return Divergence(self.parsed, self.fragment, self.node, self.constants)

    @cached_property
    def annotated(self) -> bool:
        """A device annotation stands before it (the parser does not see those)."""
        outer = (
            self.node.parent
            if self.node.parent is not None and self.node.parent.type == "template_declaration"
            else self.node
        )
        previous = outer.prev_sibling
        begin = (previous.end_byte if previous is not None else 0) + self.fragment.base
        head = self.parsed.data[begin : self.node.start_byte + self.fragment.base + 200]
        return b"__global__" in head or b"__device__" in head

    @cached_property
    def text(self) -> bytes:
        """Its source."""
        return self.parsed.node_text(self.fragment, self.node)

    def offset(self, node: Node) -> int:
        """File offset of a node."""
        return node.start_byte + self.fragment.base

    def walk(self, *types: str) -> Iterator[Node]:
        """Nodes of the given types, in source order."""
        stack = [self.node]
        while stack:
            node = stack.pop()
            if node.type in types:
                yield node
            stack.extend(reversed(node.children))


def functions(parsed: ParsedFile) -> list[Function]:
    """Function definitions of the file that mention something of the device."""
    constants: dict[bytes, int] = {}
    for match in _CONSTANT.finditer(parsed.data):
        octal = re.fullmatch(rb"0[0-7]+", match[3])
        constants[match[1] or match[2]] = int(match[3], 8 if octal else 0)
    found = []
    fragment = parsed.tree
    stack = [fragment.root]
    while stack:
        node = stack.pop()
        if node.type == "function_definition":
            found.append(Function(parsed, fragment, node, _name(parsed, fragment, node), constants))
        else:
            stack.extend(reversed(node.children))
    return found


def _name(parsed: ParsedFile, fragment: Fragment, node: Node) -> bytes:
    current = node.child_by_field_name("declarator")
    while current is not None and current.type not in ("identifier", "field_identifier"):
        current = current.child_by_field_name("declarator") or current.child_by_field_name("name")
    return parsed.node_text(fragment, current) if current is not None else b""


def _callee(function: Function, call: Node) -> bytes:
    node = call.child_by_field_name("function")
    if node is None:
        return b""
    if node.type == "template_function":
        node = node.child_by_field_name("name") or node
    return function.parsed.node_text(function.fragment, node)


def _first_argument(call: Node) -> Node | None:
    arguments = call.child_by_field_name("arguments")
    values = [child for child in arguments.named_children if child.type != "comment"] if arguments else []
    return values[0] if values else None


def _collectives(function: Function, *, full: bool) -> Iterator[tuple[Node, bytes, int]]:
    """Calls of warp collectives with a constant mask: node, name and mask; full masks or partial ones."""
    for call in function.walk("call_expression"):
        name = _callee(function, call)
        if not _COLLECTIVE.match(name):
            continue
        argument = _first_argument(call)
        if argument is None:
            continue
        span = function.fragment.span(argument)
        if is_full_mask(function.parsed, span):
            if full:
                yield call, name, 0xFFFFFFFF
            continue
        text = function.parsed.text(span).strip()
        match = _HEX.match(text)
        value = int(match[1], 16) if match else function.constants.get(text)
        if value == 0xFFFFFFFF:
            if full:
                yield call, name, value
        elif value is not None and not full:
            yield call, name, value


def _full_collectives(all_functions: list[Function]) -> dict[bytes, bytes]:
    """Functions of the file that run a full-mask collective unconditionally, with the collective's name."""
    found: dict[bytes, bytes] = {}
    for function in all_functions:
        for call, name, _ in _collectives(function, full=True):
            if all(level <= Level.WARP for level, _ in function.divergence.branches(call, function.node)):
                found.setdefault(function.name, name)
    return found


def _full_calls(function: Function, known: dict[bytes, bytes]) -> Iterator[tuple[Node, bytes]]:
    """Full-mask collectives in a function: direct ones and calls of functions that run one."""
    for call, name, _ in _collectives(function, full=True):
        yield call, name
    for call in function.walk("call_expression"):
        name = _callee(function, call).rsplit(b"::", 1)[-1]
        if name in known and name != function.name:
            yield call, name


def full_mask_in_branch(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """A mask of all 32 lanes where only some of them are."""
    if context.pass_number != 1:
        return
    all_functions = functions(parsed)
    known = _full_collectives(all_functions)
    for function in all_functions:
        for call, name in _full_calls(function, known):
            offset = function.offset(call)
            branch = next(
                (node for level, node in function.divergence.branches(call, function.node) if level is Level.LANE), None
            )
            if branch is not None and context.shared(offset):
                line = parsed.source.place(function.offset(branch)).line
                yield context.report(
                    offset,
                    f"{name.decode()} names all 32 lanes inside a branch that lanes decide differently (line {line}): "
                    "the others are not there",
                    subject=name.decode(),
                )


def full_mask_after_return(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Lanes that returned before a collective with the full mask."""
    if context.pass_number != 1:
        return
    all_functions = functions(parsed)
    known = _full_collectives(all_functions)
    for function in all_functions:
        leaving = [
            node
            for node in function.walk("return_statement")
            if any(level is Level.LANE for level, _ in function.divergence.branches(node, function.node))
        ]
        if not leaving:
            continue
        for call, name in _full_calls(function, known):
            early = next((node for node in leaving if node.end_byte <= call.start_byte), None)
            if early is None or not context.shared(function.offset(call)):
                continue
            inside = [node for _, node in function.divergence.branches(call, function.node)]
            if any(node.start_byte <= early.start_byte and early.end_byte <= node.end_byte for node in inside):
                continue  # both in one branch: reported there
            line = parsed.source.place(function.offset(early)).line
            yield context.report(
                function.offset(call),
                f"{name.decode()} names all 32 lanes, but some may have returned in line {line}: "
                "their values are 0 on AMD and undefined on CUDA",
                subject=name.decode(),
            )


def partial_mask_run_by_all(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """A constant mask of some lanes in code that all lanes run."""
    if context.pass_number != 1:
        return
    for function in functions(parsed):
        for call, name, mask in _collectives(function, full=False):
            levels = [level for level, _ in function.divergence.branches(call, function.node)]
            if Level.LANE in levels or not context.shared(function.offset(call)):
                continue
            returned = any(
                node.end_byte <= call.start_byte
                and any(level is Level.LANE for level, _ in function.divergence.branches(node, function.node))
                for node in function.walk("return_statement")
            )
            if not returned:
                yield context.report(
                    function.offset(call),
                    f"{name.decode()} has the mask {mask:#x}, but lanes outside it run it too, "
                    "which CUDA leaves undefined",
                    subject=name.decode(),
                )


def barrier_in_branch(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """``__syncthreads`` where warps decide differently whether it runs (lanes may not, in CUDA either)."""
    from hipport.rewrite.transforms.warp_padded import will_pad  # it builds on this module

    if context.pass_number != 1:
        return
    apart = will_pad(parsed, context)
    for function in functions(parsed):
        if function.name in apart:
            continue
        if b"__syncthreads" not in function.text:
            continue
        for call in function.walk("call_expression"):
            if not re.match(rb"__syncthreads(?:_count|_and|_or)?\Z", _callee(function, call)):
                continue
            branches = list(function.divergence.branches(call, function.node))
            by_warp = next((node for level, node in branches if level is Level.WARP), None)
            lanes = any(level is Level.LANE for level, _ in branches)
            if by_warp is not None and not lanes and context.shared(function.offset(call)):
                line = parsed.source.place(function.offset(by_warp)).line
                yield context.report(
                    function.offset(call),
                    f"barrier inside a branch that warps decide differently (line {line}): "
                    "two warps of one wavefront must meet at the same barrier",
                    subject="__syncthreads",
                )


def spin_lock(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """A loop that only tries to take a lock, run by lanes of one warp."""
    if context.pass_number != 1:
        return
    for function in functions(parsed):
        for loop in function.walk("while_statement", "do_statement"):
            condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
            if condition is None or body is None or not context.shared(function.offset(loop)):
                continue
            text = parsed.node_text(function.fragment, condition)
            if not _ATOMIC_LOCK.search(text) or not is_idle(parsed, function, body):
                continue
            if is_one_thread(function, loop):
                continue
            yield context.report(
                function.offset(loop),
                "lanes that wait for a lock hold up the lane of their wavefront that has it: on AMD this never ends",
                subject="spin lock",
            )


def try_lock(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """A loop with the critical section under a successful try: keep the section inside the loop."""
    for function in functions(parsed):
        if not _ATOMIC_LOCK.search(function.text):
            continue
        for loop in function.walk("while_statement", "do_statement", "for_statement"):
            body = loop.child_by_field_name("body")
            if body is None or not context.shared(function.offset(loop)):
                continue
            attempt = _attempt(parsed, function, body)
            if attempt is None or b"converge()" in parsed.node_text(function.fragment, body):
                continue
            if _leaves(attempt):
                if context.pass_number == 1:
                    yield context.report(
                        function.offset(attempt),
                        "the critical section leaves the loop, so it runs after all lanes of the wavefront have left: "
                        "those that wait for the lock never do",
                        subject="try lock",
                    )
                continue
            yield context.change(_with_converge(parsed, context, function, body))


def _with_converge(parsed: ParsedFile, context: Context, function: Function, body: Node) -> list[Edit]:
    """Edits that put ``hipport::converge()`` at the end of a loop body."""
    start, end = body.start_byte + function.fragment.base, body.end_byte + function.fragment.base
    if body.type != "compound_statement":
        at_start, at_end = Span(start, start), Span(end, end)
        return [context.edit(at_start, "{ "), context.edit(at_end, " hipport::converge(); }")]
    last = body.named_children[-1].end_byte + function.fragment.base if body.named_children else start + 1
    first_line = body.named_children[0] if body.named_children else body
    line = parsed.data.rfind(b"\n", 0, first_line.start_byte + function.fragment.base)
    lead = parsed.data[line + 1 : first_line.start_byte + function.fragment.base]
    own_line = b"\n" in parsed.data[last : end - 1] and not lead.strip()
    text = b"\n" + lead + b"hipport::converge();" if own_line else b" hipport::converge();"
    return [context.edit(Span(last, last), text)]


_TRY = re.compile(
    rb"\batomic(?:CAS|Exch)(?:_block|_system)?\s*\(\s*&?\s*([\w.>\-\[\]+ ]*?)\s*,\s*(?:-?\d\w*|[A-Z][A-Z0-9_]*)\s*[,)]"
)


def _attempt(parsed: ParsedFile, function: Function, body: Node) -> Node | None:
    """The ``if`` of a loop body that takes a lock by a constant and gives it back, directly in the body."""
    statements = body.named_children if body.type == "compound_statement" else [body]
    tried: dict[bytes, bytes] = {}  # variable that holds the result of an attempt -> the lock
    for statement in statements:
        text = parsed.node_text(function.fragment, statement)
        if statement.type == "if_statement":
            condition = statement.child_by_field_name("condition")
            test = parsed.node_text(function.fragment, condition) if condition is not None else b""
            direct = _TRY.search(test)
            names = [tried[word] for word in re.findall(rb"\w+", test) if word in tried]
            lock = direct[1] if direct else names[0] if names else b""
            consequence = statement.child_by_field_name("consequence")
            if lock and consequence is not None and _gives_back(parsed.node_text(function.fragment, consequence), lock):
                return statement
        match = re.match(rb"[\w\s]*?\b(\w+)\s*=", text)
        attempt = _TRY.search(text)
        if match and attempt:
            tried[match[1]] = attempt[1]
    return None


def _gives_back(section: bytes, lock: bytes) -> bool:
    """The section stores to the lock again."""
    names = re.findall(rb"[A-Za-z_]\w*", lock)
    if not names:
        return False
    name = re.escape(names[0])
    return bool(
        re.search(rb"atomic(?:Exch|CAS|And|Sub)\w*\s*\(\s*&?\s*" + name + rb"\b", section)
        or re.search(rb"(?:\*\s*)?\b" + name + rb"\b[\w.>\-\[\]+ ]*=(?!=)", section)
        or re.search(rb'st\.[^"]*"[^;]*\b' + name + rb"\b", section)
    )


def _leaves(attempt: Node) -> bool:
    """The ``if`` ends the loop around it by break, return or goto."""
    consequence = attempt.child_by_field_name("consequence")
    stack = [consequence] if consequence is not None else []
    while stack:
        node = stack.pop()
        if node.type in ("return_statement", "goto_statement", "break_statement"):
            return True
        if node.type not in _OWN_BREAKS:
            stack.extend(node.children)
    return False


_OWN_BREAKS = frozenset(("while_statement", "do_statement", "for_statement", "switch_statement", "lambda_expression"))


def is_idle(parsed: ParsedFile, function: Function, body: Node) -> bool:
    """The loop body does nothing but wait."""
    text = parsed.node_text(function.fragment, body)
    rest = re.sub(rb"//[^\n]*|/\*.*?\*/", b"", text, flags=re.DOTALL).strip(b"{}; \t\r\n")
    statements = [part.strip() for part in rest.split(b";") if part.strip()]
    return all(_SLEEP.match(part) for part in statements)


def is_one_thread(function: Function, node: Node) -> bool:
    """Only one lane of each warp gets here: a branch compares the thread or lane number with one value."""
    for _, branch in function.divergence.branches(node, function.node):
        condition = branch.child_by_field_name("condition")
        if condition is None or branch == node:
            continue
        text = function.parsed.node_text(function.fragment, condition)
        if re.search(rb"==\s*\w+|!\s*\w*(?:lane|thread|tid)\w*|elect|is_\w*leader|leader", text):
            return True
    return False


_FLAG_WAIT = re.compile(
    rb"\A\(?\s*(?:!\s*)?(?:\*\s*)?(\w+)\s*(?:\[[^\]]*\])?\s*(?:(?:[!=<>]=?)\s*[\w.\[\]+]+)?\s*\)?\Z"
)


def flag_waits(function: Function) -> Iterator[tuple[Node, str]]:
    """Loops that only wait for a shared variable to change, with the variable."""
    shared = set(re.findall(rb"__shared__\s+(?:volatile\s+)?[\w:<>\s,]*?\b(\w+)\s*(?:\[|;|=|,)", function.text))
    if not shared:
        return
    for loop in function.walk("while_statement"):
        condition, body = loop.child_by_field_name("condition"), loop.child_by_field_name("body")
        if condition is None or body is None or not is_idle(function.parsed, function, body):
            continue
        match = _FLAG_WAIT.match(function.parsed.node_text(function.fragment, condition).strip())
        if match and match[1] in shared:
            yield loop, match[1].decode("utf-8", "replace")


def flag_wait(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """A loop that waits for another thread of the block to set a shared variable."""
    from hipport.rewrite.transforms.warp_padded import will_pad  # it builds on this module

    if context.pass_number != 1:
        return
    apart = will_pad(parsed, context)
    for function in functions(parsed):
        if function.name in apart:
            continue
        for loop, name in flag_waits(function):
            if context.shared(function.offset(loop)):
                yield context.report(
                    function.offset(loop),
                    f"waits for another thread to change '{name}': if that thread is in the same wavefront "
                    "(two CUDA warps on CDNA), it never gets to run",
                    subject="flag wait",
                )


_TAIL = re.compile(
    rb"\A(?P<base>\w+)\s*\[\s*(?P<index>[\w.]+)\s*\]\s*[+*|&^]?=.*?"
    rb"(?P=base)\s*\[\s*(?P=index)\s*\+\s*\w+\s*\]",
    re.DOTALL,
)


def volatile_tail(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Warp-synchronous steps without a barrier between them: give each its barrier."""
    for function in functions(parsed):
        volatiles = set(re.findall(rb"\bvolatile\b[\w\s:<>,]*?[*&\s]+(\w+)\s*(?:\[|,|\)|;|=)", function.text))
        volatiles |= set(re.findall(rb"\bvolatile\b[^;(){}]*?\b(\w+)\s*(?:\[[^\]]*\])*\s*[;=]", parsed.data))
        if not volatiles:
            continue
        for block in function.walk("compound_statement"):
            run: list[Node] = []
            for statement in [*(c for c in block.named_children if c.type != "comment"), None]:
                if statement is not None and _is_step(parsed, function, statement, volatiles):
                    run.append(statement)
                    continue
                if len(run) >= 2:
                    yield from _separated(parsed, context, function, run)
                run = []


def _is_step(parsed: ParsedFile, function: Function, statement: Node, volatiles: set[bytes]) -> bool:
    node = statement
    if node.type == "if_statement":
        condition, inner = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if inner is None or condition is None or node.child_by_field_name("alternative") is not None:
            return False
        if b"threadIdx" in parsed.node_text(function.fragment, condition):
            return False
        node = inner
        if node.type == "compound_statement" and len(node.named_children) == 1:
            node = node.named_children[0]
    if node.type != "expression_statement":
        return False
    match = _TAIL.match(parsed.node_text(function.fragment, node))
    return bool(match) and match["base"] in volatiles  # type: ignore[index]


def _separated(parsed: ParsedFile, context: Context, function: Function, run: list[Node]) -> Iterator[Change | Finding]:
    start = function.offset(run[0])
    if not context.shared(start):
        return
    edits = []
    for statement in run[:-1]:
        end = statement.end_byte + function.fragment.base
        edits.append(context.edit(Span(end, end), " hipport::syncwarp();"))
    finding = context.report(
        start,
        f"{len(run)} steps in shared memory rely on a warp running in step: barriers were put between them",
        severity=Severity.WARNING,
        subject="volatile",
    )
    yield context.change(edits, findings=[finding])


_WIDE = re.compile(rb"\b(?:unsigned\s+long\s+long|long\s+long|u?int64_t|size_t|unsigned\s+long|ull|u64)\b")
_SHIFT = re.compile(rb"(?<![\w.])1[uU]?\s*<<\s*(?!\s*\d)(\(?[\w.\[\]>*+\- ()]+)")


def narrow_shift(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """A 32-bit one shifted by a variable amount and only then widened to 64 bits."""
    if context.pass_number != 1:
        return
    for function in functions(parsed):
        for node in function.walk("cast_expression", "init_declarator", "return_statement"):
            wide = _widening(parsed, function, node)
            if wide is None or not context.shared(function.offset(node)):
                continue
            text = parsed.node_text(function.fragment, wide)
            found = _SHIFT.search(text)
            if found and not re.search(rb"\b1[uU]?[lL]{1,2}[uU]?\s*<<", text):
                yield context.report(
                    function.offset(wide) + found.start(),
                    "1 is shifted in 32 bits and widened afterwards: an amount of 32 or more is undefined",
                    subject="1 <<",
                )
                break


def _widening(parsed: ParsedFile, function: Function, node: Node) -> Node | None:
    """Expression that ``node`` converts to a 64-bit integer."""
    if node.type == "cast_expression":
        kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        return value if kind is not None and _WIDE.search(parsed.node_text(function.fragment, kind)) else None
    if node.type == "init_declarator" and node.parent is not None:
        kind, value = node.parent.child_by_field_name("type"), node.child_by_field_name("value")
        if kind is None or value is None or not _WIDE.fullmatch(parsed.node_text(function.fragment, kind).strip()):
            return None
        return value if value.type in ("binary_expression", "parenthesized_expression") else None
    return None


def mixed_sizes(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Literal 16 or 32 beside warpSize in one function: both mean the 32-lane warp."""
    if context.pass_number != 1:
        return
    for function in functions(parsed):
        at = re.search(rb"(?<![\w.>])warpSize\b", function.text)
        loop = re.search(rb"=\s*16\s*;[^;]*;\s*\w+\s*(?:>>=|/=)", function.text)
        if at is None or loop is None or b"__shfl" not in function.text:
            continue
        offset = function.offset(function.node) + at.start()
        if context.shared(offset):
            yield context.report(
                offset,
                "a reduction that starts at 16 and warpSize in one function: right only where a warp has 32 lanes",
                severity=Severity.NOTE,
                subject="warpSize",
            )
