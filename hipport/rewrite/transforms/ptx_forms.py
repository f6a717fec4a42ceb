"""Representative forms of every PTX instruction: the source of the documentation page and of its tests.

A form is PTX with constraint letters in place of operands: ``add.s32 =r, r, r``. They stand in ``ptx_forms.txt``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hipport.core import Span
from hipport.syntax.ptx_asm import AsmStatement, Constraint


@dataclass(frozen=True, slots=True)
class Family:
    """Instructions of one chapter.

    Attributes:
        name: title.
        exactness: whether results are the bits that NVIDIA GPUs give.
        cost: instructions on CDNA, in words.
        forms: representative forms.
    """

    name: str
    exactness: str
    cost: str
    forms: tuple[str, ...]


@cache
def families() -> tuple[Family, ...]:
    """Every family with its forms, in order."""
    found: list[Family] = []
    forms: list[str] = []
    head = ("", "", "")
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        heading = re.match(r"\[(.+?)\] (.+?) \| (.+)", line)
        if heading:
            if forms:
                found.append(Family(*head, tuple(forms)))
            head, forms = (heading[1], heading[2], heading[3]), []
        elif line and not line.startswith("#"):
            forms.append(line)
    return (*found, Family(*head, tuple(forms)))


_PLACE = re.compile(r"(?<![\w.%:$])([=+]?)([rlfdhn])(?![\w:$]|\.(?![bh]\d))")


@dataclass(frozen=True, slots=True)
class Form:
    """One form as an asm statement.

    Attributes:
        ptx: the text with ``%n`` operands.
        constraints: constraint of each operand.
    """

    ptx: str
    constraints: tuple[str, ...]

    def statement(self) -> AsmStatement:
        """The statement with operands named ``v0``, ``v1``, ...; ``n`` operands are the constant 2."""
        operands = tuple(Constraint(c, "2" if c == "n" else f"v{i}", 0) for i, c in enumerate(self.constraints))
        extended = bool(operands) or "%%" in self.ptx
        return AsmStatement(Span(0, 0), self.ptx, extended, True, operands, ("memory",), ())


def form(text: str) -> Form:
    """Number the operands of a form, outputs first as asm statements have them."""
    found = list(_PLACE.finditer(text))
    order = [m for m in found if m[1]] + [m for m in found if not m[1]]
    numbers = {m.start(): i for i, m in enumerate(order)}
    ptx = _PLACE.sub(lambda m: f"%{numbers[m.start()]}", text)
    return Form(ptx + ("" if ptx.endswith("}") else ";"), tuple(m[1] + m[2] for m in order))
