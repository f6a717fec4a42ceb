"""Modifiers of vector opcodes: an instruction with one does what the plain one does with operands changed before.

The plain instructions have their own oracle (test_pseudocode.py). Here numpy changes operands and results as the
manuals say: signs, halves (op_sel), bytes and words (SDWA), lanes (DPP), clamp and output modifiers. All opcodes of the
table whose assembler form takes the modifier are run with it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_forms import DST, SRC, WIDE, Form, accepted, choose, vector_forms, wave_size
from oracle_registers import LANE_CROSSING
from oracle_tables import MANUAL
from oracle_values import sample

from hipport.emulator.native_api import UnimplementedInstruction
from hipport.emulator.testing import DEFAULT_MODE, Snippets, WaveState, opcodes

pytestmark = [pytest.mark.sdk, pytest.mark.slow]
every_target = pytest.mark.parametrize("target", MANUAL)
Rows = NDArray[np.uint32]  # (2, 64): low and high words of a register
HALVES = ("f16", "bf16", "b16", "u16", "i16")
FLOATS = ("f16", "bf16", "f32", "f64")
LANES = np.arange(64)
# Refused with a clear error when they have a modifier: conversions that place a byte themselves, mixed precision.
REFUSED = re.compile("v_cvt_sr_(fp8|bf8)_f32|v_fma_mix|v_cvt_scalef32|v_pk_fmac_f16|v_dot2c|v_dot4c|v_dot8c")


@dataclass(frozen=True)
class Plain:
    """The form of an opcode without modifiers.

    Attributes:
        operands: as written; the first ``skip`` are written.
        kinds: types of the sources.
    """

    name: str
    form: Form
    operands: tuple[str, ...]
    skip: int

    @property
    def kinds(self) -> tuple[str, ...]:
        return self.form.sources

    @property
    def wide(self) -> bool:
        return self.form.destination in WIDE


@dataclass
class Variant:
    """One instruction with modifiers.

    Attributes:
        sources: what happens to a source before, by its position.
        result: what happens to (result, old destination) afterwards.
        lanes: per lane, whether it is written; None for those that EXEC has on.
    """

    plain: Plain
    text: str
    sources: dict[int, Callable[[Rows], Rows]] = field(default_factory=dict)
    result: Callable[[Rows, Rows], Rows] | None = None
    lanes: NDArray[np.bool_] | None = None
    mode: int = DEFAULT_MODE
    exec_mask: int = -1
    accumulator: Callable[[Rows], Rows] | None = None  # what happens to the destination where it is a source too


@cache
def plains(target: str) -> list[Plain]:
    wave = wave_size(target)
    ops = [op for op in opcodes().values() if op.unit == "valu" and op.operands and op.operands != ("wide",)]
    ops = [op for op in ops if not any(word in op.mnemonic for word in (*LANE_CROSSING, "accvgpr", "v_nop"))]
    forms = choose(target, [(op.mnemonic, vector_forms(op, wave)) for op in ops])
    found = []
    for name, form in forms.items():
        operands = tuple(form.text.split(" ", 1)[1].split(", "))
        skip = (1 if form.destination else 0) + form.carry
        if len(operands) == skip + len(form.sources) and all(o[0] in "v0" for o in operands):
            found.append(Plain(name, form, operands, skip))
    return found


def keep(target: str, variants: list[Variant]) -> list[Variant]:
    good = accepted(target, [v.text for v in variants])
    return [v for v, yes in zip(variants, good, strict=True) if yes]


def written(rows: WaveState, first: int) -> Rows:
    return rows.vgpr[first : first + 2].copy()


def disagreements(target: str, variants: list[Variant]) -> list[str]:
    """One line for each instruction that does something else than the plain one on changed operands."""
    names = sorted({v.plain.name for v in variants})
    forms = {v.plain.name: v.plain.form.text for v in variants}
    snippets = Snippets(target, [*(v.text for v in variants), *(forms[name] for name in names)])
    wave = wave_size(target)
    wrong = []
    for index, v in enumerate(variants):
        rng = np.random.default_rng(zlib.crc32(v.text.encode()))
        state = WaveState.of(target)
        state.mode = v.mode
        state.exec_mask &= v.exec_mask
        on = np.array([state.exec_mask >> int(lane) & 1 for lane in LANES], bool)
        state.vcc = int(rng.integers(0, 1 << 62)) & ((1 << wave) - 1)
        for k, kind in enumerate(v.plain.kinds):
            if kind not in ("mask", "literal"):
                bits = sample(rng, kind, 64)
                state.vgpr[SRC[k]], state.vgpr[SRC[k] + 1] = (
                    bits.astype(np.uint32),
                    (bits >> np.uint64(32)).astype(np.uint32),
                )
        state.vgpr[DST : DST + 2] = rng.integers(0, 1 << 32, (2, 64), dtype=np.uint32)
        try:
            got = snippets.run(index, state)
        except UnimplementedInstruction:
            wrong += [] if REFUSED.match(v.plain.name) else [f"{v.text}: refused"]
            continue
        changed = state.copy()
        for k, change in v.sources.items():
            changed.vgpr[SRC[k] : SRC[k] + 2] = change(written(state, SRC[k]))
        if v.accumulator:
            changed.vgpr[DST : DST + 2] = v.accumulator(written(state, DST))
        want = snippets.run(len(variants) + names.index(v.plain.name), changed)
        old, result = written(state, DST), written(want, DST)
        if v.result:
            result = v.result(result, old)
        lanes = (on if v.lanes is None else v.lanes) & (wave > LANES)
        expected = np.where(lanes, result, old)
        if not v.plain.wide:
            expected[1] = old[1]
        masked = v.plain.form.destination == "mask" or v.plain.form.carry
        same_mask = not masked or v.lanes is not None or want.vcc == got.vcc
        lane = np.flatnonzero((expected != written(got, DST)).any(0) & (wave > LANES))
        if lane.size or not same_mask:
            at = int(lane[0]) if lane.size else -1
            have = [hex(int(x)) for x in written(got, DST)[:, at]]
            wrong.append(f"{v.text} lane {at}: {have} instead of {[hex(int(x)) for x in expected[:, at]]}")
    return wrong


def respelled(plain: Plain, suffix: str, change: dict[int, str], tail: str) -> str:
    """The instruction with other spellings of some sources; ``{}`` in one stands for the register."""
    operands = list(plain.operands)
    for k, pattern in change.items():
        operands[plain.skip + k] = pattern.format(operands[plain.skip + k])
    return f"{plain.form.text.split(' ')[0].removesuffix('_e64')}{suffix} {', '.join(operands)}{tail}"


def sign_word(kind: str) -> tuple[int, int]:
    """(word, bit) of the sign."""
    return (1, 31) if kind in ("f64", "b64") else (0, 15) if kind in HALVES else (0, 31)


def signs(kind: str, negate: bool, absolute: bool) -> Callable[[Rows], Rows]:
    word, bit = sign_word(kind)

    def change(rows: Rows) -> Rows:
        if absolute:
            rows[word] &= np.uint32(~(1 << bit) & 0xFFFFFFFF)
        if negate:
            rows[word] ^= np.uint32(1 << bit)
        return rows

    return change


@every_target
def test_signs_of_sources(target: str) -> None:
    variants = []
    for p in plains(target):
        for k, kind in enumerate(p.kinds):
            if kind in ("mask", "literal"):
                continue
            for pattern, negate, absolute in (("-{}", True, False), ("|{}|", False, True), ("-|{}|", True, True)):
                text = respelled(p, "_e64", {k: pattern}, "")
                variants.append(Variant(p, text, {k: signs(kind, negate, absolute)}))
    # v_div_scale has no room for magnitudes in its encoding.
    mixed = [v for v in variants if "_mix" not in v.plain.name and not ("div_scale" in v.plain.name and "|" in v.text)]
    variants = keep(target, mixed)
    assert len(variants) > 900
    assert disagreements(target, variants) == []


FLOATING = {"1.0": 1.0, "-4.0": -4.0, "0.5": 0.5}
PATTERN = {"f16": (np.float16, np.uint16), "f32": (np.float32, np.uint32), "f64": (np.float64, np.uint64)}


def constant_bits(text: str, kind: str) -> int | None:
    """What an inline constant or a literal is in an operand of a type; None where the manuals leave room."""
    wide = kind in WIDE
    if text in FLOATING:
        as_kind = {"b32": "f32", "u32": "f32", "i32": "f32"}.get(kind, kind)
        if as_kind not in PATTERN:
            return None
        dtype, raw = PATTERN[as_kind]
        return int(np.array(FLOATING[text], dtype).view(raw))
    value = int(text, 0)
    if text.startswith("0x"):  # a literal: 32 bits, the upper ones of a double
        if kind == "f64":
            return value << 32
        return None if wide else value & 0xFFFF if kind in HALVES else value
    return value & (0xFFFFFFFFFFFFFFFF if wide else 0xFFFF if kind in HALVES else 0xFFFFFFFF)


@every_target
def test_constants(target: str) -> None:
    """Inline integers and floats, literals: the same as a register that holds the value in the operand's type."""
    variants = []
    for p in plains(target):
        for k, kind in enumerate(p.kinds):
            if kind in ("mask", "literal", "pk16", "pkf16", "pkf32", "bf16") or "_mix" in p.name or "dot" in p.name:
                continue
            for text in ("5", "-3", "64", "-16", *FLOATING, "0x5678", "0x12345678"):
                bits = constant_bits(text, kind)
                if bits is None or (text == "0x12345678" and kind in HALVES):
                    continue
                value = np.array([[bits & 0xFFFFFFFF], [bits >> 32]], np.uint32)
                change = lambda rows, value=value: np.broadcast_to(value, rows.shape).copy()  # noqa: E731
                variants.append(Variant(p, respelled(p, "", {k: text}, ""), {k: change}))
    variants = keep(target, variants)
    assert len(variants) > 2500
    assert disagreements(target, variants) == []


def as_float(rows: Rows, kind: str) -> NDArray[np.floating]:
    if kind == "f64":
        return (rows[0].astype(np.uint64) | rows[1].astype(np.uint64) << np.uint64(32)).view(np.float64)
    return rows[0].view(np.float32) if kind == "f32" else rows[0].astype(np.uint16).view(np.float16)


def as_rows(x: NDArray[np.floating], rows: Rows, kind: str) -> Rows:
    if kind == "f64":
        bits = x.astype(np.float64).view(np.uint64)
        return np.stack([bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)])
    low = x.astype(np.float32).view(np.uint32) if kind == "f32" else x.astype(np.float16).view(np.uint16)
    return np.stack([low if kind == "f32" else rows[0] & 0xFFFF0000 | low, rows[1]])


def clamped(kind: str, nan_to_zero: bool) -> Callable[[Rows, Rows], Rows]:
    def change(rows: Rows, old: Rows) -> Rows:
        x = as_float(rows, kind)
        with np.errstate(invalid="ignore"):
            y = np.where(np.isnan(x), 0 if nan_to_zero else x, np.clip(x, 0, 1))
        y = np.where(y == 0, np.zeros_like(y), y)
        new = as_rows(y, rows, kind)
        return np.where(np.isnan(x) & (not nan_to_zero), rows, new)

    return change


@every_target
def test_clamp_of_floats(target: str) -> None:
    """To [0, 1]; NaN becomes 0 with MODE's DX10 clamp (always on gfx12)."""
    variants = []
    for p in plains(target):
        kind = p.form.destination
        if kind in ("f16", "f32", "f64") and "div_scale" not in p.name:
            text = respelled(p, "_e64", {}, " clamp")
            for mode in (DEFAULT_MODE, DEFAULT_MODE & ~(1 << 8)):
                zero = bool(mode >> 8 & 1) or target == "gfx1201"
                variants.append(Variant(p, text, result=clamped(kind, zero), mode=mode))
    variants = keep(target, variants)
    assert len(variants) > 150
    assert disagreements(target, variants) == []


OMOD = {" mul:2": 2.0, " mul:4": 4.0, " div:2": 0.5}


def scaled(kind: str, factor: float) -> Callable[[Rows, Rows], Rows]:
    smallest = {"f16": 2.0**-14, "f32": 2.0**-126, "f64": 2.0**-1022}[kind]

    def change(rows: Rows, old: Rows) -> Rows:
        x = as_float(rows, kind)
        with np.errstate(all="ignore"):
            y = (x * x.dtype.type(factor)).astype(x.dtype)
            y = np.where(np.abs(y) < smallest, np.copysign(np.zeros_like(y), y) * (x != 0), y)
        y = np.where(x == 0, np.zeros_like(y), y)
        quiet = np.zeros((2, 1), np.uint32)
        quiet[int(kind == "f64")] = {"f16": 1 << 9, "f32": 1 << 22, "f64": 1 << 19}[kind]
        return np.where(np.isnan(x), rows | quiet, as_rows(y, rows, kind))

    return change


@every_target
def test_output_modifiers(target: str) -> None:
    """Only with output denormals flushed and IEEE off (gfx12 has no IEEE bit); otherwise they are ignored."""
    off, variants = 1 << 8, []
    for p in plains(target):
        kind = p.form.destination
        if kind not in ("f16", "f32", "f64") or "div_scale" in p.name:
            continue
        for tail, factor in OMOD.items():
            text = respelled(p, "_e64", {}, tail)
            variants.append(Variant(p, text, result=scaled(kind, factor), mode=off))
            variants.append(Variant(p, text, mode=off | 0xF0))
            if target != "gfx1201":
                variants.append(Variant(p, text, mode=off | 1 << 9))
    variants = keep(target, variants)
    assert len(variants) > 300
    assert disagreements(target, variants) == []


def upper(rows: Rows) -> Rows:
    rows[0] >>= np.uint32(16)
    return rows


@every_target
def test_halves_of_16_bit_opcodes(target: str) -> None:
    """op_sel of VOP3 (gfx9) and .h registers (gfx11 and gfx12): sources from the upper half, the result into it."""
    variants = []
    for p in plains(target):
        if p.form.destination not in HALVES or "dot2" in p.name or "cvt_sr" in p.name:
            continue
        narrow = [k for k, kind in enumerate(p.kinds) if kind in HALVES]
        for k in [*narrow, None]:
            moved = {} if k is None else {k: upper}
            result = None if k is not None else lambda rows, old: np.stack([rows[0] << 16 | old[0] & 0xFFFF, rows[1]])
            operands = [o.removesuffix(".l") + (".l" if j == 0 or p.kinds[j - p.skip] in HALVES else "")
                        for j, o in enumerate(p.operands)]  # fmt: skip
            at = 0 if k is None else p.skip + k
            operands[at] = operands[at].replace(".l", ".h")
            accumulator = upper if k is None else None
            text = f"{p.form.text.split(' ')[0]} {', '.join(operands)}"
            variants.append(Variant(p, text, moved, result, accumulator=accumulator))
            bits = ["1" if j == (len(p.kinds) if k is None else k) else "0" for j in range(len(p.kinds) + 1)]
            text = respelled(p, "_e64", {}, f" op_sel:[{','.join(bits)}]").replace(".l", "")
            variants.append(Variant(p, text, moved, result))
    variants = keep(target, variants)
    assert len(variants) > 25
    assert disagreements(target, variants) == []


def packed(low: bool, high: bool, negate_low: bool, negate_high: bool) -> Callable[[Rows], Rows]:
    def change(rows: Rows) -> Rows:
        a = (rows[0] >> np.uint32(16 * low)) & 0xFFFF
        b = (rows[0] >> np.uint32(16 * high)) & 0xFFFF
        rows[0] = (a ^ np.uint32(negate_low << 15)) | (b ^ np.uint32(negate_high << 15)) << 16
        return rows

    return change


def packed_words(low: bool, high: bool, negate_low: bool, negate_high: bool) -> Callable[[Rows], Rows]:
    def change(rows: Rows) -> Rows:
        return np.stack([rows[int(low)] ^ np.uint32(negate_low << 31), rows[int(high)] ^ np.uint32(negate_high << 31)])

    return change


@every_target
def test_selection_and_signs_of_packed_opcodes(target: str) -> None:
    """op_sel, op_sel_hi: the half or word of a source for the low and the high result; neg_lo, neg_hi: its sign."""
    variants = []
    for p in plains(target):
        if not any(kind in ("pk16", "pkf16", "pkf32") for kind in p.kinds) or not p.name.startswith(
            ("v_pk_", "v_dot2_")
        ):
            continue
        if p.name == "v_pk_mov_b32":
            continue
        rng = np.random.default_rng(zlib.crc32(p.name.encode()))
        for signed in (False, True):
            for _ in range(3):
                bits = rng.integers(0, 2, (4, len(p.kinds)))
                bits[2:] *= signed
                changes = {}
                for k, kind in enumerate(p.kinds):
                    if kind in ("pk16", "pkf16", "pkf32"):
                        make = packed_words if kind == "pkf32" else packed
                        changes[k] = make(*(bool(b) for b in bits[:, k]))
                    else:
                        bits[0, k], bits[1, k], bits[2, k], bits[3, k] = 0, 1, 0, 0
                named = zip(("op_sel", "op_sel_hi", "neg_lo", "neg_hi"), bits, strict=True)
                tail = "".join(f" {n}:[{','.join(map(str, b))}]" for n, b in named if signed or n.startswith("op"))
                variants.append(Variant(p, respelled(p, "", {}, tail), changes))
    variants = keep(target, variants)
    assert len(variants) > 70
    assert disagreements(target, variants) == []


SELECTIONS = {
    "DWORD": (0, 32),
    **{f"BYTE_{k}": (8 * k, 8) for k in range(4)},
    **{f"WORD_{k}": (16 * k, 16) for k in range(2)},
}


def selected(name: str, extend: bool) -> Callable[[Rows], Rows]:
    shift, width = SELECTIONS[name]

    def change(rows: Rows) -> Rows:
        part = (rows[0] >> np.uint32(shift)).astype(np.uint32)
        if width < 32:
            part &= np.uint32((1 << width) - 1)
            if extend:
                part = (part ^ np.uint32(1 << (width - 1))) - np.uint32(1 << (width - 1))
        return np.stack([part, rows[1]])

    return change


def inserted(name: str, unused: str) -> Callable[[Rows, Rows], Rows]:
    shift, width = SELECTIONS[name]
    mask = ((1 << width) - 1) << shift

    def change(rows: Rows, old: Rows) -> Rows:
        part = (rows[0].astype(np.uint64) << np.uint64(shift)).astype(np.uint32) & np.uint32(mask)
        if unused == "UNUSED_PRESERVE":
            part |= old[0] & np.uint32(~mask & 0xFFFFFFFF)
        elif unused == "UNUSED_SEXT":
            negative = part >> np.uint32(shift + width - 1) & 1
            part |= negative * np.uint32(0xFFFFFFFF << (shift + width) & 0xFFFFFFFF)
        return np.stack([part, rows[1]])

    return change


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_sdwa(target: str) -> None:
    variants = []
    for p in plains(target):
        if len(p.kinds) > 3 or any(kind in WIDE for kind in (*p.kinds, p.form.destination)):
            continue
        rng = np.random.default_rng(zlib.crc32(p.name.encode()))
        data = [k for k, kind in enumerate(p.kinds) if kind != "mask"][:2]
        for extend in (False, True):
            for _ in range(3):
                changes, tail, spelling = {}, "", {}
                compare = p.form.destination == "mask"
                to, unused = rng.choice(list(SELECTIONS)), rng.choice(["UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"])
                if not compare:
                    tail = f" dst_sel:{to} dst_unused:{unused}"
                for k in data:
                    chosen = str(rng.choice(list(SELECTIONS)[1:]))
                    tail += f" src{k}_sel:{chosen}"
                    changes[k] = selected(chosen, extend)
                    if extend:
                        spelling[k] = "sext({})"
                result = None if compare or to == "DWORD" else inserted(str(to), str(unused))
                variants.append(Variant(p, respelled(p, "_sdwa", spelling, tail), changes, result))
    variants = keep(target, variants)
    assert len(variants) > 600
    assert disagreements(target, variants) == []


def row(lane: int) -> int:
    return lane & ~15


# DPP control -> lane that a lane reads, or -1
CONTROLS: dict[str, Callable[[int], int]] = {
    "quad_perm:[2,0,3,1]": lambda i: (i & ~3) + (2, 0, 3, 1)[i & 3],
    "row_shl:3": lambda i: i + 3 if (i & 15) + 3 < 16 else -1,
    "row_shr:5": lambda i: i - 5 if (i & 15) >= 5 else -1,
    "row_ror:7": lambda i: row(i) + (i - 7) % 16,
    "row_mirror": lambda i: row(i) + 15 - i % 16,
    "row_half_mirror": lambda i: (i & ~7) + 7 - i % 8,
    "wave_shl:1": lambda i: i + 1 if i < 63 else -1,
    "wave_rol:1": lambda i: (i + 1) % 64,
    "wave_shr:1": lambda i: i - 1,
    "wave_ror:1": lambda i: (i - 1) % 64,
    "row_bcast:15": lambda i: row(i) - 1,
    "row_bcast:31": lambda i: 31 if i > 31 else -1,
    "row_newbcast:9": lambda i: row(i) + 9,
    "row_share:6": lambda i: row(i) + 6,
    "row_xmask:11": lambda i: i ^ 11,
    "dpp8:[7,2,5,0,1,6,3,4]": lambda i: (i & ~7) + (7, 2, 5, 0, 1, 6, 3, 4)[i & 7],
}
MASKS = (-1, 0x6DB6DB6DB6DB6DB6)


def gathered(source: NDArray[np.int64], valid: NDArray[np.bool_]) -> Callable[[Rows], Rows]:
    return lambda rows: np.where(valid, rows[:, source], np.uint32(0))


@every_target
def test_dpp(target: str) -> None:
    """Source 0 from other lanes. A lane without a valid source reads 0 with bound_ctrl, otherwise it is not written."""
    wave, variants = wave_size(target), []
    for index, p in enumerate(plains(target)):
        if not p.kinds or p.kinds[0] in ("mask", "literal") or p.form.destination == "mask" or p.form.carry:
            continue
        if any(kind in WIDE for kind in p.kinds[:1]) or "mask" in p.kinds:
            continue
        for number, (control, read) in enumerate(CONTROLS.items()):
            exec_mask = MASKS[(index + number) % 2]
            bound, fetch = (index + number) % 3 == 0, (index + number) % 5 == 0 and target in ("gfx1100", "gfx1201")
            rows, banks = ((15, 15), (5, 15), (15, 6))[(index + number) % 3]
            on = np.array([exec_mask >> int(lane) & 1 for lane in LANES], bool)
            source = np.array([read(int(lane)) for lane in LANES])
            valid = (source >= 0) & (source < wave)
            source = np.where(valid, source, 0)
            if control.startswith("dpp8"):
                tail = f" {control}" + (" fi:1" if fetch else "")
                rows, banks, bound = 15, 15, True
            else:
                tail = f" {control} row_mask:{rows:#x} bank_mask:{banks:#x}"
                tail += (" bound_ctrl:1" if bound else "") + (" fi:1" if fetch else "")
            if not fetch:
                valid &= on[source]
            lanes = on & (rows >> LANES // 16 & 1 == 1) & (banks >> LANES // 4 % 4 & 1 == 1) & (valid | bound)
            for suffix in ("_dpp", "_e64_dpp"):
                text = respelled(p, suffix, {}, tail)
                variants.append(Variant(p, text, {0: gathered(source, valid)}, lanes=lanes, exec_mask=exec_mask))
    variants = keep(target, variants)
    assert len(variants) > 1000
    assert disagreements(target, variants) == []


INTEGER_CLAMP = {
    "v_add_u32": (0, 2**32 - 1, lambda a, b: a + b, np.uint32),
    "v_sub_u32": (0, 2**32 - 1, lambda a, b: a - b, np.uint32),
    "v_add_i32": (-(2**31), 2**31 - 1, lambda a, b: a + b, np.int32),
    "v_sub_i32": (-(2**31), 2**31 - 1, lambda a, b: a - b, np.int32),
    "v_add_nc_u32": (0, 2**32 - 1, lambda a, b: a + b, np.uint32),
    "v_sub_nc_u32": (0, 2**32 - 1, lambda a, b: a - b, np.uint32),
    "v_add_nc_i32": (-(2**31), 2**31 - 1, lambda a, b: a + b, np.int32),
    "v_sub_nc_i32": (-(2**31), 2**31 - 1, lambda a, b: a - b, np.int32),
    "v_add_u16": (0, 2**16 - 1, lambda a, b: a + b, np.uint16),
    "v_sub_u16": (0, 2**16 - 1, lambda a, b: a - b, np.uint16),
    "v_add_i16": (-(2**15), 2**15 - 1, lambda a, b: a + b, np.int16),
    "v_sub_i16": (-(2**15), 2**15 - 1, lambda a, b: a - b, np.int16),
    "v_add_nc_u16": (0, 2**16 - 1, lambda a, b: a + b, np.uint16),
    "v_sub_nc_u16": (0, 2**16 - 1, lambda a, b: a - b, np.uint16),
    "v_add_nc_i16": (-(2**15), 2**15 - 1, lambda a, b: a + b, np.int16),
    "v_sub_nc_i16": (-(2**15), 2**15 - 1, lambda a, b: a - b, np.int16),
    "v_pk_add_u16": (0, 2**16 - 1, lambda a, b: a + b, np.uint16),
    "v_pk_sub_u16": (0, 2**16 - 1, lambda a, b: a - b, np.uint16),
    "v_pk_add_i16": (-(2**15), 2**15 - 1, lambda a, b: a + b, np.int16),
    "v_pk_sub_i16": (-(2**15), 2**15 - 1, lambda a, b: a - b, np.int16),
}


@every_target
def test_clamp_of_integers(target: str) -> None:
    texts = [f"{name}{end} v{DST}, v{SRC[0]}, v{SRC[1]} clamp" for name in INTEGER_CLAMP for end in ("_e64", "")]
    texts = [text for text, good in zip(texts, accepted(target, texts), strict=True) if good]
    assert len(texts) >= 10
    snippets = Snippets(target, texts)
    rng = np.random.default_rng(1)
    for index, text in enumerate(texts):
        name = re.split(r"_e64| ", text)[0]
        low, high, function, dtype = INTEGER_CLAMP[name]
        state = WaveState.of(target)
        for source in SRC[:2]:
            state.vgpr[source] = sample(rng, "b32", 64).astype(np.uint32)
        a, b = (state.vgpr[source].view(dtype).reshape(64, -1).astype(np.int64) for source in SRC[:2])
        want = np.clip(function(a, b), low, high).astype(dtype)
        got = snippets.run(index, state).vgpr[DST].view(dtype).reshape(64, -1)
        columns = slice(None) if "pk" in name or want.shape[1] == 1 else slice(0, 1)
        lanes = slice(0, wave_size(target))
        np.testing.assert_array_equal(got[lanes, columns], want[lanes, columns], err_msg=text)
