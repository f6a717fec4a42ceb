"""Image and typed buffer instructions, assembled one by one, against numpy.

Formats by RDNA3's and RDNA4's numbers and Vega's pairs ("Data formats" in the manuals); descriptors are packed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hipport.emulator import UnimplementedInstruction
from hipport.emulator.testing import Snippets, WaveState

pytestmark = pytest.mark.sdk

WIDTH, HEIGHT, PITCH = 6, 5, 256  # texels, texels, bytes
TYPE_1D, TYPE_2D, TYPE_3D, TYPE_2D_ARRAY = 8, 9, 10, 13
RESOURCE, SAMPLER = 8, 16  # first SGPRs
# name: (channels, dtype, unified number, gfx9 data format, gfx9 number format)
FORMATS: dict[str, tuple[int, str, int, int, int]] = {
    "8_unorm": (1, "u1", 1, 1, 0),
    "8_snorm": (1, "i1", 2, 1, 1),
    "8_uint": (1, "u1", 5, 1, 4),
    "8_sint": (1, "i1", 6, 1, 5),
    "16_unorm": (1, "u2", 7, 2, 0),
    "16_float": (1, "f2", 13, 2, 7),
    "8_8_uscaled": (2, "u1", 16, 3, 2),
    "8_8_sscaled": (2, "i1", 17, 3, 3),
    "32_uint": (1, "u4", 20, 4, 4),
    "32_float": (1, "f4", 22, 4, 7),
    "16_16_snorm": (2, "i2", 24, 5, 1),
    "16_16_sint": (2, "i2", 28, 5, 5),
    "16_16_float": (2, "f2", 29, 5, 7),
    "8_8_8_8_unorm": (4, "u1", 42, 10, 0),
    "8_8_8_8_sint": (4, "i1", 47, 10, 5),
    "32_32_float": (2, "f4", 50, 11, 7),
    "16_16_16_16_uint": (4, "u2", 55, 12, 4),
    "16_16_16_16_float": (4, "f2", 57, 12, 7),
    "32_32_32_32_sint": (4, "i4", 62, 14, 5),
    "32_32_32_32_float": (4, "f4", 63, 14, 7),
}
SELECT = {
    1: 4 | 1 << 9,
    2: 4 | 5 << 3 | 1 << 9,
    4: 4 | 5 << 3 | 6 << 6 | 7 << 9,
}  # missing channels: 0, and 1 for the last


def image_words(target: str, address: int, name: str, kind: int, slices: int = 1) -> list[int]:
    channels, dtype, unified, data, number = FORMATS[name]
    pitch = PITCH // (channels * np.dtype(dtype).itemsize) - 1
    width, height = WIDTH - 1, HEIGHT - 1
    words = [address >> 8 & 0xFFFFFFFF, address >> 40, 0, SELECT[channels] | kind << 28, 0, 0, 0, 0]
    flat = kind in (TYPE_1D, TYPE_2D)
    if target == "gfx90a":
        words[1] |= data << 20 | number << 26
        words[2] = width | height << 14
        words[4] = (0 if flat else slices - 1) | pitch << 13
    else:
        words[1] |= unified << (17 if target == "gfx1201" else 20) | (width & 3) << 30
        words[2] = width >> 2 | height << 14
        words[4] = pitch if flat else slices - 1
    return words


def buffer_words(target: str, address: int, name: str, records: int) -> list[int]:
    channels, dtype, unified, data, number = FORMATS[name]
    stride = channels * np.dtype(dtype).itemsize
    form = number << 12 | data << 15 if target == "gfx90a" else unified << 12
    return [address & 0xFFFFFFFF, address >> 32 | stride << 16, records, SELECT[channels] | form]


def sampler_words(mode: int, linear: bool, normalised: bool = False) -> list[int]:
    return [mode * 0o111 | (0 if normalised else 1 << 15), 4095 << 12, (1 << 20 | 1 << 22) if linear else 0, 0]


def texels(name: str, slices: int = 1) -> NDArray[Any]:
    """``(slices, HEIGHT, WIDTH, channels)`` of the format's type, all ranges included."""
    channels, dtype, *_ = FORMATS[name]
    rng = np.random.default_rng(len(name))
    shape = (slices, HEIGHT, WIDTH, channels)
    if dtype.startswith("f"):
        return rng.normal(0, 8, shape).astype(dtype)
    info = np.iinfo(dtype)
    values = rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    values[0, 0, :2, 0] = info.min, info.max
    return values


def meaning(name: str, values: NDArray[Any]) -> NDArray[np.uint32]:
    """Registers for stored values: ``(..., 4)``."""
    channels, dtype, *_ = FORMATS[name]
    number = name.rsplit("_", 1)[1]
    out = np.zeros((*values.shape[:-1], 4), np.uint32)
    integer = number in ("uint", "sint")
    if channels < 4:
        out[..., 3] = 1 if integer else 0x3F800000
    if integer:
        out[..., :channels] = values.astype(np.int64).astype(np.uint32)
        return out
    real = values.astype(np.float32)
    if number == "unorm":
        real /= np.float32(np.iinfo(dtype).max)
    elif number == "snorm":
        real = np.maximum(real / np.float32(np.iinfo(dtype).max), np.float32(-1))
    out[..., :channels] = real.view(np.uint32)
    return out


class Bench:
    """Instructions of one target, and memory for their images."""

    def __init__(self, target: str, texts: Sequence[str], slices: int = 1) -> None:
        self.target = target
        self.snippets = Snippets(target, texts)
        self.bytes = PITCH * HEIGHT * slices
        self.memory = self.snippets._device.allocate(self.bytes)
        self.address = self.memory.address
        self.lanes = WaveState.of(target).exec_mask.bit_length()

    def fill(self, values: NDArray[Any]) -> None:
        """Rows of ``(slices, HEIGHT, WIDTH, channels)`` at multiples of PITCH."""
        image = self.memory.view(np.uint8).reshape(-1, PITCH)
        image[:] = 0xEE
        rows = np.ascontiguousarray(values).reshape(len(image), -1).view(np.uint8)
        image[:, : rows.shape[1]] = rows

    def rows(self, values: NDArray[Any]) -> NDArray[Any]:
        size = values.nbytes // (len(self.memory.view(np.uint8)) // PITCH)
        image = np.ascontiguousarray(self.memory.view(np.uint8).reshape(-1, PITCH)[:, :size])
        return image.view(values.dtype).reshape(values.shape)

    def run(
        self, index: int, words: Sequence[int], sampler: Sequence[int], registers: dict[int, NDArray[Any]]
    ) -> WaveState:
        state = WaveState.of(self.target)
        state.sgpr[RESOURCE : RESOURCE + len(words)] = words
        state.sgpr[SAMPLER : SAMPLER + len(sampler)] = sampler
        state.vgpr[:] = 0xAAAAAAAA
        for row, values in registers.items():
            state.vgpr[row, : self.lanes] = np.asarray(values).view(np.uint32)
        return self.snippets.run(index, state)


def image_text(target: str, name: str, data: str, words: int, dim: str, more: str = "", sampler: bool = False) -> str:
    """One instruction whose address starts at v16, in the target's syntax."""
    resource = f", s[{RESOURCE}:{RESOURCE + 7}]" + (f", s[{SAMPLER}:{SAMPLER + 3}]" if sampler else "")
    address = "v16" if words == 1 else f"v[16:{15 + words}]"
    if target == "gfx90a":
        dim_text = " da" if "ARRAY" in dim else ""
        unorm = "" if sampler else " unorm"
    else:
        dim_text, unorm = f" dim:SQ_RSRC_IMG_{dim}", ""
        if target == "gfx1201" and words > 1:
            address = "[" + ", ".join(f"v{16 + k}" for k in range(words)) + "]"
    mask, _, rest = more.partition(" ")
    return f"{name} {data}, {address}{resource} {mask}{dim_text}{unorm} {rest}"


TARGETS = ("gfx90a", "gfx1100", "gfx1201")


@pytest.mark.parametrize("target", TARGETS)
def test_loads_and_stores_of_every_format(target: str) -> None:
    bench = Bench(
        target,
        [
            image_text(target, "image_load", "v[0:3]", 2, "2D", "dmask:0xf"),
            image_text(target, "image_store", "v[0:3]", 2, "2D", "dmask:0xf"),
            image_text(target, "image_load", "v[0:1]", 2, "2D", "dmask:0xa"),
        ],
    )
    x = np.arange(bench.lanes) % (WIDTH + 2) - 1
    y = np.arange(bench.lanes) // (WIDTH + 2)
    inside = (x >= 0) & (x < WIDTH) & (y < HEIGHT)
    for name in FORMATS:
        values = texels(name)
        bench.fill(values)
        words = image_words(target, bench.address, name, TYPE_2D)
        at = {16: x.astype(np.int32), 17: y.astype(np.int32)}
        got = bench.run(0, words, [], at)
        want = meaning(name, np.where(inside[:, None], values[0, y % HEIGHT, x % WIDTH], np.zeros(1, values.dtype)))
        assert (want == got.vgpr[:4, : bench.lanes].T).all(), name
        some = bench.run(2, words, [], at)
        assert (want[:, [1, 3]] == some.vgpr[:2, : bench.lanes].T).all(), name
        # What was read, stored into an empty image, gives the same image where lanes reach.
        bench.fill(np.zeros_like(values))
        bench.run(1, words, [], {**at, **{k: want[:, k].copy() for k in range(4)}})
        reached = np.zeros((HEIGHT, WIDTH), bool)
        reached[y[inside], x[inside]] = True
        back = bench.rows(values)[0]
        same = back == values[0]
        if name.endswith("snorm"):  # the lowest value reads as -1, which is written as the second lowest
            same |= (values[0] == np.iinfo(values.dtype).min) & (back == np.iinfo(values.dtype).min + 1)
        assert same[reached].all(), name
        assert (back[~reached] == 0).all(), name


@pytest.mark.parametrize("target", TARGETS)
def test_linear_filter_offsets_halves_and_layers(target: str) -> None:
    extended = target != "gfx90a"
    a16 = "dmask:0x1 a16"
    texts = [
        image_text(target, "image_sample", "v0", 2, "2D", "dmask:0x1", True),
        image_text(target, "image_sample", "v0", 1, "2D", a16, True),
        image_text(target, "image_sample", "v[0:1]", 2, "2D", "dmask:0xf d16", True),
        image_text(target, "image_sample", "v0", 3, "2D_ARRAY", "dmask:0x1", True),
    ]
    if extended:
        texts += [
            image_text(target, "image_sample_lz_o", "v0", 3, "2D", "dmask:0x1", True),
            image_text(target, "image_sample_b", "v0", 3, "2D", "dmask:0x1", True),
            image_text(target, "image_sample_d_g16", "v0", 4, "2D", "dmask:0x1", True),
            image_text(target, "image_gather4_lz_o", "v[0:3]", 3, "2D", "dmask:0x1", True),
        ]
    bench = Bench(target, texts, slices=2)
    values = texels("32_float", slices=2)
    bench.fill(values)
    words = image_words(target, bench.address, "32_float", TYPE_2D)
    rng = np.random.default_rng(3)
    # Multiples of 1/256, which 16-bit coordinates hold as well.
    x = (rng.integers(-2 * 256, (WIDTH + 2) * 256, bench.lanes) / 256).astype(np.float32)
    y = (rng.integers(-2 * 256, (HEIGHT + 2) * 256, bench.lanes) / 256).astype(np.float32)
    edge, border = 2, 6

    def expected(u: NDArray[Any], v: NDArray[Any], mode: int, layer: NDArray[Any] | int = 0) -> NDArray[Any]:
        total = np.zeros(bench.lanes)
        left, low = np.floor(u - 0.5), np.floor(v - 0.5)
        for i in (0, 1):
            for j in (0, 1):
                column, row = (left + i).astype(int), (low + j).astype(int)
                out = (column < 0) | (column >= WIDTH) | (row < 0) | (row >= HEIGHT)
                texel = values[layer, row.clip(0, HEIGHT - 1), column.clip(0, WIDTH - 1), 0].astype(np.float64)
                if mode == border:
                    texel = np.where(out, 0, texel)
                a, b = u - 0.5 - left, v - 0.5 - low
                total += texel * (a if i else 1 - a) * (b if j else 1 - b)
        return total.astype(np.float32)

    def sampled(
        index: int, registers: dict[int, NDArray[Any]], mode: int, image: Sequence[int] = words
    ) -> NDArray[Any]:
        state = bench.run(index, image, sampler_words(mode, True), registers)
        return state.vgpr[0, : bench.lanes].view(np.float32)

    for mode in (edge, border):
        assert (sampled(0, {16: x, 17: y}, mode) == expected(x, y, mode)).all()
    packed = (
        x.astype(np.float16).view(np.uint16).astype(np.uint32)
        | y.astype(np.float16).view(np.uint16).astype(np.uint32) << 16
    )
    rounded = [np.floor(c.astype(np.float16).astype(np.float64) * 256 + 0.5) / 256 for c in (x, y)]
    assert (sampled(1, {16: packed}, edge) == expected(*rounded, edge)).all()
    halves = bench.run(2, words, sampler_words(edge, True), {16: x, 17: y}).vgpr[:2, : bench.lanes]
    want_half = expected(x, y, edge).astype(np.float16).view(np.uint16).astype(np.uint32)
    assert (halves[0] == want_half).all()
    assert (halves[1] == 0x3C000000).all()  # 0 and, for the missing last channel, 1
    array = image_words(target, bench.address, "32_float", TYPE_2D_ARRAY, slices=2)
    layer = np.resize(np.array([-1, 0, 0.4, 0.6, 1, 7], np.float32), bench.lanes)
    chosen = np.rint(layer).clip(0, 1).astype(int)
    assert (sampled(3, {16: x, 17: y, 18: layer}, edge, array) == expected(x, y, edge, chosen)).all()
    if not extended:
        return
    offset = np.full(bench.lanes, (3 & 63) | (-2 & 63) << 8, np.uint32)
    assert (sampled(4, {16: offset, 17: x, 18: y}, border) == expected(x + 3, y - 2, border)).all()
    assert (sampled(5, {16: np.float32(x * 9), 17: x, 18: y}, edge) == expected(x, y, edge)).all()
    assert (sampled(6, {16: offset, 17: offset, 18: x, 19: y}, edge) == expected(x, y, edge)).all()
    gathered = (
        bench.run(7, words, sampler_words(edge, False), {16: offset, 17: x, 18: y})
        .vgpr[:4, : bench.lanes]
        .view(np.float32)
    )
    left, low = np.floor(x - 0.5).astype(int) + 3, np.floor(y - 0.5).astype(int) - 2
    for k, (i, j) in enumerate(((0, 1), (1, 1), (1, 0), (0, 0))):
        assert (gathered[k] == values[0, (low + j).clip(0, HEIGHT - 1), (left + i).clip(0, WIDTH - 1), 0]).all()


@pytest.mark.parametrize("target", TARGETS)
def test_atomics_sizes_and_refusals(target: str) -> None:
    modern = target == "gfx1201"
    add, smax = (
        ("image_atomic_add_uint", "image_atomic_max_int") if modern else ("image_atomic_add", "image_atomic_smax")
    )
    returns = "th:TH_ATOMIC_RETURN" if modern else "glc"
    texts = [
        image_text(target, add, "v0", 2, "2D", f"dmask:0x1 {returns}"),
        image_text(target, smax, "v0", 2, "2D", "dmask:0x1"),
        image_text(target, "image_get_resinfo", "v[0:3]", 1, "3D", "dmask:0xf"),
        image_text(target, "image_load_mip", "v[0:3]", 3, "2D", "dmask:0xf"),
    ]
    bench = Bench(target, texts)
    start = np.arange(WIDTH * HEIGHT, dtype=np.uint32).reshape(1, HEIGHT, WIDTH, 1) * 100
    bench.fill(start)
    words = image_words(target, bench.address, "32_uint", TYPE_2D)
    lanes = np.arange(bench.lanes)
    at = {16: (lanes % 4).astype(np.int32), 17: (lanes // 4 % 2).astype(np.int32), 0: lanes.astype(np.int32)}
    got = bench.run(0, words, [], at)
    want, seen = start[0, :, :, 0].copy(), np.zeros(bench.lanes, np.uint32)
    for lane in lanes:
        place = (lane // 4 % 2, lane % 4)
        seen[lane], want[place] = want[place], want[place] + lane
    assert (got.vgpr[0, : bench.lanes] == seen).all()
    assert (bench.rows(start)[0, :, :, 0] == want).all()
    bench.run(1, words, [], {**at, 0: np.full(bench.lanes, 450, np.int32)})
    want[:2, :4] = np.maximum(want[:2, :4].astype(np.int32), 450).astype(np.uint32)
    assert (bench.rows(start)[0, :, :, 0] == want).all()
    info = bench.run(
        2, image_words(target, bench.address, "32_uint", TYPE_3D, 1), [], {16: np.zeros(bench.lanes, np.int32)}
    )
    assert info.vgpr[:4, 0].tolist() == [WIDTH, HEIGHT, 1, 1]
    with pytest.raises(UnimplementedInstruction, match="level 1 of an image that has one level"):
        bench.run(3, words, [], {**at, 18: np.ones(bench.lanes, np.int32)})
    bench.run(3, words, [], {**at, 18: np.zeros(bench.lanes, np.int32)})
    if target != "gfx90a":
        with pytest.raises(UnimplementedInstruction, match="dimensions are not those"):
            bench.run(0, image_words(target, bench.address, "32_uint", TYPE_3D, 1), [], at)
    tiled = list(words)
    tiled[3] |= 1 << 20
    with pytest.raises(UnimplementedInstruction, match="not linear in memory"):
        bench.run(0, tiled, [], at)


@pytest.mark.parametrize("target", TARGETS)
def test_typed_buffers(target: str) -> None:
    zero, d16 = ("null" if target == "gfx1201" else "0"), ("format_d16" if target == "gfx90a" else "d16_format")
    resource = f"s[{RESOURCE}:{RESOURCE + 3}]"
    form = "BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_SNORM" if target == "gfx90a" else "BUF_FMT_16_16_SNORM"
    texts = [
        f"buffer_load_format_xyzw v[0:3], v16, {resource}, {zero} idxen",
        f"buffer_store_format_xyzw v[0:3], v16, {resource}, {zero} idxen",
        f"buffer_load_{d16}_xy v0, v16, {resource}, {zero} idxen",
        f"tbuffer_load_format_xy v[0:1], v16, {resource}, {zero} format:[{form}] idxen",
        f"tbuffer_store_format_xy v[0:1], v16, {resource}, {zero} format:[{form}] idxen",
    ]
    bench = Bench(target, texts)
    index = np.arange(bench.lanes, dtype=np.int32) - 1
    for name in FORMATS:
        values = texels(name).reshape(-1, FORMATS[name][0])[:8]
        memory = bench.memory.view(np.uint8)
        memory[: values.nbytes] = np.ascontiguousarray(values).view(np.uint8).ravel()
        words = buffer_words(target, bench.address, name, 8)
        inside = (index >= 0) & (index < 8)
        want = meaning(name, np.where(inside[:, None], values[index % 8], np.zeros(1, values.dtype)))
        got = bench.run(0, words, [], {16: index}).vgpr[:4, : bench.lanes].T
        assert (got == want).all(), name
        memory[: values.nbytes] = 0
        bench.run(1, words, [], {16: index, **{k: want[:, k].copy() for k in range(4)}})
        back = memory[: values.nbytes].view(values.dtype).reshape(values.shape)
        assert ((back == values) | (name.endswith("snorm") & (values == values.min()))).all(), name
    values = texels("16_16_float").reshape(-1, 2)[:8]
    memory[: values.nbytes] = values.view(np.uint8).ravel()
    got16 = bench.run(2, buffer_words(target, bench.address, "16_16_float", 8), [], {16: index}).vgpr[0, 1:9]
    assert (got16 == values.view(np.uint32).ravel()).all()
    numbers = texels("16_16_snorm").reshape(-1, 2)[:8]
    memory[: numbers.nbytes] = numbers.view(np.uint8).ravel()
    # The instruction's format counts, not the resource's.
    words = buffer_words(target, bench.address, "16_16_sint", 8)
    got = bench.run(3, words, [], {16: index}).vgpr[:2, 1:9].T
    assert (got == meaning("16_16_snorm", numbers)[:, :2]).all()
    bench.run(
        4, words, [], {16: index, 0: np.full(bench.lanes, 0.5, np.float32), 1: np.full(bench.lanes, -2, np.float32)}
    )
    assert (memory[: numbers.nbytes].view(np.int16).reshape(-1, 2) == [16384, -32767]).all()


def test_narrow_scalar_buffer_loads() -> None:
    loads = [f"s_buffer_load_{t} s4, s[8:11], {o}" for t in ("u8", "i8", "u16", "i16") for o in ("0x2", "0x40")]
    texts = [f"{text}; s_wait_kmcnt 0x0; v_mov_b32 v0, s4" for text in loads] + [
        "s_buffer_prefetch_data s[8:11], 0x10, s4, 3"
    ]
    bench = Bench("gfx1201", texts)
    memory = bench.memory.view(np.uint8)
    memory[:4] = 1, 2, 0x83, 0x94
    resource = [bench.address & 0xFFFFFFFF, bench.address >> 32, 4, 0]
    got = [int(bench.run(k, resource, [], {}).vgpr[0, 0]) for k in range(8)]
    assert got == [0x83, 0, 0xFFFFFF83, 0, 0x9483, 0, 0xFFFF9483, 0]
    bench.run(8, resource, [], {})
