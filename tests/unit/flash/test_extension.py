"""The host decisions of upstream's flash_api.cpp, without compiling a kernel: what would be launched, with what."""

from __future__ import annotations

import contextlib
import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")

from hipport.core.files import include_root  # noqa: E402 - after the skip
from hipport.flash import extension as module  # noqa: E402 - after the skip
from hipport.flash.extension import Extension, Philox, splits_heuristic  # noqa: E402
from hipport.flash.kernels import (  # noqa: E402
    Forward,
    Instantiation,
    SplitForward,
    entries_header,
    entries_source,
    programs_for,
)
from hipport.flash.launch import Array, Launch, Pointer  # noqa: E402
from hipport.flash.library import pack  # noqa: E402
from hipport.sdk import find_sdk  # noqa: E402

STAND_IN = Path(__file__).with_name("stand_in") / "flash_fwd_launch_template.h"


class Recorder:
    """Takes the place of the kernels: remembers the call, returns the buffers as they were sent."""

    def __init__(self) -> None:
        self.what: Instantiation | None = None
        self.buffers: Sequence[tuple[Array, bool]] = ()
        self.launches: Sequence[Launch] = ()

    def __call__(
        self, what: Instantiation, buffers: Sequence[tuple[Array, bool]], launches: Sequence[Launch]
    ) -> list[Array]:
        self.what, self.buffers, self.launches = what, buffers, launches
        return [array.copy() for array, wanted in buffers if wanted]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def extension(recorder: Recorder, compute_units: int = 1) -> Extension:
    return Extension(recorder, compute_units, Philox(seed=5))


def qkv(sq: int = 200, sk: int = 300, h: int = 4, hk: int = 2, d: int = 64, b: int = 1, dtype: object = None):
    make = lambda s, n: torch.zeros(b, s, n, d, dtype=dtype or torch.float16)  # noqa: E731
    return make(sq, h), make(sk, hk), make(sk, hk)


def forward(ext: Extension, tensors: tuple[object, ...], **changes: object):
    given = {
        "out": None, "alibi_slopes": None, "p_dropout": 0.0, "softmax_scale": 0.125, "causal": False,
        "window_left": -1, "window_right": -1, "softcap": 0.0, "return_softmax": False,
    } | changes  # fmt: skip
    return ext.fwd(*tensors, **given)


def test_uneven_lengths_take_the_general_kernel(recorder: Recorder) -> None:
    forward(extension(recorder), qkv())
    assert recorder.what == Forward(64, False, even_mn=False, even_k=True)
    (launch,) = recorder.launches
    assert launch.entry == "hipport_fwd_hd64_fp16_even_k"
    assert launch.parameters["h_h_k_ratio"] == 2
    assert launch.parameters["q_row_stride"] == 4 * 64


def test_whole_blocks_take_the_even_kernel(recorder: Recorder) -> None:
    forward(extension(recorder), qkv(256, 256))
    assert recorder.what == Forward(64, False, even_mn=True, even_k=True)


def test_head_dim_between_instantiations_is_uneven(recorder: Recorder) -> None:
    forward(extension(recorder), qkv(256, 256, d=40))
    assert recorder.what == Forward(64, False, even_mn=False, even_k=False)


def test_causal_is_a_window_open_to_the_left(recorder: Recorder) -> None:
    forward(extension(recorder), qkv(dtype=torch.bfloat16), causal=True)
    assert recorder.what == Forward(64, True, causal=True)
    (launch,) = recorder.launches
    assert (launch.parameters["window_size_left"], launch.parameters["window_size_right"]) == (300, 0)


def test_one_sided_window_is_local(recorder: Recorder) -> None:
    forward(extension(recorder), qkv(), window_left=10, window_right=-1)
    assert recorder.what == Forward(64, False, local=True)
    assert recorder.launches[0].parameters["window_size_right"] == 300


def test_single_query_swaps_groups_for_rows(recorder: Recorder) -> None:
    out, lse, _, _ = forward(extension(recorder), qkv(sq=1), causal=True)
    assert recorder.launches[0].parameters["seqlen_q"] == 2  # the group takes the place of rows
    assert recorder.launches[0].parameters["h"] == 2
    assert out.shape == (1, 1, 4, 64)
    assert lse.shape == (1, 4, 1)
    assert not recorder.what.causal  # one query sees every key


def test_empty_keys_launch_nothing(recorder: Recorder) -> None:
    out, lse, _, _ = forward(extension(recorder), qkv(sk=0))
    assert recorder.what is None
    assert bool((out == 0).all())
    assert bool(torch.isposinf(lse).all())


def test_dropout_takes_random_numbers_once_per_call(recorder: Recorder) -> None:
    ext = extension(recorder)
    forward(ext, qkv(), p_dropout=0.25)
    first = recorder.launches[0].parameters
    assert recorder.what == Forward(64, False, dropout=True)
    assert (first["philox_seed"], first["philox_offset"]) == (5, 0)
    assert first["p_dropout_in_uint8_t"] == 191  # floor(0.75 * 255)
    forward(ext, qkv(), p_dropout=0.25)
    assert recorder.launches[0].parameters["philox_offset"] == 1 * 4 * 32


def test_softcap_and_dropout_exclude_each_other(recorder: Recorder) -> None:
    with pytest.raises(RuntimeError, match="Softcapping does not support dropout"):
        forward(extension(recorder), qkv(), softcap=10.0, p_dropout=0.1)


def test_split_needs_the_combine_kernel(recorder: Recorder) -> None:
    forward(extension(recorder, compute_units=64), qkv(sq=64, sk=1024))
    assert isinstance(recorder.what, SplitForward)
    assert recorder.what.log_splits > 0
    split, combine = recorder.launches
    assert split.parameters["num_splits"] == 8  # blocks of 128 keys, each its own
    assert (split.entry, combine.entry) == (
        "hipport_split_hd64_fp16_even_mn_even_k_splits8",
        "hipport_combine_hd64_fp16_even_mn_even_k_splits8",
    )
    assert isinstance(combine.parameters["oaccum_ptr"], Pointer)


def test_float32_is_refused(recorder: Recorder) -> None:
    with pytest.raises(RuntimeError, match="fp16 and bf16"):
        forward(extension(recorder), qkv(dtype=torch.float32))


@pytest.mark.parametrize(
    ("sizes", "p_dropout", "message"),
    [
        ({"sq": 0}, 0.0, "the length of the queries must be positive"),
        ({"h": 0}, 0.0, "numbers of heads must be positive"),
        ({"hk": 0}, 0.0, "numbers of heads must be positive"),
        ({"d": 0}, 0.0, "head dimension and numbers of heads must be positive"),
        ({}, -0.5, "p_dropout must be at least 0 and below 1"),
        ({}, 1.0, "p_dropout must be at least 0 and below 1"),
        ({}, float("nan"), "p_dropout must be at least 0 and below 1"),
    ],
)
def test_empty_problems_and_odd_probabilities_are_refused(
    recorder: Recorder, sizes: dict[str, int], p_dropout: float, message: str
) -> None:
    with pytest.raises(RuntimeError, match=message):
        forward(extension(recorder), qkv(**sizes), p_dropout=p_dropout)


@pytest.mark.parametrize(
    ("blocks", "units", "n_blocks", "expected"),
    [(300, 264, 8, 1), (4, 264, 1, 1), (4, 8, 4, 2), (1, 8, 8, 8)],
    ids=["device is full", "one block of keys", "half the device", "one row of blocks"],
)
def test_splits_heuristic(blocks: int, units: int, n_blocks: int, expected: int) -> None:
    assert splits_heuristic(blocks, units, n_blocks, 128) == expected


def test_entries_name_the_instantiations() -> None:
    text = entries_source([SplitForward(128, True, causal=True, log_splits=3), Forward(64, False, dropout=True)])
    assert "flash_fwd_splitkv_kernel<Traits, true, false, false, false, true, false, true, false>" in text
    assert "flash_fwd_splitkv_combine_kernel<Traits, rows, 3, true>" in text
    assert "flash_fwd_kernel<Traits, true, false, false, false, false, true, false, false>" in text
    assert "cutlass::bfloat16_t" in text
    assert "hipport_combine_hd128_bf16_causal_even_k_splits8(const hipport_flash_params* params" in text
    assert "/* most_splits */ 8," in text


def test_header_declares_what_the_source_defines() -> None:
    kernels = [SplitForward(128, True, causal=True, log_splits=3), SplitForward(128, True)]
    declared = re.findall(r"^HIPPORT_FLASH_ENTRY (\w+)\(", entries_header(kernels), re.MULTILINE)
    assert declared == re.findall(r"^HIPPORT_FLASH_ENTRY (\w+)\(", entries_source(kernels), re.MULTILINE)
    assert declared == [
        "hipport_split_hd128_bf16_causal_even_k_splits8",
        "hipport_combine_hd128_bf16_causal_even_k_splits8",
        "hipport_split_hd128_bf16_even_k",
    ]


def test_programs_hold_kernels_of_one_family() -> None:
    masks = [(False, False), (True, False), (False, True)]
    kernels = [Forward(64, False, causal=c, local=w, alibi=a) for c, w in masks for a in (False, True)]
    kernels += [Forward(64, True), SplitForward(64, False), kernels[0]]
    groups = programs_for(kernels)
    assert sorted(len(group) for group in groups) == [1, 1, 2, 4]
    assert sorted(map(str, sum(groups, ()))) == sorted(map(str, set(kernels)))
    assert all(len({(what.split, what.head_dim, what.bf16) for what in group}) == 1 for group in groups)
    assert programs_for(kernels[::-1]) == groups


def test_bfloat16_bits_travel_unchanged(recorder: Recorder) -> None:
    q, k, v = qkv(dtype=torch.bfloat16)
    q.fill_(1.0)
    forward(extension(recorder), (q, k, v))
    pointer = recorder.launches[0].parameters["q_ptr"]
    assert isinstance(pointer, Pointer)
    assert set(np.unique(recorder.buffers[pointer.buffer][0])) == {0x3F80}


def test_single_query_comes_back_in_the_callers_order(recorder: Recorder) -> None:
    """Heads of a group become rows for the kernel: row r of head k is query head ``k * group + r``."""
    q, k, v = qkv(sq=1)
    q[:] = torch.arange(4.0)[None, None, :, None]
    given = torch.empty_like(q)

    def copy_queries(
        what: Instantiation, buffers: Sequence[tuple[Array, bool]], launches: Sequence[Launch]
    ) -> list[Array]:
        recorder(what, buffers, launches)
        parameters = launches[0].parameters
        sent = {name: buffers[p.buffer][0] for name in ("q_ptr", "o_ptr") if isinstance(p := parameters[name], Pointer)}
        return [sent["q_ptr"] if array is sent["o_ptr"] else array for array, wanted in buffers if wanted]

    out, *_ = forward(Extension(copy_queries, 1, Philox()), (q, k, v), out=given)
    assert out is given
    assert torch.equal(out, q)
    pointer = recorder.launches[0].parameters["q_ptr"]
    assert isinstance(pointer, Pointer)
    assert recorder.buffers[pointer.buffer][0][0, :, :, 0].tolist() == [[0.0, 2.0], [1.0, 3.0]]


def test_cache_with_an_odd_head_dim_is_padded(recorder: Recorder) -> None:
    q, _, v = qkv(sq=3, sk=64, d=59)
    cache, new = torch.ones(1, 64, 2, 59, dtype=torch.float16), torch.zeros(1, 3, 2, 59, dtype=torch.float16)
    out, lse = extension(recorder).fwd_kvcache(
        q, cache, v, new, new, torch.tensor([5], dtype=torch.int32), None, None, None, None, None, None, None, 0.125,
        False, -1, -1, 0.0, False, 1,
    )  # fmt: skip
    assert isinstance(recorder.what, SplitForward)
    assert recorder.what.even_k  # 59 becomes 64
    assert recorder.launches[0].parameters["d"] == 64
    assert (out.shape, lse.shape, cache.shape) == ((1, 3, 4, 59), (1, 4, 3), (1, 64, 2, 59))
    assert bool((cache == 1).all())


@pytest.fixture
def on_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of the CPU count as tensors of the GPU that kernels run on."""
    monkeypatch.setattr(module, "on_gpu", lambda tensor: True)


@pytest.mark.usefixtures("on_gpu")
def test_tensors_of_the_gpu_are_used_in_place(recorder: Recorder) -> None:
    wide = torch.zeros(1, 300, 2, 2 * 64, dtype=torch.float16)
    q, _, _ = qkv()
    k, v = wide[..., :64], wide[..., 64:]  # packed, as qkv-packed callers have them
    out, lse, _, _ = forward(Extension(recorder, 1, Philox(), in_place=True), (q, k, v))
    assert recorder.buffers == []
    (launch,) = recorder.launches
    given = {name: launch.parameters[f"{name}_ptr"] for name in ("q", "k", "v", "o", "softmax_lse")}
    pointers = {"q": q, "k": k, "v": v, "o": out, "softmax_lse": lse}
    assert given == {name: tensor.data_ptr() for name, tensor in pointers.items()}
    assert launch.parameters["k_row_stride"] == 2 * 2 * 64
    assert launch.parameters["v_head_stride"] == 2 * 64


@pytest.mark.usefixtures("on_gpu")
def test_what_has_no_stride_parameter_is_made_contiguous(recorder: Recorder) -> None:
    starts = torch.tensor([0, -1, 40, -1], dtype=torch.int32)[::2]
    ext = Extension(recorder, 1, Philox(), in_place=True)
    q, k, v = (tensor[0, :40] for tensor in qkv())
    ext.varlen_fwd(
        q, k, v, None, starts, torch.tensor([0, 40], dtype=torch.int32), None, None, None, None, 40, 40, 0.0, 0.125,
        False, False, -1, -1, 0.0, False,
    )  # fmt: skip
    parameters = recorder.launches[0].parameters
    assert recorder.buffers == []
    assert parameters["cu_seqlens_q"] != starts.data_ptr()


def test_tensors_of_the_gpu_are_copied_to_the_emulator(recorder: Recorder, on_gpu: None) -> None:
    forward(Extension(recorder, 1, Philox(), in_place=False), qkv())
    assert len(recorder.buffers) == 6  # q, k, v, out, log-sum-exp, random state


def test_only_a_pytorch_for_rocm_has_tensors_on_an_amd_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    on_device: Any = SimpleNamespace(device=torch.device("cuda", 0))
    for version, expected in (("6.4.43484", True), (None, False)):
        monkeypatch.setattr(torch.version, "hip", version)
        assert module.on_gpu(on_device) is expected
        assert not module.on_gpu(torch.zeros(1))


def test_tensors_of_the_cpu_are_copied_to_the_gpu(recorder: Recorder) -> None:
    forward(Extension(recorder, 1, Philox(), in_place=True), qkv())
    assert len(recorder.buffers) == 6
    assert recorder.launches[0].stream == 0


def test_tensors_on_two_devices_are_refused(recorder: Recorder) -> None:
    q, k, v = qkv()
    with pytest.raises(RuntimeError, match="all tensors must be on cpu, one is on meta"):
        forward(extension(recorder), (q, k, v.to("meta")))


def test_launches_follow_pytorchs_stream_of_the_tensors_device(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[Any] = []

    @contextlib.contextmanager
    def make_current(device: Any) -> Iterator[None]:
        current.append(device)
        yield
        current.pop()

    monkeypatch.setattr(torch.cuda, "device", make_current)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(cuda_stream=70 + current[-1].index))
    call = module._Call(torch.device("cuda", 1), in_place=True)
    with call.stream() as stream:
        assert (stream, current) == (71, [torch.device("cuda", 1)])
    assert current == []
    with module._Call(torch.device("cuda", 1), in_place=False).stream() as stream:
        assert (stream, current) == (0, [])


def test_strides_of_slopes_are_those_of_what_is_sent(recorder: Recorder) -> None:
    wide = torch.ones(2, 8)
    forward(extension(recorder), qkv(b=2), alibi_slopes=wide[:, :4])
    assert recorder.launches[0].parameters["alibi_slopes_batch_stride"] == 4


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def varlen(ext: Extension, **changes: Any) -> list[torch.Tensor]:
    """Two sequences of 20 queries and 30 keys."""
    q, k, v = (tensor.flatten(0, 1) for tensor in qkv(20, 30, b=2))
    given = {
        "q": q, "k": k, "v": v, "out": None, "cu_seqlens_q": ints(0, 20, 40), "cu_seqlens_k": ints(0, 30, 60),
        "seqused_k": None, "leftpad_k": None, "block_table": None, "alibi_slopes": None, "max_seqlen_q": 20,
        "max_seqlen_k": 30, "p_dropout": 0.0, "softmax_scale": 0.125, "zero_tensors": False, "causal": False,
        "window_left": -1, "window_right": -1, "softcap": 0.0, "return_softmax": False,
    } | changes  # fmt: skip
    return ext.varlen_fwd(**given)


def kvcache(ext: Extension, **changes: Any) -> list[torch.Tensor]:
    """Two sequences of 3 queries, 40 places in the cache."""
    q, k_cache, v_cache = qkv(3, 40, b=2)
    names = ("k", "v", "seqlens_k", "rotary_cos", "rotary_sin", "cache_batch_idx", "leftpad_k", "block_table",
             "alibi_slopes", "out")  # fmt: skip
    given = dict.fromkeys(names) | {
        "q": q, "k_cache": k_cache, "v_cache": v_cache, "softmax_scale": 0.125, "causal": False, "window_left": -1,
        "window_right": -1, "softcap": 0.0, "rotary_interleaved": False, "num_splits": 1,
    } | changes  # fmt: skip
    return ext.fwd_kvcache(**given)


NEW = {"k": torch.zeros(2, 3, 2, 64).half(), "v": torch.zeros(2, 3, 2, 64).half(), "seqlens_k": ints(5, 6)}
PAGES = {"k_cache": torch.zeros(2, 256, 2, 64).half(), "v_cache": torch.zeros(2, 256, 2, 64).half()}
COS = torch.zeros(40, 16).half()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, ""),
        ({"cu_seqlens_q": torch.tensor([0, 20, 40])}, "cu_seqlens_q must have dtype int32"),
        ({"cu_seqlens_k": ints(0, 30)}, r"cu_seqlens_k must have shape \(3,\), not \(2,\)"),
        ({"seqused_k": torch.tensor([3, 4])}, "seqused_k must have dtype int32"),
        ({"leftpad_k": ints(1, 2, 3)}, r"leftpad_k must have shape \(2,\)"),
        ({"block_table": ints(0, 1)}, "key must have 4 dimensions"),
        ({"v": torch.zeros(50, 2, 64).half()}, r"v must have shape \(60, 2, 64\), not \(50, 2, 64\)"),
        ({"cu_seqlens_q": ints(0), "cu_seqlens_k": ints(0)}, "batch size must be positive"),
        ({"return_softmax": True}, "return_softmax is only supported when p_dropout > 0"),
        ({"alibi_slopes": torch.ones(3)}, r"ALiBi slopes must have shape \(4,\) or \(2, 4\)"),
        ({"out": torch.zeros(40, 4, 64)}, "Output must have the same dtype"),
    ],
)
def test_wrong_packed_inputs_are_refused(recorder: Recorder, changes: dict[str, Any], message: str) -> None:
    """Integers of another size and tensors of another shape would be read as they are not."""
    if not message:
        varlen(extension(recorder), **changes)
        return
    with pytest.raises(RuntimeError, match=message):
        varlen(extension(recorder), **changes)
    assert recorder.what is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (NEW | {"rotary_cos": COS, "rotary_sin": COS, "cache_batch_idx": ints(1, 0)}, ""),
        ({"seqlens_k": torch.tensor([5, 6])}, "seqlens_k must have dtype int32"),
        ({"cache_batch_idx": torch.tensor([1, 0])}, "cache_batch_idx must have dtype int32"),
        (PAGES | {"block_table": torch.zeros(2, 1, dtype=torch.int64)}, "block_table must have dtype int32"),
        (PAGES | {"block_table": torch.zeros(1, 1, dtype=torch.int32)}, r"block_table must have shape \(2, 1\)"),
        ({"v_cache": torch.zeros(2, 40, 1, 64).half()}, "v_cache must have shape"),
        ({"q": torch.zeros(3, 3, 4, 64).half()}, "a row for each sequence of the batch"),
        ({"q": torch.zeros(3, 3, 4, 64).half(), "cache_batch_idx": ints(1, 0, 1)}, ""),
        (NEW | {"v": torch.zeros(2, 4, 2, 64).half()}, r"new v must have shape \(2, 3, 2, 64\)"),
        (NEW | {"k": torch.zeros(2, 3, 2, 64)}, "new k must have the same dtype as query"),
        (NEW | {"rotary_cos": COS.float(), "rotary_sin": COS}, "rotary_cos must have the same dtype"),
        (NEW | {"rotary_cos": COS[:30], "rotary_sin": COS[:30]}, "cos/sin seqlen must be at least"),
        (NEW | {"rotary_cos": COS[:, :4], "rotary_sin": COS[:, :4]}, "divisible by 16"),
        (NEW | {"rotary_cos": COS, "rotary_sin": COS[:, :8]}, "rotary_sin must have shape"),
        (NEW | {"rotary_cos": torch.zeros(40, 40).half(), "rotary_sin": COS}, "rotary_dim must be <= headdim"),
        ({"q": torch.zeros(2, 3, 3, 64).half()}, "Number of heads in key/value must divide"),
    ],
)  # fmt: skip
def test_wrong_cache_inputs_are_refused(recorder: Recorder, changes: dict[str, Any], message: str) -> None:
    if not message:
        kvcache(extension(recorder), **changes)
        return
    with pytest.raises(RuntimeError, match=message):
        kvcache(extension(recorder), **changes)
    assert recorder.what is None


def test_keys_that_do_not_fit_the_queries_are_refused(recorder: Recorder) -> None:
    q, k, v = qkv()
    for wrong, message in (
        (k[0], "key must have 4"),
        (k[..., :32], "k must have shape"),
        (k[:, :7], "v must have sha"),
    ):
        with pytest.raises(RuntimeError, match=message):
            forward(extension(recorder), (q, wrong, v))


# Takes the place of HIP: notes what an entry launches.
NOTES_LAUNCHES = """
#include <hip/hip_runtime.h>
extern "C" {
unsigned launched[4];  // grid, threads
hipError_t hipLaunchKernel(const void*, dim3 grid, dim3 block, void**, size_t, hipStream_t) {
  launched[0] = grid.x, launched[1] = grid.y, launched[2] = grid.z, launched[3] = block.x;
  return hipSuccess;
}
hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return hipSuccess; }
hipError_t __hipPopCallConfiguration(dim3*, dim3*, size_t*, hipStream_t*) { return hipErrorUnknown; }
void** __hipRegisterFatBinary(const void*) { return nullptr; }
void __hipRegisterFunction(void**, const void*, char*, const char*, unsigned, void*, void*, void*, void*, int*) {}
void __hipUnregisterFatBinary(void**) {}
}
"""
SLOPES = torch.ones(4)
BF16 = torch.bfloat16
# By call: the grid of each launch, in workgroups.
CALLS: dict[str, tuple[Callable[[Extension], object], list[tuple[int, int, int]]]] = {
    "dense": (lambda ext: forward(ext, qkv()), [(2, 1, 4)]),  # 200 rows in blocks of 128
    "even": (lambda ext: forward(ext, qkv(256, 256, b=2)), [(2, 2, 4)]),
    "causal": (lambda ext: forward(ext, qkv(129), causal=True), [(2, 1, 4)]),
    "window": (lambda ext: forward(ext, qkv(), window_left=9), [(2, 1, 4)]),
    "alibi": (lambda ext: forward(ext, qkv(), alibi_slopes=SLOPES), [(2, 1, 4)]),
    "softcap": (lambda ext: forward(ext, qkv(), softcap=9.0), [(2, 1, 4)]),
    "dropout": (lambda ext: forward(ext, qkv(), p_dropout=0.2), [(2, 1, 4)]),
    "scores": (lambda ext: forward(ext, qkv(), p_dropout=0.2, return_softmax=True), [(2, 1, 4)]),
    "bf16": (lambda ext: forward(ext, qkv(dtype=BF16), causal=True), [(2, 1, 4)]),
    "d 40": (lambda ext: forward(ext, qkv(d=40)), [(2, 1, 4)]),
    "d 256": (lambda ext: forward(ext, qkv(d=256)), [(4, 1, 4)]),  # blocks of 64 rows
    "one query": (lambda ext: forward(ext, qkv(1, b=3), causal=True), [(1, 3, 2)]),  # a group's heads are its rows
    "packed": (lambda ext: varlen(ext), [(1, 2, 4)]),
    "packed causal": (lambda ext: varlen(ext, causal=True, seqused_k=ints(3, 4)), [(1, 2, 4)]),
    "cache": (lambda ext: kvcache(ext, seqlens_k=ints(5, 6)), [(1, 2, 4)]),
    "append": (lambda ext: kvcache(ext, **NEW, rotary_cos=COS, rotary_sin=COS), [(1, 2, 4)]),
    "pages": (lambda ext: kvcache(ext, **PAGES, block_table=PAGE_TABLE, seqlens_k=ints(5, 6)), [(1, 2, 4)]),
    # Splits are the second dimension; 2 * 4 * 3 rows by 8, for head dimension 128 by 4
    "splits": (lambda ext: kvcache(ext, num_splits=3), [(1, 3, 8), (3, 1, 1)]),
    "splits, d 128": (lambda ext: forward_cache_128(ext), [(1, 2, 8), (6, 1, 1)]),
}
PAGE_TABLE = torch.tensor([[0], [1]], dtype=torch.int32)


def forward_cache_128(ext: Extension) -> object:
    q, k_cache, v_cache = qkv(3, 300, b=2, d=128)
    return kvcache(ext, q=q, k_cache=k_cache, v_cache=v_cache, num_splits=2, causal=True)


OPTIONS = ("head_dim", "bf16", "dropout", "causal", "local", "alibi", "softcap", "return_softmax", "log_splits")


@pytest.mark.sdk
def test_entries_take_what_is_chosen_for_them(tmp_path: Path) -> None:
    """The host side, without device code: parameters pass where they belong, and in no entry with other options."""
    made = {}
    for name, (call, _) in CALLS.items():
        recorder = Recorder()
        call(Extension(recorder, 1, Philox()))
        made[name] = recorder
    kernels = sorted({recorder.what for recorder in made.values() if recorder.what}, key=str)
    library = host_side(kernels, tmp_path)
    launched = (ctypes.c_uint * 4).in_dll(library, "launched")

    def options(what: Instantiation | None) -> list[object]:
        return [getattr(what, option, False) for option in OPTIONS]

    for name, (_, grids) in CALLS.items():
        what, launches = made[name].what, made[name].launches
        addresses = [4096 * (n + 1) for n in range(len(made[name].buffers))]
        for launch, grid in zip(launches, grids, strict=True):
            assert library[launch.entry](ctypes.byref(pack(launch.parameters, addresses)), None) == 0, name
            assert tuple(launched) == (*grid, 128 if "combine" in launch.entry else 256), name
        for other in kernels:
            if options(other) != options(what):
                code = library[other.entry](ctypes.byref(pack(launches[0].parameters, addresses)), None)
                assert code == 1, f"{name}: {other}"  # hipErrorInvalidValue
    uneven = pack(made["dense"].launches[0].parameters, [4096] * 9)
    assert library[made["even"].launches[0].entry](ctypes.byref(uneven), None) == 1


def host_side(kernels: Sequence[Instantiation], folder: Path) -> ctypes.CDLL:
    sdk = find_sdk()
    (folder / "csrc/flash_attn/src").mkdir(parents=True)
    shutil.copy(STAND_IN, folder / "csrc/flash_attn/src")
    (folder / "entries.hip").write_text(entries_source(kernels) + NOTES_LAUNCHES)
    command = [
        str(sdk.clang),
        *sdk.host_flags(),
        "-O1",
        "-w",
        f"-I{folder}",
        f"-I{include_root()}",
        "-c",
        "entries.hip",
    ]
    subprocess.run([*command, "-c", "entries.hip"], cwd=folder, check=True)
    subprocess.run([str(sdk.clang), "-shared", "entries.o", "-o", "entries.so"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "entries.so"))
