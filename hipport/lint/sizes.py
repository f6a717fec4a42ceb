"""Arrays, constants and launches whose size follows the warp size; host code that tests it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from hipport.lint.finding import Finding, Verdict
from hipport.lint.provenance import call_nodes, callee
from hipport.lint.site import Site
from hipport.lint.values import WARP_NAME, Role, Value

_SIZE_FIX = "size it for the smallest warp (1024 / 32) and index it by warpSize or 32"
_COMPARISONS = (b"==", b"!=", b"<", b">", b"<=", b">=")


def arrays(site: Site) -> Iterator[Finding]:
    """Arrays with an entry per warp, and warpSize where C++ wants a constant."""
    for declaration in site.function.walk("declaration"):
        head = site.function.source(declaration).split(b"=", 1)[0]
        for declarator in declaration.children_by_field_name("declarator"):
            if declarator.type == "init_declarator":
                if re.search(rb"\bconstexpr\b", head):
                    value = site.value(declarator.child_by_field_name("value"))
                    if value.wavefront and value.role is Role.NUMBER:
                        yield site.finding(
                            "HP224",
                            Verdict.WRONG,
                            declarator,
                            "warpSize is no constant expression on AMD from ROCm 7 on",
                            "use a run-time value, or hipport::warp_size for warps of 32",
                            value.trace,
                        )
                declarator = declarator.child_by_field_name("declarator") or declarator
            yield from _array(site, declaration, declarator, shared=b"__shared__" in head)


def _array(site: Site, declaration: Node, declarator: Node, *, shared: bool) -> Iterator[Finding]:
    sizes: list[Node] = []
    node: Node | None = declarator
    while node is not None and node.type == "array_declarator":
        size = node.child_by_field_name("size")
        if size is not None:
            sizes.append(size)
        node = node.child_by_field_name("declarator")
    if not sizes or node is None:
        return
    values = [site.value(size) for size in sizes]
    trace = tuple(s for v in values for s in v.trace)
    if any(v.wavefront for v in values):
        yield site.finding(
            "HP224",
            Verdict.WRONG,
            declarator,
            "sized with warpSize, which is no constant on AMD: the array does not compile from ROCm 7 on",
            _SIZE_FIX,
            trace,
        )
        return
    if not shared:
        return
    name = site.function.source(node)
    for subscript, index in _subscripts(site, name):
        if index.role is not Role.WARP:
            continue
        trace = (*trace, *index.trace, site.provenance.step(site.function, subscript))
        if (index.wavefront or index.by_target) and _reads_all(site, name):
            yield site.finding(
                "HP224",
                Verdict.UNKNOWN,
                declarator,
                "wavefronts of 64 write half of the entries, and no number of wavefronts bounds who reads them",
                "read entries below blockDim.x / warpSize only",
                trace,
            )
        elif index.wavefront or index.by_target:
            yield site.finding(
                "HP224", Verdict.SAFE, declarator, "one entry per warp: a wavefront of 64 needs half of them", "", trace
            )
        elif not site.takes_part:
            yield site.finding(
                "HP224",
                Verdict.SAFE,
                declarator,
                "one entry per 32 threads: no warp operation depends on it",
                "",
                trace,
            )
        else:
            yield site.finding(
                "HP224",
                Verdict.LOGICAL32,
                declarator,
                "one entry per 32-lane warp",
                "nothing while a warp has 32 lanes",
                trace,
            )
        return


def _reads_all(site: Site, name: bytes) -> bool:
    """Threads read an array by their number or lane, did not fill it so, and no number of wavefronts bounds them."""
    if any(v.role is Role.WARPS and (v.wavefront or v.by_target) for _, v in site.numbers):
        return False
    reads = False
    for subscript, index in _subscripts(site, name):
        if index.role in (Role.THREAD, Role.LANE):
            above = subscript.parent
            if (
                above is not None
                and above.type == "assignment_expression"
                and above.child_by_field_name("left") == subscript
            ):
                return False
            reads = True
    return reads


def _subscripts(site: Site, name: bytes) -> Iterator[tuple[Node, Value]]:
    """Every ``name[index]`` of the function, with the value of its index."""
    for subscript in site.function.walk("subscript_expression"):
        base, indices = subscript.child_by_field_name("argument"), subscript.child_by_field_name("indices")
        if base is not None and site.function.source(base) == name and indices is not None and indices.named_children:
            yield subscript, site.value(indices.named_children[0])


def launches(site: Site) -> Iterator[Finding]:
    """Block sizes that follow a warp size."""
    if site.function.device and not re.search(rb"<<<|LaunchKernel", site.function.text):
        return
    for call in site.function.walk("call_expression"):
        block = _block(site, call)
        if block is None:
            continue
        for node in _dimensions(site, block):
            value = site.value(node)
            if value.by_target:
                yield site.finding(
                    "HP225",
                    Verdict.WRONG,
                    node,
                    "host code is compiled once for all targets: this size is the wrong one for some of them",
                    "ask the device: hipDeviceGetAttribute(hipDeviceAttributeWarpSize), or use 32 for warps of 32",
                    value.trace,
                )
            elif value.wavefront:
                yield site.finding(
                    "HP225",
                    Verdict.LOGICAL32,
                    node,
                    "the device says 64 on wave64: another number of threads than the kernel has on CUDA",
                    "use 32, unless the kernel follows warpSize throughout",
                    value.trace,
                )
            elif any(
                WARP_NAME.search(step.text.split("=")[0].split()[-1].encode())
                for step in value.trace
                if "=" in step.text
            ):
                yield site.finding(
                    "HP225", Verdict.SAFE, node, f"{value.number} threads on every target", "", value.trace
                )


def _block(site: Site, call: Node) -> Node | None:
    """The block size of a launch."""
    function = call.child_by_field_name("function")
    for child in call.children:
        if child.type == "kernel_call_syntax":
            parts = child.named_children
            return parts[1] if len(parts) > 1 else None
    if function is not None and site.function.source(function) in (
        b"hipLaunchKernelGGL",
        b"cudaLaunchKernel",
        b"hipLaunchKernel",
    ):
        nodes = call_nodes(call)
        return nodes[2] if len(nodes) > 2 else None
    return None


def _dimensions(site: Site, block: Node) -> Iterator[Node]:
    """Expressions that make up a block size: the arguments of ``dim3``, also through a variable."""
    if block.type == "call_expression" and callee(site.function, block).endswith(b"dim3"):
        yield from call_nodes(block)
        return
    yield block
    if block.type != "identifier":
        return
    for declarator in site.function.walk("init_declarator", "function_declarator"):
        name = declarator.child_by_field_name("declarator")
        value = declarator.child_by_field_name("value")
        if name is not None and value is not None and site.function.source(name) == site.function.source(block):
            if value.type == "call_expression" and callee(site.function, value).endswith(b"dim3"):
                yield from call_nodes(value)
            elif value.type in ("argument_list", "initializer_list"):
                yield from value.named_children


def host(site: Site) -> Iterator[Finding]:
    """Host code that tests or computes with the device's warp size."""
    for node in site.function.walk("field_expression"):
        text = site.function.source(node)
        if not re.search(rb"(?:\.|->)\s*warpSize\Z", text) or text.startswith(b"this"):
            continue
        parent = node.parent
        while parent is not None and parent.type == "parenthesized_expression":
            parent = parent.parent
        if parent is None or parent.type != "binary_expression":
            continue
        operator = parent.child_by_field_name("operator")
        sign = site.function.source(operator) if operator is not None else b""
        others = [parent.child_by_field_name("left"), parent.child_by_field_name("right")]
        other = next((site.value(o) for o in others if o is not None and o != node), None)
        if sign in _COMPARISONS:
            if other is not None and other.number == 32 and not other.wavefront:
                yield site.finding(
                    "HP226",
                    Verdict.WRONG,
                    parent,
                    "the device says 64 on wave64: this test always goes the other way",
                    "drop the test once the kernels that it guards are proved for wave64",
                    other.trace,
                )
        elif sign in (b"*", b"/", b"%", b"+", b"-", b">>", b"<<"):
            yield site.finding(
                "HP226",
                Verdict.LOGICAL32,
                parent,
                "computed with the device's warp size, 64 on wave64",
                "use 32 for kernels that keep warps of 32 (hipport translate does)",
            )
