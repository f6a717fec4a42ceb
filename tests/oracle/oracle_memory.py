"""LDS and memory opcodes on the emulator and through the pseudocode: returned data and every byte of memory."""

# ruff: noqa: E501, PERF401
from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

import numpy as np
import oracle_numbers as n
from numpy.typing import NDArray
from oracle_forms import Form, choose, wave_size
from oracle_numbers import Bits
from oracle_pseudocode import NotCovered, State, program
from oracle_registers import Outcome, constants
from oracle_tables import excepted, library, pseudocode
from oracle_values import sample

from hipport.core import HipportError
from hipport.emulator.testing import Opcode, Snippets, WaveState, opcodes

REGION = 1024  # bytes of each lane, so that lanes do not meet
DST, ADDRESS, DATA, DATA2 = 4, 10, 14, 18
RETURNS = re.compile(r"_rtn_|xchg|read|load")
LOADS = re.compile(r"read|load")
ROUNDS = 2


def _names(prefix: str, first: int) -> list[str]:
    return [f"{prefix}{first}"] + [f"{prefix}[{first}:{first + k}]" for k in (1, 2, 3)]


def lds_forms(op: Opcode) -> list[Form]:
    two = re.search(r"2addr|read2|write2|xchg2", op.mnemonic)
    offset = " offset0:0 offset1:1" if two else ""
    first = _names("v", DST) if RETURNS.search(op.mnemonic) else [""]
    data = [""] if LOADS.search(op.mnemonic) else _names("v", DATA)
    forms = []
    for d in first:
        for a in data:
            for b in ["", *_names("v", DATA2)]:
                operands = ", ".join(x for x in (d, f"v{ADDRESS}", a, b) if x)
                forms.append(Form(f"{op.mnemonic} {operands}{offset}", (), d, False))
    return forms


def memory_forms(op: Opcode) -> list[Form]:
    forms = []
    atomic = "atomic" in op.mnemonic
    returns = atomic or "load" in op.mnemonic
    data = [""] if "load" in op.mnemonic else _names("v", DATA)
    if op.mnemonic.startswith("buffer"):
        address, tail = f"v{ADDRESS}, s[8:11]", ", 0 offen"
    else:
        address, tail = f"v[{ADDRESS}:{ADDRESS + 1}]", ", off" if op.mnemonic.startswith("global") else ""
    cache = [" sc0", " glc", " th:TH_ATOMIC_RETURN"] if atomic else [""]
    for d in _names("v", DST) if returns else [""]:
        for a in data:
            for c in cache:
                if op.mnemonic.startswith("buffer"):
                    value = a or d  # one register is data and result
                    if d and a and d != f"v{DST}":
                        continue
                    for end in (", 0 offen", ", null offen"):
                        forms.append(Form(f"{op.mnemonic} {value}, {address}{end}{c}", (), value, False))
                else:
                    operands = (d, address, a) if "store" not in op.mnemonic else (address, a)
                    forms.append(Form(f"{op.mnemonic} {', '.join(x for x in operands if x)}{tail}{c}", (), d, False))
    if atomic:  # without a return value
        for a in data:
            if not op.mnemonic.startswith("buffer"):
                forms.append(Form(f"{op.mnemonic} {address}, {a}{tail}", (), "", False))
            else:
                for end in (", 0 offen", ", null offen"):
                    forms.append(Form(f"{op.mnemonic} {a}, {address}{end}", (), "", False))
    return forms


def value_kind(name: str) -> str:
    if re.search(r"64|x2|x4|b128", name):
        return "b64"
    return "pkf16" if "pk_" in name or "16" in name else "b32"


def _wide(rng: np.random.Generator, name: str, wave: int) -> NDArray[np.uint32]:
    """``(4, wave)`` words."""
    kind = value_kind(name)
    parts = [sample(rng, kind, wave) for _ in range(2 if kind == "b64" else 4)]
    if kind == "b64":
        parts = [half for p in parts for half in (p & np.uint64(0xFFFFFFFF), p >> np.uint64(32))]
    return np.array(parts).astype(np.uint32)


def memory_outcomes(target: str, only: str = "", units: tuple[str, ...] = ("lds", "memory")) -> Iterator[Outcome]:
    wave = wave_size(target)
    table = pseudocode(target)
    ops = [
        op
        for op in opcodes().values()
        if op.unit in units and op.mnemonic in table and not excepted(op.mnemonic)
        and re.fullmatch(only or ".*", op.mnemonic) and not op.mnemonic.startswith("scratch")
    ]  # fmt: skip
    forms = choose(target, [(op.mnemonic, lds_forms(op) if op.unit == "lds" else memory_forms(op)) for op in ops])
    for op in ops:
        if op.mnemonic not in forms:
            yield Outcome(op.mnemonic, "no form")
    chosen = [op for op in ops if op.mnemonic in forms]
    snippets = Snippets(target, [forms[op.mnemonic].text for op in chosen])
    memory = snippets._device.allocate(REGION * wave)
    for index, op in enumerate(chosen):
        try:
            yield _memory(op, forms[op.mnemonic], table[op.mnemonic][1], snippets, index, target, wave, memory)
        except NotCovered as error:
            yield Outcome(op.mnemonic, "not covered", str(error))
        except KeyError as error:
            yield Outcome(op.mnemonic, "not covered", f"a value of type {error}")
        except HipportError as error:
            yield Outcome(op.mnemonic, "refused", str(error).splitlines()[0])


def _memory(
    op: Opcode, form: Form, text: str, snippets: Snippets, index: int, target: str, wave: int, memory: object
) -> Outcome:
    # Address arithmetic has its own tests; here every lane has one address.
    code = program(re.sub(r"Calc(?:Global|Flat|Buffer)Addr\([^;]*\)", "ADDRESS64.u64", text))
    rng = np.random.default_rng(zlib.crc32(op.mnemonic.encode()))
    flags = constants(wave)
    lds = op.unit == "lds"
    in_place = op.mnemonic.startswith("buffer")
    for _ in range(ROUNDS):
        state = WaveState.of(target)
        data, data2, old = (_wide(rng, op.mnemonic, wave) for _ in range(3))
        words = rng.integers(0, 1 << 32, REGION * wave // 4, dtype=np.uint32).reshape(wave, REGION // 4)
        content = _wide(rng, op.mnemonic, wave).T
        equal = rng.random(wave) < 0.3  # so that compare and swap swaps
        for start in (0, 1, 2, 64, 128):
            words[:, start : start + 4] = np.where(equal[:, None], data.T, content)
        if "cmp" in op.mnemonic:
            swap = 2 if value_kind(op.mnemonic) == "b64" else 1
            words[equal, :swap] = (data2.T if op.mnemonic.startswith("ds_cmpstore") else data.T)[equal, :swap]
            if not lds:
                words[equal, :swap] = data.T[equal, swap : 2 * swap]
        image = np.ascontiguousarray(words).view(np.uint8).reshape(-1)
        base = 0 if lds else memory.address  # type: ignore[attr-defined]
        addresses = [base + lane * REGION for lane in range(wave)]
        if lds:
            state.lds = image.copy()
        else:
            memory.view()[:] = image  # type: ignore[attr-defined]
        first_data = int(re.search(r"v\[?(\d+)", form.destination)[1]) if in_place and form.destination else DATA  # type: ignore[index]
        if in_place and not form.destination:
            first_data = DATA
        state.vgpr[DST : DST + 4, :wave] = old
        state.vgpr[first_data : first_data + 4, :wave] = old if in_place and "load" in op.mnemonic else data
        state.vgpr[DATA2 : DATA2 + 4, :wave] = data2
        local = [a - base for a in addresses] if in_place or lds else addresses
        state.vgpr[ADDRESS, :wave] = np.array(local, np.uint64).astype(np.uint32)
        state.vgpr[ADDRESS + 1, :wave] = (np.array(local, np.uint64) >> np.uint64(32)).astype(np.uint32)
        word3 = 0x27000 if wave == 64 else 0x31014000
        state.sgpr[8:12] = [base & 0xFFFFFFFF, base >> 32, REGION * wave, word3]
        state.sgpr[124] = 0xFFFFFFFF
        after = snippets.run(index, state)
        result = after.lds if lds else memory.view().copy()  # type: ignore[attr-defined]
        expected = image.copy()
        loose: set[int] = set()
        for lane in range(wave):
            machine = State(constants=flags, lane=lane, library=library(target))

            def pack(rows: NDArray[np.uint32], lane: int = lane) -> int:
                return sum(int(rows[k, lane]) << 32 * k for k in range(4))

            a = addresses[lane]
            machine.registers = dict.fromkeys(("ADDR", "vgpr_a", "ADDR_BASE", "VADDR", "ADDRESS64"), a)
            machine.registers |= {"OFFSET": 0, "OFFSET0": 0, "OFFSET1": 0, "offset": 0, "SADDR": 0, "EXEC": 0, "M0": 0}
            machine.registers |= {"IOFFSET": 0, "SRSRC": 0, "SOFFSET": 0}
            machine.registers |= {
                "OFFSET1": int("offset1:1" in form.text),
                "RETURN_DATA": pack(old),
                "DATA2": pack(data2),
            }
            machine.registers |= {"DATA": pack(data), "DATA0": pack(data), "DATA1": pack(data2)}
            machine.registers["VDATA"] = pack(data if "store" in op.mnemonic or "atomic" in op.mnemonic else old)
            machine.memory = {
                a + k: int(image[lane * REGION + k]) for k in (*range(16), *range(256, 264), *range(512, 520))
            }
            code.run(machine)
            for address, byte in machine.stored.items():
                expected[address - base] = byte
            loose |= {address - base for address in machine.stored_any_nan}
            name = "VDATA" if "VDATA" in machine.written and "load" in op.mnemonic else "RETURN_DATA"
            if form.destination and name in machine.written:
                written = machine.written[name]
                target_row = DST if not in_place else int(re.search(r"v\[?(\d+)", form.destination)[1])  # type: ignore[index]
                have = sum(int(after.vgpr[target_row + k, lane]) << 32 * k for k in range(4))
                want = machine.registers[name]
                if (want ^ have) & written:
                    where = f"{form.text} lane {lane} data {pack(data):#x} memory {pack(words[:, :4].T):#x}"
                    detail = f"{where}: returned {want & written:#x}, emulator {have & written:#x}"
                    return Outcome(op.mnemonic, "differs", detail)
        wrong = [int(k) for k in np.nonzero(expected != result)[0]]
        width = 64 if "64" in op.mnemonic else 16 if "16" in op.mnemonic else 32
        for k in wrong:
            start = k - k % (width // 8)
            got = int.from_bytes(result[start : start + width // 8].tobytes(), "little")
            if start in {x - x % (width // 8) for x in loose} and n.is_nan(
                Bits("bf" if "bf16" in text else "f", width, got)
            ):
                continue
            lane = k // REGION
            data_hex = hex(sum(int(data[j, lane]) << 32 * j for j in range(4)))
            detail = (
                f"{form.text} lane {lane} byte {k % REGION} memory {image[lane * REGION : lane * REGION + 8].tobytes()[::-1].hex()} "
                f"data {data_hex}: want {expected[start : start + 8].tobytes()[::-1].hex()}, "
                f"have {result[start : start + 8].tobytes()[::-1].hex()}"
            )
            return Outcome(op.mnemonic, "differs", detail)
    return Outcome(op.mnemonic, "agrees")
