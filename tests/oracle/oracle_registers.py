"""Runs register opcodes (VALU, SALU) on the emulator and through the pseudocode, and lists where they differ."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import oracle_numbers as n
from oracle_forms import DST, LITERAL, SRC, WIDE, Form, choose, scalar_forms, vector_forms, wave_size
from oracle_numbers import Bits
from oracle_pseudocode import NotCovered, State, program
from oracle_tables import excepted, library, pseudocode
from oracle_values import sample

from hipport.core import HipportError
from hipport.emulator.testing import DEFAULT_MODE, Opcode, Snippets, WaveState, opcodes

VECTOR_VALUES, SCALAR_VALUES = 192, 48
MINMAX = re.compile(r"v_(pk_)?(min|max|med|cube)")
FLUSHES = re.compile(r"v_(rcp|rcp_iflag|rsq|sqrt|log|exp|sin|cos)_f32")  # denormal inputs count as 0
READS_OLD = re.compile("fmac|mac_|dot2c|dot4c|dot8c")
LANE_CROSSING = ("permlane", "readlane", "writelane", "readfirstlane", "movrel", "v_swap")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one opcode on one target.

    Attributes:
        state: ``agrees``, ``differs``, ``not covered``, ``no form`` or ``refused``.
        detail: first difference, or the reason.
    """

    name: str
    state: str
    detail: str = ""


def constants(wave: int, mode: int = DEFAULT_MODE) -> dict[str, Bits]:
    flags = {"WAVE_MODE.IEEE": mode >> 9 & 1, "WAVE_MODE.DX10_CLAMP": mode >> 8 & 1, "IEEE": mode >> 9 & 1}
    table = {name: n.integer("u", 1, value) for name, value in flags.items()}
    table |= {"WAVE32": n.integer("u", 1, wave == 32), "WAVE64": n.integer("u", 1, wave == 64)}
    table |= {"OPSEL": n.integer("u", 4, 0), "OPSEL_HI": n.integer("u", 3, 7), "NEG": n.integer("u", 3, 0)}
    table |= {"SDWA_SRC0_SEL": n.integer("u", 3, 0)}
    for index in range(4):
        table |= {f"BYTE{index}": n.integer("u", 3, index), f"WORD{index}": n.integer("u", 3, 4 + index)}
    return table


def float_width(kind: str, text: str) -> int:
    """Width of one float in the destination."""
    if kind in ("pkf16", "f16", "b16", "i16", "u16", "bf16"):
        return 16
    if kind in ("f64", "u64"):
        return 64
    return 16 if re.search(r"D0[^;=]*\bb?f16\b|\btmp[^;=]*\.b?f16\b", text) else 32


def same(expected: int, actual: int, written: int, any_nan: int, width: int, kind: str, exactness: str) -> bool:
    """Compare what was written; an arithmetic NaN is any NaN; the stated tolerance for approximations."""
    floats = "bf" if "bf16" in kind else "f"
    low = 0
    while written >> low:
        mask = ((1 << width) - 1) << low
        if written & mask:
            a, b = expected >> low & ((1 << width) - 1), actual >> low & ((1 << width) - 1)
            keep = (written & mask) >> low
            if any_nan & mask:
                if not n.is_nan(Bits(floats, width, b)):
                    return False
            elif (a & keep) != (b & keep) and not _close(a, b, width, exactness):
                return False
        low += width
    return True


def _close(a: int, b: int, width: int, exactness: str) -> bool:
    if exactness == "exact":
        return False
    x, y = Bits("f", width, a), Bits("f", width, b)
    if n.is_nan(x) or n.is_nan(y):
        return False
    if exactness.endswith("ulp"):
        order = [value if not value >> (width - 1) else -(value & ((1 << (width - 1)) - 1)) for value in (a, b)]
        if abs(order[0] - order[1]) <= 1:
            return True
        tiny = 2.0**-126 if width == 32 else 0.0  # the f32 approximations flush denormal results
        return width == 32 and abs(n.as_float(x)) < tiny and abs(n.as_float(y)) == 0.0
    if match := re.match(r"2\^-(\d+) (absolute|relative)", exactness):
        bound = 2.0 ** -int(match[1]) * (1.0 if match[2] == "absolute" else abs(n.as_float(x)))
        return abs(n.as_float(x) - n.as_float(y)) <= bound
    return False


def loosen(machine: State, width: int, sources: int, one: bool) -> None:
    """Which of two NaNs wins differs between the manuals: then any NaN is right (with ``one``, for a single NaN)."""
    for low in range(0, 32 if width == 16 else width, width):
        mask = (1 << width) - 1

        def is_nan(name: str, low: int = low, mask: int = mask) -> bool:
            return n.is_nan(Bits("f", width, machine.registers[name] >> low & mask))

        if sum(is_nan(f"S{k}") for k in range(sources)) > (not one) and is_nan("D0"):
            machine.any_nan["D0"] = machine.any_nan.get("D0", 0) | machine.written["D0"] & mask << low


SINGLE, OTHER = ("f32", "pkf32"), ("f16", "f64", "pkf16")  # the two groups of types that MODE knows


def flushed(pattern: int, kind: str) -> int:
    """Denormals of a register as zeros of the same sign."""
    width = {"f16": 16, "pkf16": 16, "f64": 64}.get(kind, 32)
    for low in range(0, {"pkf16": 32, "pkf32": 64}.get(kind, width), width):
        state, _, magnitude = n.classify(Bits("f", width, pattern >> low & ((1 << width) - 1)))
        smallest = {16: -14, 32: -126, 64: -1022}[width]
        if state == "finite" and magnitude < Fraction(2) ** smallest:
            pattern &= ~(((1 << (width - 1)) - 1) << low)
    return pattern


def keeps(mode: int, kind: str) -> int:
    """MODE's denormal bits for a type: 1 inputs are kept, 2 outputs are kept."""
    return mode >> 4 & 3 if kind in SINGLE else mode >> 6 & 3 if kind in OTHER else 3


@contextmanager
def rounding(mode: int) -> Iterator[None]:
    """The oracle's arithmetic rounds as MODE says."""
    saved = dict(n.ROUNDING)
    n.ROUNDING.update({32: mode & 3, 16: mode >> 2 & 3, 64: mode >> 2 & 3})
    try:
        yield
    finally:
        n.ROUNDING.update(saved)


def vector_outcomes(target: str, only: str = "", mode: int = DEFAULT_MODE) -> Iterator[Outcome]:
    wave = wave_size(target)
    table = pseudocode(target)
    ops = [
        op
        for op in opcodes().values()
        if op.unit == "valu" and op.mnemonic in table and re.fullmatch(only or ".*", op.mnemonic)
        and not excepted(op.mnemonic)
        and not any(word in op.mnemonic for word in LANE_CROSSING) and op.mnemonic not in ("v_nop", "v_pipeflush")
    ]  # fmt: skip
    forms = choose(target, [(op.mnemonic, vector_forms(op, wave)) for op in ops])
    chosen = [op for op in ops if op.mnemonic in forms]
    for op in ops:
        if op.mnemonic not in forms:
            yield Outcome(op.mnemonic, "no form")
    snippets = Snippets(target, [forms[op.mnemonic].text for op in chosen])
    for index, op in enumerate(chosen):
        try:
            with rounding(mode):
                outcome = _vector(op, forms[op.mnemonic], table[op.mnemonic][1], snippets, index, target, wave, mode)
            yield outcome
        except NotCovered as error:
            yield Outcome(op.mnemonic, "not covered", str(error))
        except KeyError as error:
            yield Outcome(op.mnemonic, "not covered", f"a value of type {error}")
        except HipportError as error:
            yield Outcome(op.mnemonic, "refused", str(error).splitlines()[0])


def _vector(
    op: Opcode, form: Form, text: str, snippets: Snippets, index: int, target: str, wave: int, mode: int
) -> Outcome:
    text = text.replace("VGPR[laneId][VDST.u32]", "D0").replace("VGPR[laneId][SRC0.u32]", "S0")
    code = program(text)
    rng = np.random.default_rng(zlib.crc32(op.mnemonic.encode()))
    width = float_width(form.destination, text)
    flags = constants(wave, mode)
    if "_mix" in op.mnemonic:
        flags["OPSEL_HI"] = n.integer("u", 3, 0)  # the assembler's default
    writes_exec = "EXEC.u64[laneId]" in text
    for _ in range(VECTOR_VALUES // wave):
        state = WaveState.of(target)
        state.mode = mode
        vcc = int(rng.integers(0, 1 << 62)) & ((1 << wave) - 1)
        state.vcc = vcc
        values = []
        for k, kind in enumerate(form.sources):
            if kind in ("mask", "literal"):
                values.append(None)
                continue
            data = sample(rng, kind, wave)
            values.append(data)
            state.vgpr[SRC[k], :wave] = data.astype(np.uint32)
            if kind in WIDE:
                state.vgpr[SRC[k] + 1, :wave] = (data >> np.uint64(32)).astype(np.uint32)
        old = sample(rng, "pkf32" if form.destination in WIDE else form.destination or "b32", wave)
        state.vgpr[DST, :wave] = old.astype(np.uint32)
        state.vgpr[DST + 1, :wave] = (old >> np.uint64(32)).astype(np.uint32)
        after = snippets.run(index, state)
        for lane in range(wave):
            machine = State(constants=flags, lane=lane, library=library(target), fnuz=target in ("gfx90a", "gfx942"))
            machine.registers = {"VCC": vcc, "EXEC": (1 << wave) - 1, "D0": int(old[lane]), "D1": 0, "SCC": 0}
            position = 0
            for data, kind in zip(values, form.sources, strict=True):
                if kind == "literal":
                    machine.registers["SIMM32"] = machine.registers["SIMM16"] = LITERAL
                elif data is not None:
                    value = int(data[lane])
                    machine.registers[f"S{position}"] = value if keeps(mode, kind) & 1 else flushed(value, kind)
                    position += 1
            if form.destination == "mask":
                machine.registers["D0"] = 0
            if FLUSHES.fullmatch(op.mnemonic) and machine.registers["S0"] << 1 >> 1 & 0x7F800000 == 0:
                machine.registers["S0"] &= 0x80000000
            if READS_OLD.search(op.mnemonic) and not keeps(mode, form.destination) & 1:
                machine.registers["D0"] = flushed(machine.registers["D0"], form.destination)
            code.run(machine)
            result = "pkf16" if re.search("_mix(lo|hi)_|cvt_pk_?(rtz_)?f16", op.mnemonic) else form.destination
            if not keeps(mode, result) & 2:
                new, done = machine.registers["D0"], machine.written.get("D0", 0)
                machine.registers["D0"] = flushed(new, result) & done | new & ~done
            if MINMAX.match(op.mnemonic):
                loosen(machine, width, position, "cube" in op.mnemonic)
            before = [hex(int(data[lane])) for data in values if data is not None]
            where = f"{form.text} lane {lane} inputs {before} old {int(old[lane]):#x} vcc {vcc >> lane & 1}"
            if form.destination == "mask":
                want, have = machine.registers["D0"] >> lane & 1, after.vcc >> lane & 1
                if want != have:
                    return Outcome(op.mnemonic, "differs", f"{where}: pseudocode {want}, emulator {have}")
            elif form.destination:
                have = int(after.vgpr[DST, lane]) | int(after.vgpr[DST + 1, lane]) << 32
                want, written = machine.registers["D0"], machine.written.get("D0", 0)
                loose = machine.any_nan.get("D0", 0)
                if not same(want, have, written, loose, width, form.destination, op.exactness):
                    return Outcome(
                        op.mnemonic, "differs", f"{where}: pseudocode {want & written:#x}, emulator {have & written:#x}"
                    )
            if writes_exec and machine.registers["EXEC"] >> lane & 1 != after.exec_mask >> lane & 1:
                return Outcome(op.mnemonic, "differs", f"{where}: EXEC")
            if form.carry:
                if "D1" in machine.written:
                    want = machine.registers["D1"] & 1
                else:
                    whole = "VCC = 0x" in text
                    want = machine.registers["VCC"] & 1 if whole else machine.registers["VCC"] >> lane & 1
                if want != after.vcc >> lane & 1:
                    return Outcome(op.mnemonic, "differs", f"{where}: carry {want} against {after.vcc >> lane & 1}")
    return Outcome(op.mnemonic, "agrees")


IMMEDIATES = (0x8000, 0x7FFF, 0xFFFF, 5)


def scalar_types(name: str) -> tuple[str, str]:
    """(source, destination) of a scalar float opcode by its name, empty for others."""
    if match := re.search(r"cvt_(?:hi_|pk_rtz_)?(f16|f32|i32|u32)_(f16|f32|i32|u32)$", name):
        return "pkf16" if "_hi_" in name else match[2], "pkf16" if "_pk_" in name else match[1]
    kind = match[1] if (match := re.search(r"_(f16|f32)$", name)) else ""
    return kind, "" if "_cmp_" in name else kind


def scalar_outcomes(target: str, only: str = "", mode: int = DEFAULT_MODE) -> Iterator[Outcome]:
    wave = wave_size(target)
    table = pseudocode(target)
    ops = [
        op
        for op in opcodes().values()
        if op.unit == "salu"
        and op.mnemonic in table
        and re.fullmatch(only or ".*", op.mnemonic)
        and not excepted(op.mnemonic)
    ]
    texts: list[str] = []
    plans: list[tuple[Opcode, list[tuple[int, int, Form]]]] = []
    per_immediate = [choose(target, [(op.mnemonic, scalar_forms(op, value)) for op in ops]) for value in IMMEDIATES]
    for op in ops:
        runs = []
        for value, forms in zip(IMMEDIATES, per_immediate, strict=True):
            form = forms.get(op.mnemonic)
            if form and form.text not in texts[-4:]:
                runs.append((len(texts), value, form))
                texts.append(form.text)
        if runs:
            plans.append((op, runs))
        else:
            yield Outcome(op.mnemonic, "no form")
    snippets = Snippets(target, texts)
    for op, runs in plans:
        try:
            with rounding(mode):
                outcome = _scalar(op, runs, table[op.mnemonic], snippets, target, wave, mode)
            yield outcome
        except NotCovered as error:
            yield Outcome(op.mnemonic, "not covered", str(error))
        except KeyError as error:
            yield Outcome(op.mnemonic, "not covered", f"a value of type {error}")
        except HipportError as error:
            yield Outcome(op.mnemonic, "refused", str(error).splitlines()[0])


def _scalar(
    op: Opcode,
    runs: list[tuple[int, int, Form]],
    entry: tuple[str, str],
    snippets: Snippets,
    target: str,
    wave: int,
    mode: int,
) -> Outcome:
    code = program(entry[1])
    rng = np.random.default_rng(zlib.crc32(op.mnemonic.encode()))
    flags = constants(wave, mode)
    width = float_width("", entry[1])
    source_kind, result_kind = scalar_types(op.mnemonic)
    for index, immediate, form in runs:
        for _ in range(SCALAR_VALUES // len(runs)):
            state = WaveState.of(target)
            state.mode = mode
            state.scc = int(rng.integers(0, 2))
            state.exec_mask = int(rng.integers(1, 1 << 62)) & ((1 << wave) - 1) or 1
            state.vcc = int(rng.integers(0, 1 << 62)) & ((1 << wave) - 1)
            machine = State(constants=flags, library=library(target))
            machine.registers = {"SCC": state.scc, "EXEC": state.exec_mask, "VCC": state.vcc, "M0": 0}
            position = 0
            for k, kind in enumerate(form.sources):
                if kind == "literal":
                    machine.registers["SIMM32"] = LITERAL
                    continue
                value = immediate if kind == "imm16" else int(sample(rng, kind, 1)[0])
                kept = keeps(mode, source_kind) & 1 or kind == "imm16"
                machine.registers[f"S{position}"] = value if kept else flushed(value, source_kind)
                if kind == "imm16":
                    machine.registers["SIMM16"] = immediate
                else:
                    state.sgpr[SRC[k]] = value & 0xFFFFFFFF
                    if kind in WIDE:
                        state.sgpr[SRC[k] + 1] = value >> 32
                position += 1
            old = int(sample(rng, form.destination or "b32", 1)[0])
            state.sgpr[DST], state.sgpr[DST + 1] = old & 0xFFFFFFFF, old >> 32
            machine.registers["D0"] = old
            if READS_OLD.search(op.mnemonic) and not keeps(mode, source_kind) & 1:
                machine.registers["D0"] = flushed(old, source_kind)
            inputs = {k: hex(v) for k, v in machine.registers.items()}
            after = snippets.run(index, state)
            code.run(machine)
            if not keeps(mode, result_kind) & 2:
                machine.registers["D0"] = flushed(machine.registers["D0"], result_kind)
            have = int(after.sgpr[DST]) | int(after.sgpr[DST + 1]) << 32
            want, written = machine.registers["D0"], machine.written.get("D0", 0)
            where = f"{form.text} {inputs}"
            if not same(want, have, written, machine.any_nan.get("D0", 0), width, "", op.exactness):
                detail = f"{where}: pseudocode {want & written:#x}, emulator {have & written:#x}"
                return Outcome(op.mnemonic, "differs", detail)
            for name, actual in (("SCC", after.scc), ("EXEC", after.exec_mask), ("VCC", after.vcc)):
                mask = 1 if name == "SCC" else (1 << wave) - 1
                if name in machine.written and machine.registers[name] & mask != actual & mask:
                    return Outcome(op.mnemonic, "differs", f"{where}: {name} {machine.registers[name]:#x}, {actual:#x}")
    return Outcome(op.mnemonic, "agrees")
