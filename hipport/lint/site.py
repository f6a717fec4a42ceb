"""What a check gets to see, and how it makes a finding."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tree_sitter import Node

from hipport.lint.finding import Finding, Step, Verdict
from hipport.lint.project import Function, Project
from hipport.lint.provenance import Provenance, call_nodes, is_hip
from hipport.lint.values import Role, Value, step_at
from hipport.syntax import ParsedFile, Reach


@dataclass(frozen=True)
class Site:
    """One function under inspection."""

    project: Project
    provenance: Provenance
    function: Function

    @property
    def parsed(self) -> ParsedFile:
        """Its file."""
        return self.function.parsed

    def hip(self, node: Node) -> bool:
        """The text at a node is written for HIP: a HIP file, or a branch that only AMD builds see."""
        return is_hip(self.parsed) or self.parsed.reach(self.function.offset(node)) is Reach.AMD

    def value(self, node: Node | None) -> Value:
        """Value of an expression of this function."""
        return self.provenance.value(self.function, node)

    @cached_property
    def takes_part(self) -> bool:
        """The function runs warp operations, directly or through what it calls."""
        return self.project.takes_part(self.function)

    @cached_property
    def numbers(self) -> list[tuple[Node, Value]]:
        """Lane and warp numbers that the function computes from thread numbers, and numbers of warps."""
        found = []
        for node in self.function.walk("binary_expression"):
            text = self.function.source(node)
            if len(text) > 300 or not (b"/" in text or b"%" in text or b">>" in text or b"&" in text):
                continue
            value = self.value(node)
            if value.role not in (Role.LANE, Role.WARP, Role.WARPS):
                continue
            left = self.value(node.child_by_field_name("left"))
            if left.role in (Role.THREAD, Role.BLOCK):
                found.append((node, value))
        return found

    def finding(
        self,
        number: str,
        verdict: Verdict,
        node: Node,
        reason: str,
        fix: str = "",
        trace: tuple[Step, ...] = (),
        subject: str = "",
    ) -> Finding:
        """A finding at a node."""
        here = step_at(self.parsed, self.function.offset(node), self.function.source(node))
        steps = tuple(dict.fromkeys(s for s in trace if s != here))
        return Finding(
            number, verdict, here.path, here.line, here.column, subject or here.text, reason, fix, steps[-8:]
        )


def argument(call: Node, index: int) -> Node | None:
    """An argument of a call, None when there are fewer."""
    nodes = call_nodes(call)
    return nodes[index] if index < len(nodes) else None
