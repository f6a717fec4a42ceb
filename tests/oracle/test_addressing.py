"""Where memory opcodes read and write: offsets, scalar bases, apertures, buffer resources, lanes' own scratch.

Oracle: small models of the address formulas of the CDNA3, RDNA3 and RDNA4 manuals (memory instructions, buffer resource
descriptor and range checking).
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracle_forms import accepted, wave_size
from oracle_tables import MANUAL

from hipport.emulator import Device
from hipport.emulator.testing import Snippets, WaveState, assemble

pytestmark = pytest.mark.sdk
every_target = pytest.mark.parametrize("target", MANUAL)
SIZE = 1 << 16
WAVE32 = ("gfx1100", "gfx1201")


class Memory:
    """Snippets of one target and 64 KiB that they may touch."""

    def __init__(self, target: str, texts: list[str]) -> None:
        self.target = target
        self.texts = [
            text for text, good in zip(texts, accepted(target, [t.split("\n")[0] for t in texts]), strict=True) if good
        ]
        self.snippets = Snippets(target, self.texts)
        self.buffer = self.snippets._device.allocate(SIZE)
        self.content = np.random.default_rng(1).integers(0, 256, SIZE, dtype=np.uint8)
        self.buffer.view()[:] = self.content
        self.base = self.buffer.address

    def state(self, seed: int = 2) -> WaveState:
        rng = np.random.default_rng(seed)
        state = WaveState.of(self.target)
        state.vgpr[:32] = rng.integers(0, 1 << 32, (32, 64), dtype=np.uint32)
        return state

    def run(self, text: str, state: WaveState) -> WaveState:
        return self.snippets.run(self.texts.index(text), state)

    def word(self, offset: int, words: int = 1) -> list[int]:
        return [int(x) for x in self.content[offset : offset + 4 * words].view(np.uint32)]


def pair(state: WaveState, register: int, addresses: NDArray[Any]) -> None:
    addresses = addresses.astype(np.uint64)
    state.vgpr[register] = addresses.astype(np.uint32)
    state.vgpr[register + 1] = (addresses >> np.uint64(32)).astype(np.uint32)


def set_pair(state: WaveState, register: int, value: int) -> None:
    state.sgpr[register], state.sgpr[register + 1] = value & 0xFFFFFFFF, value >> 32


LANES = np.arange(64)


@every_target
def test_global_and_flat_addresses(target: str) -> None:
    """64-bit address or scalar base with a 32-bit unsigned offset, plus the signed immediate."""
    name = "load_b32" if target in WAVE32 else "load_dword"
    texts = [f"global_{name} v4, v[10:11], off{tail}" for tail in ("", " offset:100", " offset:-128")]
    texts += [f"global_{name} v4, v10, s[8:9]{tail}" for tail in ("", " offset:60", " offset:-64")]
    texts += [f"flat_{name} v4, v[10:11]{tail}" for tail in ("", " offset:124")]
    memory = Memory(target, texts)
    assert len(memory.texts) == len(texts)
    offsets = 1024 + 8 * np.random.default_rng(3).permutation(64)
    for text in texts:
        state = memory.state()
        state.exec_mask &= 0xF7FF1FFF0F7FFFFF
        pair(state, 10, memory.base + offsets)
        if "s[8:9]" in text:
            set_pair(state, 8, memory.base - 0xFFFF0000)
            state.vgpr[10] = (offsets + 0xFFFF0000).astype(np.uint32)
        got = memory.run(text, state).vgpr[4]
        immediate = int((re.search(r"offset:(-?\d+)", text) or [0, 0])[1])
        for lane in range(wave_size(target)):
            on = state.exec_mask >> lane & 1
            assert got[lane] == (memory.word(int(offsets[lane]) + immediate)[0] if on else state.vgpr[4, lane]), text


@every_target
def test_flat_addresses_of_lds(target: str) -> None:
    """The shared aperture: its base in the upper half, the LDS offset in the lower."""
    load, store = ("load_b32", "store_b32") if target in WAVE32 else ("load_dword", "store_dword")
    base = (
        "v_mov_b32 v11, src_shared_base_hi"
        if target != "gfx90a"
        else "s_mov_b64 s[4:5], src_shared_base\nv_mov_b32 v11, s5"
    )
    base = "s_mov_b64 s[4:5], src_shared_base\nv_mov_b32 v11, s5"
    state = WaveState.of(target)
    state.lds = np.random.default_rng(4).integers(0, 256, 1024, dtype=np.uint8)
    state.vgpr[10] = 4 * np.random.default_rng(5).permutation(64)
    state.vgpr[12] = LANES + 7
    text = f"{base}\nflat_{load} v4, v[10:11] offset:256\nflat_{store} v[10:11], v12"
    after = Snippets(target, [text]).run(0, state)
    words = state.lds.view(np.uint32)
    lanes = slice(0, wave_size(target))
    np.testing.assert_array_equal(after.vgpr[4, lanes], words[state.vgpr[10, lanes] // 4 + 64])
    np.testing.assert_array_equal(after.lds.view(np.uint32)[state.vgpr[10, lanes] // 4], state.vgpr[12, lanes])


@every_target
def test_lds_offsets(target: str) -> None:
    """16 bits in bytes; the two-address forms count elements, or 64 of them. Out of range: reads 0, writes nothing."""
    old = target not in WAVE32
    one, two = ("read_b32", "read2_b32") if old else ("load_b32", "load_2addr_b32")
    far, wide = ("read2st64_b32", "read2_b64") if old else ("load_2addr_stride64_b32", "load_2addr_b64")
    store = "write2_b32" if old else "store_2addr_b32"
    texts = [f"ds_{one} v4, v10 offset:1000", f"ds_{two} v[4:5], v10 offset0:3 offset1:20"]
    texts += [f"ds_{far} v[4:5], v10 offset0:1 offset1:3", f"ds_{wide} v[4:7], v10 offset0:2 offset1:9"]
    texts += [f"ds_{one} v4, v10 offset:4000", f"ds_{store} v10, v12, v13 offset0:5 offset1:200"]
    snippets = Snippets(target, texts)
    state = WaveState.of(target)
    state.lds = np.random.default_rng(6).integers(0, 256, 4096, dtype=np.uint8)
    state.vgpr[10] = 8 * np.random.default_rng(7).permutation(64)
    state.vgpr[12], state.vgpr[13] = LANES + 1, LANES + 1001
    state.sgpr[124] = 0xFFFFFFFF
    words = state.lds.view(np.uint32)
    lanes = slice(0, wave_size(target))
    at = state.vgpr[10, lanes] // 4
    want = [[at + 250], [at + 3, at + 20], [at + 64, at + 192], [at + 4, at + 5, at + 18, at + 19]]
    for index, places in enumerate(want):
        after = snippets.run(index, state)
        for k, place in enumerate(places):
            np.testing.assert_array_equal(after.vgpr[4 + k, lanes], words[place], err_msg=texts[index])
    inside = at + 1000 < 1024
    expected = np.where(inside, words[np.minimum(at + 1000, 1023)], 0)
    np.testing.assert_array_equal(snippets.run(4, state).vgpr[4, lanes], expected)
    after = snippets.run(5, state)
    stored = words.copy()
    stored[at + 5] = state.vgpr[12, lanes]
    stored[at + 200] = state.vgpr[13, lanes]
    np.testing.assert_array_equal(after.lds.view(np.uint32), stored)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_lds_by_lane_number(target: str) -> None:
    """addtid: M0[15:0] + offset + 4 * lane."""
    load, store = ("read", "write") if target not in WAVE32 else ("load", "store")
    text = f"ds_{load}_addtid_b32 v4 offset:24\nds_{store}_addtid_b32 v12 offset:512"
    if not all(accepted(target, text.split("\n"))):
        pytest.skip("no such instruction")
    state = WaveState.of(target)
    state.lds = np.random.default_rng(8).integers(0, 256, 2048, dtype=np.uint8)
    state.vgpr[12] = LANES + 5
    state.sgpr[124] = 100
    after = Snippets(target, [text]).run(0, state)
    words, n = state.lds.view(np.uint32), wave_size(target)
    np.testing.assert_array_equal(after.vgpr[4, :n], words[31 : 31 + n])
    np.testing.assert_array_equal(after.lds.view(np.uint32)[153 : 153 + n], LANES[:n] + 5)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_loads_straight_to_lds(target: str) -> None:
    """Lane l's element goes to M0 + offset + size * l; bytes and halves are extended to 32 bits."""
    rows = {"ubyte": (1, False), "sbyte": (1, True), "ushort": (2, False), "sshort": (2, True), "dword": (4, False)}
    rows |= {"dwordx3": (12, False), "dwordx4": (16, False)}
    forms = {}
    for name, shape in rows.items():
        forms[f"global_load_lds_{name} v[10:11], off offset:16"] = (*shape, "global")
        forms[f"buffer_load_{name} v10, s[8:11], 0 offen offset:16 lds"] = (*shape, "buffer")
    memory = Memory(target, list(forms))
    assert len(memory.texts) >= 5
    offsets = 16 * np.random.default_rng(9).permutation(64)
    for text in memory.texts:
        bytes_, signed, space = forms[text]
        state = memory.state()
        pair(state, 10, offsets + (memory.base if space == "global" else 0))
        state.sgpr[8:12] = [memory.base & 0xFFFFFFFF, memory.base >> 32, SIZE, 0x27000]
        state.lds = np.zeros(2048, np.uint8)
        state.sgpr[124] = 64
        got = memory.run(text, state).lds
        want = np.zeros(2048, np.uint8)
        for lane in range(64):
            at = int(offsets[lane]) + 16
            value = int.from_bytes(memory.content[at : at + bytes_].tobytes(), "little", signed=signed)
            width = max(bytes_, 4)
            place = 64 + 16 + width * lane
            want[place : place + width] = list((value & ((1 << 8 * width) - 1)).to_bytes(width, "little"))
        np.testing.assert_array_equal(got, want, err_msg=text)


# ---- scalar loads and stores ----


SCALAR = {"dword": 1, "dwordx2": 2, "dwordx4": 4, "dwordx8": 8, "dwordx16": 16}
SCALAR_NEW = {"b32": 1, "b64": 2, "b96": 3, "b128": 4, "b256": 8, "b512": 16}
NARROW = {"u8": (1, False), "i8": (1, True), "u16": (2, False), "i16": (2, True)}


def span(first: int, words: int) -> str:
    return f"s{first}" if words == 1 else f"s[{first}:{first + words - 1}]"


@every_target
def test_scalar_loads(target: str) -> None:
    """Base, plus an immediate, plus a scalar register; the two lowest bits do not count."""
    forms = {}
    for name, words in (SCALAR_NEW if target in WAVE32 else SCALAR).items():
        forms[f"s_load_{name} {span(16, words)}, s[2:3], 0x40"] = (words, 0x40)
        forms[f"s_load_{name} {span(16, words)}, s[2:3], s7"] = (words, 300)
        forms[f"s_load_{name} {span(16, words)}, s[2:3], s7 offset:0x20"] = (words, 332)
        forms[f"s_load_{name} {span(16, words)}, s[2:3], -0x10"] = (words, -16)
    memory = Memory(target, list(forms))
    assert len(memory.texts) >= 15
    for text in memory.texts:
        words, offset = forms[text]
        for low in (0, 3):
            state = memory.state()
            set_pair(state, 2, memory.base + 512 + low)
            state.sgpr[7] = 300
            got = memory.run(text, state).sgpr[16 : 16 + words]
            assert [int(x) for x in got] == memory.word(512 + offset, words), text


def test_narrow_scalar_loads() -> None:
    forms = {f"s_load_{name} s16, s[2:3], 0x41": shape for name, shape in NARROW.items()}
    memory = Memory("gfx1201", list(forms))
    assert len(memory.texts) == 4
    for text, (size, signed) in forms.items():
        state = memory.state()
        start = 512 if size == 1 else 511
        set_pair(state, 2, memory.base + start)
        at = start + 0x41
        value = int.from_bytes(memory.content[at : at + size].tobytes(), "little", signed=signed)
        assert memory.run(text, state).sgpr[16] == value & 0xFFFFFFFF, text


def test_narrow_scalar_buffer_loads() -> None:
    forms = {f"s_buffer_load_{name} s16, s[8:11], 0x41": shape for name, shape in NARROW.items()}
    memory = Memory("gfx1201", list(forms))
    assert len(memory.texts) == 4
    for text, (size, signed) in forms.items():
        for records in (4096, 0x40):
            state = memory.state()
            base = memory.base + 512 - (size == 2)
            state.sgpr[8:12] = [base & 0xFFFFFFFF, base >> 32, records, 0]
            at = 512 - (size == 2) + 0x41
            value = int.from_bytes(memory.content[at : at + size].tobytes(), "little", signed=signed)
            want = value & 0xFFFFFFFF if records > 0x40 else 0
            assert memory.run(text, state).sgpr[16] == want, (text, records)


@every_target
def test_scalar_buffer_loads(target: str) -> None:
    """Words beyond the end read 0; with a stride the size is stride * records."""
    forms = {}
    for name, words in (SCALAR_NEW if target in WAVE32 else SCALAR).items():
        forms[f"s_buffer_load_{name} {span(16, words)}, s[8:11], 0x40"] = (words, 0x40)
        forms[f"s_buffer_load_{name} {span(16, words)}, s[8:11], s7"] = (words, 300)
    memory = Memory(target, list(forms))
    assert len(memory.texts) >= 10
    for text in memory.texts:
        words, offset = forms[text]
        for stride, records, size in ((0, 324, 324), (12, 6, 72), (0, 4096, 4096)):
            state = memory.state()
            base = memory.base + 512
            state.sgpr[8:12] = [base & 0xFFFFFFFF, base >> 32 | stride << 16, records, 0]
            state.sgpr[7] = 300
            want = [w if offset + 4 * k + 4 <= size else 0 for k, w in enumerate(memory.word(512 + offset, words))]
            got = memory.run(text, state).sgpr[16 : 16 + words]
            assert [int(x) for x in got] == want, (text, stride, records)


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950"])
def test_scalar_stores(target: str) -> None:
    forms = {f"s_store_{name} {span(16, words)}, s[2:3], 0x40": words for name, words in list(SCALAR.items())[:3]}
    memory = Memory(target, list(forms))
    for text in memory.texts:
        state = memory.state()
        set_pair(state, 2, memory.base + 512)
        state.sgpr[16:20] = [0x11111111, 0x22222222, 0x33333333, 0x44444444]
        memory.run(text, state)
        want = memory.content.copy()
        want[576 : 576 + 4 * forms[text]] = state.sgpr[16 : 16 + forms[text]].view(np.uint8)
        np.testing.assert_array_equal(memory.buffer.view(), want)
        memory.buffer.view()[:] = memory.content


# ---- buffers ----

FLAGS = ("", " offen", " idxen", " idxen offen")


def buffer_texts(target: str) -> dict[str, tuple[str, int]]:
    zero = "null" if target == "gfx1201" else "0"
    load, store = ("b32", "b32") if target in WAVE32 else ("dword", "dword")
    four = "b128" if target in WAVE32 else "dwordx4"
    texts = {}
    for flags in FLAGS:
        address = "v[10:11]" if flags == " idxen offen" else "v10" if flags else "off"
        for soffset in (zero, "s7"):
            for name, data, words in ((load, "v4", 1), (four, "v[4:7]", 4)):
                for verb in ("load", "store"):
                    texts[f"buffer_{verb}_{name} {data}, {address}, s[8:11], {soffset}{flags} offset:20"] = (
                        verb,
                        words,
                    )
    assert store
    return texts


def resource(
    target: str, base: int, stride: int, records: int, swizzle: bool, element: int, index: int, tid: bool
) -> list[int]:
    """Four words; element: 0-3 for 2, 4, 8, 16 bytes; index: 0-3 for strides of 8, 16, 32, 64."""
    if target in WAVE32:  # elements of 4 and 16 bytes only, range check "structured" or "raw"
        enabled = {1: 1, 3: 3}[element] if swizzle else 0
        checked = 1 if stride and not tid else 3
        word3 = 0x31014000 & ~(3 << 28) | checked << 28 | index << 21 | tid << 23
        return [base & 0xFFFFFFFF, base >> 32 | stride << 16 | enabled << 30, records, word3]
    word3 = (0x7000 if tid else 0x27000) | element << 19 | index << 21 | tid << 23
    return [base & 0xFFFFFFFF, base >> 32 | stride << 16 | swizzle << 31, records, word3]


@every_target
def test_buffers(target: str) -> None:
    """base + soffset + the linear or swizzled place of (index, offset); out of range: reads 0, is not written.

    The range counts records where an index is used with a stride, otherwise bytes (word by word).
    """
    texts = buffer_texts(target)
    memory = Memory(target, list(texts))
    assert len(memory.texts) == len(texts)
    lanes = wave_size(target)
    for text in memory.texts:
        verb, words = texts[text]
        for stride, records, swizzle, element, index in (
            (0, 600, False, 0, 0),
            (32, 40, False, 0, 0),
            (32, 40, True, 1, 0),
            (64, 50, True, 3, 2),
        ):
            if (swizzle and words == 4 and element == 1) or (swizzle and "idxen" not in text):
                continue  # an access that crosses elements; offsets beyond the record
            rng = np.random.default_rng(records + words)
            state = memory.state(records)
            base, scalar = memory.base + 4096, 256 if "s7" in text else 0
            state.sgpr[7] = 256
            state.sgpr[8:12] = resource(target, base, stride, records, swizzle, element, index, False)
            indices = rng.integers(0, 60, 64) if "idxen" in text else np.zeros(64, int)
            limit = stride - 20 - 4 * words if swizzle else 700
            step = 16 if words == 4 and swizzle else 4
            offsets = step * (rng.integers(0, max(limit, 1), 64) // step) if "offen" in text else np.zeros(64, int)
            immediate = 20
            if swizzle and words == 4:
                immediate, offsets = 20, np.full(64, 12) if "offen" in text else offsets
                if "offen" not in text:
                    continue  # 20 is no multiple of the element
            registers = [x for x, used in ((indices, "idxen" in text), (offsets, "offen" in text)) if used]
            for k, values in enumerate(registers):
                state.vgpr[10 + k] = values.astype(np.uint32)
            taken: set[int] = set()
            want = memory.content.copy()
            results = []
            for lane in range(lanes):
                offset, k = int(offsets[lane]) + immediate, int(indices[lane])
                structured = stride > 0 and ("idxen" in text or target in WAVE32)
                if swizzle:
                    e, s = (2, 4, 8, 16)[element], (8, 16, 32, 64)[index]
                    place = (k // s * stride + offset // e * e) * s + k % s * e + offset % e
                else:
                    place = offset + k * stride
                touched = {4096 + scalar + place + 4 * word for word in range(words)}
                if verb == "store" and taken & touched:  # two lanes would write the same bytes
                    state.exec_mask &= ~(1 << lane)
                    continue
                taken |= touched
                for word in range(words):
                    inside = k < records if structured else offset + 4 * word + 4 <= records - scalar
                    at = 4096 + scalar + place + 4 * word
                    if verb == "load":
                        expected = memory.word(at)[0] if inside else 0
                        results.append((4 + word, lane, expected))
                    elif inside:
                        want[at : at + 4] = state.vgpr[4 + word, lane : lane + 1].view(np.uint8)
            after = memory.run(text, state)
            for register, lane, expected in results:
                assert after.vgpr[register, lane] == expected, (text, stride, swizzle, lane, register)
            if verb == "store":
                np.testing.assert_array_equal(memory.buffer.view(), want, err_msg=text)
                memory.buffer.view()[:] = memory.content


@every_target
def test_buffers_that_add_the_lane(target: str) -> None:
    zero = "null" if target == "gfx1201" else "0"
    text = f"buffer_load_{'b32' if target in WAVE32 else 'dword'} v4, off, s[8:11], {zero} offset:8"
    memory = Memory(target, [text])
    state = memory.state()
    state.sgpr[8:12] = resource(target, memory.base, 16, 4096, False, 0, 0, True)
    got = memory.run(text, state).vgpr[4]
    for lane in range(wave_size(target)):
        assert got[lane] == memory.word(16 * lane + 8)[0]


# ---- scratch ----

METADATA = """---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: k
    .symbol: k.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 0
    .private_segment_fixed_size: 256
    .wavefront_size: WAVE
    .sgpr_count: 32
    .vgpr_count: 64
    .max_flat_workgroup_size: 64
    .args:
      - {.address_space: global, .name: p, .offset: 0, .size: 8, .value_kind: global_buffer}
..."""
LOADS = {"u8": (1, "u"), "i8": (1, "i"), "u16": (2, "u"), "i16": (2, "i"), "b32": (4, "u"), "b64": (8, "u")}
LOADS |= {"b96": (12, "u"), "b128": (16, "u"), "d16_u8": (1, "u"), "d16_i8": (1, "i"), "d16_b16": (2, "u")}
LOADS |= {"d16_hi_u8": (1, "u"), "d16_hi_i8": (1, "i"), "d16_hi_b16": (2, "u")}
OLD = {"u8": "ubyte", "i8": "sbyte", "u16": "ushort", "i16": "sshort", "b32": "dword", "b64": "dwordx2"}
OLD |= {"b96": "dwordx3", "b128": "dwordx4", "d16_u8": "ubyte_d16", "d16_i8": "sbyte_d16", "d16_b16": "short_d16"}
OLD |= {"d16_hi_u8": "ubyte_d16_hi", "d16_hi_i8": "sbyte_d16_hi", "d16_hi_b16": "short_d16_hi"}
STORES = {"b8": (1, "byte"), "d16_hi_b8": (1, "byte_d16_hi"), "b16": (2, "short"), "d16_hi_b16": (2, "short_d16_hi"),
          "b32": (4, "dword"), "b64": (8, "dwordx2"), "b96": (12, "dwordx3"), "b128": (16, "dwordx4")}  # fmt: skip
COVERS = {f"scratch_load_{name}" for pair_ in OLD.items() for name in pair_}
COVERS |= {f"scratch_store_{name}" for new, (_, old) in STORES.items() for name in (new, old)}
COVERS |= {f"s_{verb}_{name}" for verb in ("load", "buffer_load") for name in (*SCALAR, *SCALAR_NEW)}
COVERS |= {f"s_buffer_load_{name}" for name in NARROW}
COVERS |= {f"s_store_{name}" for name in list(SCALAR)[:3]} | {f"s_load_{name}" for name in NARROW}
COVERS |= {f"global_load_lds_{n}" for n in ("ubyte", "sbyte", "ushort", "sshort", "dword", "dwordx3", "dwordx4")}
COVERS |= {"ds_read_addtid_b32", "ds_write_addtid_b32", "ds_load_addtid_b32", "ds_store_addtid_b32"}


def registers(first: int, count: int) -> str:
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


@every_target
def test_scratch(target: str) -> None:
    """Each lane has its own bytes, whatever mix of register, scalar and immediate names them."""
    new = target in WAVE32
    wide_load, wide_store = ("b128", "b128") if new else ("dwordx4", "dwordx4")
    wait = "s_waitcnt vmcnt(0) lgkmcnt(0)" if target != "gfx1201" else "s_wait_loadcnt 0x0\ns_wait_storecnt 0x0"
    ops = [("load", n, size, sign) for n, (size, sign) in LOADS.items()]
    ops += [("store", n, size, "u") for n, (size, _) in STORES.items()]
    # Lane l's 64 bytes start at p + 64 l; its results at p + 8192 + 64 l + 4096 k for operation k.
    body = ["s_load_dwordx2 s[2:3], s[0:1], 0x0" if not new else "s_load_b64 s[2:3], s[0:1], 0x0"]
    body += ["s_waitcnt lgkmcnt(0)" if target != "gfx1201" else "s_wait_kmcnt 0x0", "v_and_b32 v0, 0x3ff, v0"]
    body += ["v_lshlrev_b32 v1, 6, v0", "s_mov_b32 s6, 32", "v_mov_b32 v2, 48", "v_mov_b32 v4, 0"]
    body += [f"global_load_{wide_load} v[{8 + 4 * k}:{11 + 4 * k}], v1, s[2:3] offset:{16 * k}" for k in range(3)]
    body += [wait, "v_add_u32 v3, 0x2000, v1" if not new else "v_add_nc_u32 v3, 0x2000, v1"]
    addresses = ["v2, off", "off, s6 offset:16", "v2, off offset:0"]
    addresses += ["off, off offset:48"] if target != "gfx90a" else []
    for k, (verb, name, size, _) in enumerate(ops):
        spelled = name if new else OLD[name] if verb == "load" else STORES[name][1]
        place = addresses[k % len(addresses)]
        for j, part in enumerate((8, 12)):  # known content of bytes 32 to 64
            body.append(f"scratch_store_{wide_store} v4, v[{part}:{part + 3}], off offset:{32 + 16 * j}")
        body += [f"v_mov_b32 v{20 + j}, v{16 + j}" for j in range(4)] + [wait]
        vaddr, rest = place.split(", ", 1)
        data = registers(20, max(1, size // 4))
        body.append(
            f"scratch_{verb}_{spelled} " + (f"{data}, {place}" if verb == "load" else f"{vaddr}, {data}, {rest}")
        )
        body.append(wait)
        for j in range(2):
            body.append(f"scratch_load_{wide_load} v[{24 + 4 * j}:{27 + 4 * j}], v4, off offset:{32 + 16 * j}")
        body.append(wait)
        for j, part in enumerate((20, 24, 28)):
            body.append(f"global_store_{wide_store} v3, v[{part}:{part + 3}], s[2:3] offset:{16 * j}")
        body.append("v_add_u32 v3, 0x1000, v3" if not new else "v_add_nc_u32 v3, 0x1000, v3")
    wave = wave_size(target)
    lines = [
        f'.amdgcn_target "amdgcn-amd-amdhsa--{target}"',
        ".text",
        ".globl k",
        ".p2align 8",
        ".type k,@function",
        "k:",
    ]
    lines += [*body, "s_endpgm", ".size k, .-k", ".rodata", ".amdhsa_kernel k", ".amdhsa_next_free_vgpr 64"]
    lines += [".amdhsa_next_free_sgpr 32", ".amdhsa_user_sgpr_kernarg_segment_ptr 1", ".amdhsa_kernarg_size 8"]
    lines += [".amdhsa_private_segment_fixed_size 256"]
    lines += [".amdhsa_accum_offset 64"] if not new else [".amdhsa_wavefront_size32 1"]
    lines += [".end_amdhsa_kernel", ".amdgpu_metadata", METADATA.replace("WAVE", str(wave)), ".end_amdgpu_metadata", ""]
    module = Device(target).load(assemble(target, "\n".join(lines)))
    memory = np.random.default_rng(10).integers(0, 256, 8192 + 4096 * len(ops), dtype=np.uint8)
    source = memory.copy()
    module.launch("k", 1, wave, [memory])
    for k, (verb, name, size, sign) in enumerate(ops):
        for lane in range(wave):
            given = source[64 * lane : 64 * lane + 48]
            result = memory[8192 + 4096 * k + 64 * lane :][:48]
            register, scratch = given[32:48].copy(), given[:32].copy()
            if verb == "load":
                raw = int.from_bytes(scratch[16 : 16 + size].tobytes(), "little", signed=sign == "i")
                if "d16" in name:
                    register[2 * ("hi" in name) :][:2] = list((raw & 0xFFFF).to_bytes(2, "little"))
                else:
                    width = max(size, 4)
                    register[:width] = list((raw & ((1 << 8 * width) - 1)).to_bytes(width, "little"))
            else:
                scratch[16 : 16 + size] = register[2 * ("hi" in name) :][:size]
            np.testing.assert_array_equal(result[:16], register, err_msg=f"{verb} {name} lane {lane}")
            np.testing.assert_array_equal(result[16:], scratch, err_msg=f"{verb} {name} lane {lane}")
