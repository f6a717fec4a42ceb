"""Preprocessor conditionals: which bytes only AMD builds see, which only CUDA builds see.

Code that was ported by hand has branches such as ``#ifdef USE_ROCM``. A condition is evaluated twice, with the macros
of an AMD build and with those of a CUDA build, in three-valued logic; a branch that only one side can reach is not
ours to translate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from hipport.core import Span
from hipport.syntax.tokens import Directive

# Macros that compilers or projects define in AMD builds only.
AMD_MACRO = re.compile(
    rb"(?:USE_ROCM|USE_HIP|ENABLE_HIP|ENABLE_ROCM|WITH_HIP|WITH_ROCM|\w+_USE_(?:HIP|HIPBLAS|ROCM)|TORCH_HIP_VERSION|ROCM_VERSION"
    rb"|HIP_VERSION(?:_\w+)?|__HIP_PLATFORM_(?:AMD|HCC)__|__HIPCC__|__HIPCC_RTC__|__HIP__|__HCC__|__HIP_\w+"
    rb"|__AMDGCN_\w+|__AMDGCN__|__AMDGPU__|__gfx\w+__|__GFX\w+__|__HIP_ARCH_\w+)"
)
# In an AMD build these exist only in some passes or for some processors.
_AMD_SOMETIMES = re.compile(
    rb"__HIP_DEVICE_COMPILE__|__AMDGCN_\w+|__AMDGCN__|__AMDGPU__|__gfx\w+__|__GFX\w+__|__HIP_ARCH_\w+"
)
_AMD_VALUELESS = re.compile(rb"\w*VERSION\w*|TORCH_HIP_VERSION|HIP_VERSION(?:_\w+)?")

_LEXEME = re.compile(rb"\s*(?:(//[^\n]*|/\*(?s:.*?)\*/|\\\r?\n)|([A-Za-z_]\w*)|(\d[\w.']*)|(\|\||&&|[<>=!]=|<<|>>|.))")


class Reach(StrEnum):
    """Which builds see a piece of text."""

    SHARED = "shared"
    AMD = "amd"  # only AMD builds: written by hand for AMD
    CUDA = "cuda"  # never an AMD build: dead text for us


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch: ``condition`` is the text after the keyword, ``body`` the lines up to the next branch."""

    keyword: str
    condition: Span
    body: Span
    reach: Reach


@dataclass(frozen=True, slots=True)
class Conditional:
    """An ``#if`` ... ``#endif`` group; ``span`` runs from its first ``#`` to the end of the ``#endif`` line."""

    branches: tuple[Branch, ...]
    span: Span


def conditionals(data: bytes, directives: Sequence[Directive]) -> list[Conditional]:
    """All conditionals, inner ones after their outer one. Stray ends are ignored; open groups run to the end."""
    done: list[Conditional] = []
    stack: list[list[Directive]] = []
    for directive in directives:
        if directive.keyword in ("if", "ifdef", "ifndef"):
            stack.append([directive])
        elif directive.keyword in ("elif", "elifdef", "elifndef", "else") and stack:
            stack[-1].append(directive)
        elif directive.keyword == "endif" and stack:
            done.append(_conditional(data, stack.pop(), directive.span))
    end = Span(len(data), len(data))
    done.extend(_conditional(data, group, end) for group in reversed(stack))
    return sorted(done, key=lambda c: (c.span.start, -c.span.end))


def foreign_regions(groups: Sequence[Conditional]) -> list[tuple[Span, Reach]]:
    """Spans that are not shared, in order, outermost only. The conditions themselves count as shared text."""
    found: list[tuple[Span, Reach]] = []
    for group in groups:
        for branch in group.branches:
            if branch.reach is Reach.SHARED or branch.body.start >= branch.body.end:
                continue
            if not any(span.start <= branch.body.start and branch.body.end <= span.end for span, _ in found[-8:]):
                found.append((branch.body, branch.reach))
    return sorted(found, key=lambda item: item[0])


def mentions_amd(condition: bytes) -> bool:
    """True when a condition names a macro of `AMD_MACRO`."""
    return any(AMD_MACRO.fullmatch(name) for name in re.findall(rb"[A-Za-z_]\w*", condition))


def _conditional(data: bytes, group: list[Directive], end: Span) -> Conditional:
    branches = []
    # "No branch before this one was taken", per side.
    amd_open: int | None = 1
    cuda_open: int | None = 1
    for directive, following in zip(group, [*(d.span for d in group[1:]), end], strict=True):
        condition = data[directive.rest.start : directive.rest.end]
        amd = _and(amd_open, _truth(directive.keyword, condition, amd=True))
        cuda = _and(cuda_open, _truth(directive.keyword, condition, amd=False))
        reach = Reach.SHARED
        if cuda == 0 and amd != 0:
            reach = Reach.AMD
        elif amd == 0 and cuda != 0:
            reach = Reach.CUDA
        branches.append(Branch(directive.keyword, directive.rest, Span(directive.span.end, following.start), reach))
        amd_open = _and(amd_open, _not(_truth(directive.keyword, condition, amd=True)))
        cuda_open = _and(cuda_open, _not(_truth(directive.keyword, condition, amd=False)))
    return Conditional(tuple(branches), Span(group[0].span.start, end.end))


def _truth(keyword: str, condition: bytes, *, amd: bool) -> int | None:
    if keyword == "else":
        return 1
    if keyword.endswith(("ifdef", "ifndef", "elifdef", "elifndef")) and keyword != "if":
        name = re.search(rb"[A-Za-z_]\w*", condition)
        known = _defined(name[0], amd=amd) if name else None
        return _not(known) if keyword.endswith("ndef") else known
    try:
        value = _Condition(condition, amd=amd).parse()
    except _UnparsedError:
        return None
    return None if value is None else int(value != 0)


def _defined(name: bytes, *, amd: bool) -> int | None:
    if not AMD_MACRO.fullmatch(name):
        return None
    if not amd:
        return 0
    return None if _AMD_SOMETIMES.fullmatch(name) else 1


def _not(value: int | None) -> int | None:
    return None if value is None else int(not value)


def _and(left: int | None, right: int | None) -> int | None:
    if left == 0 or right == 0:
        return 0
    return None if left is None or right is None else 1


def _or(left: int | None, right: int | None) -> int | None:
    if (left is not None and left != 0) or (right is not None and right != 0):
        return 1
    return None if left is None or right is None else 0


class _UnparsedError(Exception):
    pass


class _Condition:
    """Recursive descent over a condition; None stands for "cannot know"."""

    def __init__(self, text: bytes, *, amd: bool) -> None:
        self.amd = amd
        self.tokens = [m for m in _LEXEME.finditer(text) if m[1] is None and m[0].strip()]
        self.at = 0

    def parse(self) -> int | None:
        value = self._either()
        if self.at != len(self.tokens):
            raise _UnparsedError
        return value

    def _peek(self) -> bytes:
        return self.tokens[self.at][0].strip() if self.at < len(self.tokens) else b""

    def _take(self) -> bytes:
        token = self._peek()
        if not token:
            raise _UnparsedError
        self.at += 1
        return token

    def _either(self) -> int | None:
        value = self._both()
        while self._peek() == b"||":
            self.at += 1
            value = _or(value, self._both())
        return value

    def _both(self) -> int | None:
        value = self._comparison()
        while self._peek() == b"&&":
            self.at += 1
            right = self._comparison()
            value = _and(None if value is None else int(value != 0), None if right is None else int(right != 0))
        return value

    def _comparison(self) -> int | None:
        left = self._unary()
        operator = self._peek()
        if operator in (b"<", b">", b"<=", b">=", b"==", b"!="):
            self.at += 1
            right = self._unary()
            if left is None or right is None:
                return None
            return int(
                {
                    b"<": left < right,
                    b">": left > right,
                    b"<=": left <= right,
                    b">=": left >= right,
                    b"==": left == right,
                    b"!=": left != right,
                }[operator]
            )
        return left

    def _unary(self) -> int | None:
        token = self._take()
        if token == b"!":
            value = self._unary()
            return None if value is None else int(value == 0)
        if token == b"(":
            value = self._either()
            if self._take() != b")":
                raise _UnparsedError
            return value
        if token == b"defined":
            return self._defined()
        if token[:1].isdigit():
            try:
                return int(token.rstrip(b"uUlL").replace(b"'", b""), 0)
            except ValueError:
                return None
        if re.fullmatch(rb"[A-Za-z_]\w*", token):
            if self._peek() == b"(":  # a function-like macro: its arguments do not matter
                self._skip_arguments()
                return None
            return self._value(token)
        raise _UnparsedError

    def _defined(self) -> int | None:
        name = self._take()
        if name == b"(":
            name = self._take()
            if self._take() != b")":
                raise _UnparsedError
        return _defined(name, amd=self.amd)

    def _value(self, name: bytes) -> int | None:
        known = _defined(name, amd=self.amd)
        if known == 1 and _AMD_VALUELESS.fullmatch(name):
            return None
        return known

    def _skip_arguments(self) -> None:
        depth = 0
        while True:
            token = self._take()
            depth += (token == b"(") - (token == b")")
            if depth == 0:
                return
