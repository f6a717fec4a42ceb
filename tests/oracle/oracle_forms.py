"""How the opcodes of the semantics table are written: the assembler decides which of several forms is right."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hipport.core import target_named
from hipport.emulator.testing import Opcode
from hipport.sdk import find_sdk

WIDE = {"b64", "f64", "u64", "i64", "pkf32"}
HALF = {"f16", "b16", "u16", "i16", "bf16"}
LITERAL = 0x42F63D71  # of v_fmamk, v_fmaak: 123.12 as f32
DST, SRC = 4, (10, 14, 18, 22)  # first register of the destination and of each source


@dataclass(frozen=True, slots=True)
class Form:
    """One accepted spelling.

    Attributes:
        text: assembly.
        sources: what each source position is: a type, ``mask``, ``literal`` or ``imm16``.
        destination: type of the first operand, ``mask``, or empty.
        carry: a mask is written besides the destination.
    """

    text: str
    sources: tuple[str, ...]
    destination: str
    carry: bool


def _register(prefix: str, first: int, kind: str, suffix: str = "") -> str:
    return f"{prefix}[{first}:{first + 1}]" if kind in WIDE else f"{prefix}{first}{suffix}"


def vector_forms(op: Opcode, wave: int) -> list[Form]:
    """Candidates, preferred first."""
    vcc = "vcc" if wave == 64 else "vcc_lo"
    forms = []
    literal = {"mk": 1, "ak": 2}.get((re.search(r"(?:fma|mad)(mk|ak)_", op.mnemonic) or [0, ""])[1])
    lists = [op.operands, op.operands[:-1]]
    if op.operands and op.operands[0] == "mask":
        bare = ("", *op.operands[1:])
        lists = [bare] if wave == 32 and op.mnemonic.startswith("v_cmpx") else [*lists, bare]
    for operands in lists:
        if not operands:
            forms.append(Form(op.mnemonic, (), "", False))
            continue
        carry = len(operands) > 1 and operands[1] == "mask"
        sources = operands[2:] if carry else operands[1:]
        for half in ("", ".l"):
            for ending in ("", "_e64"):
                names = []
                if operands[0]:
                    kind = operands[0]
                    names.append(vcc if kind == "mask" else _register("v", DST, kind, half if kind in HALF else ""))
                if carry:
                    names.append(vcc)
                kinds = []
                for k, kind in enumerate(sources):
                    if literal is not None and k == literal:
                        names.append(hex(LITERAL if "f32" in op.mnemonic else LITERAL & 0xFFFF))
                        kinds.append("literal")
                        continue
                    names.append(vcc if kind == "mask" else _register("v", SRC[k], kind, half if kind in HALF else ""))
                    kinds.append(kind)
                text = f"{op.mnemonic}{ending} {', '.join(names)}"
                form = Form(text, tuple(kinds), operands[0], carry)
                if form not in forms:
                    forms.append(form)
    return forms


def scalar_forms(op: Opcode, immediate: int) -> list[Form]:
    """Candidates, preferred first; ``immediate`` is for SOPK."""
    forms = []
    compares = op.mnemonic.startswith(("s_cmp", "s_bitcmp"))
    literal = {"mk": 1, "ak": 2}.get((re.search(r"fma(mk|ak)_", op.mnemonic) or [0, ""])[1])
    for operands in (op.operands, (*op.operands[:-1], "b32")):
        if not operands:
            continue
        destination = "" if compares else operands[0]
        kinds = operands if compares else operands[1:]
        names = [] if compares else [_register("s", DST, operands[0])]
        names += [hex(LITERAL) if k == literal else _register("s", SRC[k], kind) for k, kind in enumerate(kinds)]
        sources = tuple("literal" if k == literal else kind for k, kind in enumerate(kinds))
        forms.append(Form(f"{op.mnemonic} {', '.join(names)}", sources, destination, False))
        if re.search(r"k_", op.mnemonic) and literal is None:
            names[-1] = hex(immediate)
            forms.insert(0, Form(f"{op.mnemonic} {', '.join(names)}", (*sources[:-1], "imm16"), destination, False))
    return forms


def accepted(target: str, lines: Sequence[str]) -> list[bool]:
    """Which lines the assembler takes, in one call."""
    command = [str(find_sdk().tool("llvm-mc")), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=null"]
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    wrong = {int(number) for number in re.findall(r"^<stdin>:(\d+):\d+: error:", done.stderr, re.MULTILINE)}
    return [index + 1 not in wrong for index in range(len(lines))]


def choose(target: str, candidates: Iterable[tuple[str, list[Form]]]) -> dict[str, Form]:
    """First accepted form by name."""
    flat = [(name, form) for name, forms in candidates for form in forms]
    chosen: dict[str, Form] = {}
    for (name, form), good in zip(flat, accepted(target, [form.text for _, form in flat]), strict=True):
        if good:
            chosen.setdefault(name, form)
    return chosen


def wave_size(target: str) -> int:
    return target_named(target).wave_size
