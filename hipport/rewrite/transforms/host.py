"""Host code that chooses by properties of the device: compute capability and warp size."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.core import Severity, Span, target_named
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.predicates import runs_on_device
from hipport.rewrite.transforms.warp import PROPERTIES
from hipport.syntax import Fragment, ParsedFile, compile_query, inside_error, matches
from hipport.syntax.arguments import call_arguments

_FIELD_COMPARISON = """
(binary_expression
  operator: ["==" "!=" "<" ">" "<=" ">="]) @root
"""
_FIELD = """(field_expression field: (field_identifier) @field) @root"""
_PROPERTY_SOURCE = (
    rb"\b(?:cudaDeviceProp|hipDeviceProp_t|hipDeviceProp_tR0\d+|cudaDeviceProp_t)\s*[*&]?\s*(?:const\s+)?[*&]?\s*%s\b"
    rb"|\b%s\s*=\s*[\w:]*(?:get(?:Current)?Device(?:Properties|Prop))\b"
)
_CAPABILITY = re.compile(rb"(?:cudaDevAttr|hipDeviceAttribute)ComputeCapabilityM(?:ajor|inor)\Z")
_COMPARISONS = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def capability_tests(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Comparisons of ``prop.major``/``prop.minor``, and capability queries: answered by the translated code's level."""
    fields = compile_query(_FIELD)
    for fragment in parsed.fragments():
        for _, found in matches(fields, fragment.root):
            name = parsed.node_text(fragment, found["field"][0])
            node = found["root"][0]
            if name in (b"major", b"minor"):
                yield from _capability_field(parsed, context, fragment, node, name.decode())
    for start, name in parsed.scan.identifiers:
        if name not in (b"cudaDeviceGetAttribute", b"hipDeviceGetAttribute") or not context.shared(start):
            continue
        if parsed.data[:start].rstrip().endswith(b"hipport::"):
            continue
        call = call_arguments(parsed.scan, start + len(name))
        attribute = _CAPABILITY.search(parsed.text(call[0][1])) if call and len(call[0]) == 3 else None
        if call and attribute:
            where = Span(call[0][1].start + attribute.start(), call[0][1].end)
            finding = context.report(
                start,
                "AMD's compute capability means something else: the query now gives the level of the code",
                subject="compute-capability",
            )
            edits = [
                context.edit(Span(start, start + len(name)), "hipport::device_get_attribute"),
                # The row of the attribute would say that an AMD number comes back.
                context.edit(where, attribute[0].replace(b"cudaDevAttr", b"hipDeviceAttribute")),
            ]
            yield context.change(edits, findings=[finding])


def _capability_field(
    parsed: ParsedFile, context: Context, fragment: Fragment, node: Node, name: str
) -> Iterator[Change | Finding]:
    span = fragment.span(node)
    if not context.shared(span.start):
        return
    receiver = node.child_by_field_name("argument")
    if receiver is None or not _is_properties(parsed, fragment, receiver, span.end - len(name)):
        return
    outer = node.parent
    while outer is not None and outer.type in ("parenthesized_expression", "cast_expression"):
        outer = outer.parent
    if outer is None or outer.type != "binary_expression" or outer.child_by_field_name("operator") is None:
        return
    call = outer.parent
    if call is not None and call.type == "argument_list" and call.parent is not None:
        function = call.parent.child_by_field_name("function")
        if function is not None and parsed.node_text(fragment, function).startswith(b"hipport::capability_"):
            return
    if inside_error(outer):
        yield context.report(span.start, f"a test of .{name} is left: the text around it does not parse")
        return
    message = f"{parsed.text(fragment.span(outer)).decode('utf-8', 'replace')}: AMD's numbers collide with CUDA's"
    verdict = _verdicts(parsed, context, fragment, outer, node, name)
    message += f"{verdict}; the test now uses the level of the code"
    finding = context.report(span.start, message, subject=f".{name}")
    edits = [
        context.edit(Span(span.start, span.start), f"hipport::capability_{name}("),
        context.edit(Span(span.end, span.end), ")"),
    ]
    yield context.change(edits, findings=[finding])


def _verdicts(parsed: ParsedFile, context: Context, fragment: Fragment, test: Node, field: Node, name: str) -> str:
    """What the test would say on each target, when it compares the major number with a literal."""
    left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
    operator = test.child_by_field_name("operator")
    if name != "major" or left is None or right is None or operator is None or left.id != field.id:
        return ""
    literal = parsed.node_text(fragment, right)
    compare = _COMPARISONS.get(operator.type)
    if not literal.isdigit() or compare is None:
        return ""
    answers = [
        f"{t.name} reports {t.reported_major} ({'true' if compare(t.reported_major, int(literal)) else 'false'})"
        for t in map(target_named, context.options.targets)
    ]
    return f", {', '.join(answers)}"


def _is_properties(parsed: ParsedFile, fragment: Fragment, node: Node, field: int) -> bool:
    """Whether ``node``, of which the field at ``field`` is taken, is a device-properties record.

    Without facts: as far as this file tells.
    """
    owner = parsed.facts.field_owner(field)
    if owner is not None:
        return owner in PROPERTIES
    receiver = parsed.node_text(fragment, node)
    if re.search(rb"get(?:Current)?Device(?:Properties|Prop)\s*\(", receiver):
        return True
    base = re.match(rb"[A-Za-z_]\w*", receiver)
    if base is None:
        return False
    name = re.escape(base[0])
    return bool(re.search(_PROPERTY_SOURCE % (name, name), parsed.data))


def warp_size_guards(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Host tests of ``prop.warpSize`` that no wave64 device passes."""
    wave64 = [t.name for t in map(target_named, context.options.targets) if t.wave_size == 64]
    if not wave64:
        return
    query = compile_query(_FIELD_COMPARISON)
    for fragment in parsed.fragments():
        for _, found in matches(query, fragment.root):
            test = found["root"][0]
            left, right = test.child_by_field_name("left"), test.child_by_field_name("right")
            if left is None or right is None:
                continue
            sides = [parsed.node_text(fragment, left), parsed.node_text(fragment, right)]
            field = next((s for s in sides if re.search(rb"(?:\.|->)\s*warpSize\Z", s)), None)
            if field is None or b"32" not in sides:
                continue
            span = fragment.span(test)
            place = parsed.data.find(b"warpSize", span.start, span.end)
            if parsed.facts.field_owner(place) not in (None, *PROPERTIES):
                continue  # a field of that name of the program's own
            if context.shared(span.start) and runs_on_device(parsed, fragment, test) is not True:
                yield context.report(
                    span.start,
                    f"{parsed.text(span).decode('utf-8', 'replace')}: the warp size of {', '.join(wave64)} is 64, so"
                    " this test always decides against the port there",
                    subject="warpSize",
                )


def wave_dependent_macros(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """A macro that is 64 in one device pass and 32 in another, used by host code: the host sees only the fallback."""
    values = _pass_dependent(parsed)
    if not values:
        return
    for start, name in parsed.scan.identifiers:
        if name not in values or _in_directive(parsed, start):
            continue
        node = parsed.tree.root.descendant_for_byte_range(start, start + len(name))
        if node is not None and runs_on_device(parsed, parsed.tree, node) is False and _in_body(node):
            yield context.report(
                start,
                f"host code uses {name.decode()}, {' or '.join(sorted(values[name]))} depending on the device pass: the"
                " host pass has no processor macro and always takes the last branch",
                severity=Severity.ERROR,
                subject=name.decode(),
            )


def _pass_dependent(parsed: ParsedFile) -> dict[bytes, set[str]]:
    """Macros defined differently in the branches of a conditional on processor macros."""
    processor = re.compile(rb"__GFX\w*__|__gfx\w+__|__AMDGCN_WAVEFRONT_SIZE(?:__)?")
    found: dict[bytes, set[str]] = {}
    for group in parsed.conditionals:
        if not any(processor.search(parsed.text(branch.condition)) for branch in group.branches):
            continue
        values: dict[bytes, set[str]] = {}
        for branch in group.branches:
            body = parsed.text(branch.body)
            for define in re.finditer(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\r\n]+)", body, re.MULTILINE):
                values.setdefault(define[1], set()).add(define[2].strip().decode("utf-8", "replace"))
        found.update((name, seen) for name, seen in values.items() if len(seen) > 1)
    return found


def _in_directive(parsed: ParsedFile, offset: int) -> bool:
    return any(d.span.start <= offset < d.span.end for d in parsed.scan.directives)


def _in_body(node: Node) -> bool:
    current: Node | None = node
    while current is not None:
        if current.type == "compound_statement":
            return True
        current = current.parent
    return False
