"""Which opcodes kernels use, and how exactly the emulator executes each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from hipport.emulator.device import Module
from hipport.emulator.testing import opcodes

_SUFFIX = re.compile(r"(_e32|_e64|_dpp8?|_sdwa)+$")


@dataclass(frozen=True, slots=True)
class Used:
    """One opcode of a kernel.

    Attributes:
        mnemonic: without encoding suffix.
        count: instructions.
        implemented: every use of it can be executed.
        exactness: ``exact`` or the tolerance; empty when not implemented.
        example: an instruction, one that cannot be executed if there is one.
    """

    mnemonic: str
    count: int
    implemented: bool
    exactness: str
    example: str


def base_mnemonic(text: str) -> str:
    """Mnemonic of a disassembled instruction without its encoding suffix; the first half of a dual one."""
    name = text.split(" ", 1)[0]
    return _SUFFIX.sub("", name).replace("v_dual_", "v_")


def coverage(module: Module, kernels: Iterable[str]) -> list[Used]:
    """Opcodes of the kernels, most frequent first."""
    table = opcodes()
    counts: Counter[str] = Counter()
    examples: dict[str, str] = {}
    broken: dict[str, str] = {}
    for kernel in kernels:
        for _, text, implemented in module.instructions(kernel):
            for part in text.split(" :: "):
                name = base_mnemonic(part)
                counts[name] += 1
                examples.setdefault(name, text)
                if not implemented:
                    broken.setdefault(name, text)
    return [
        Used(
            mnemonic=name,
            count=count,
            implemented=name not in broken,
            exactness=table[name].exactness if name in table and name not in broken else "",
            example=broken.get(name, examples[name]),
        )
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
