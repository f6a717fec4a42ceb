"""Stands for upstream's compiled extension ``flash_attn_2_cuda``: the same calls, on tensors of the CPU or a ROCm GPU.

Each function decides what upstream's ``flash_api.cpp`` (2.8.3) decides: shapes, defaults, the group swap for decoding,
the number of splits, the instantiation. Shapes are upstream's: q ``(batch, seqlen_q, heads, head_dim)``, k and v
``(batch, seqlen_k, heads_k, head_dim)`` in fp16 or bf16; packed forms ``(total, heads, head_dim)``; the log-sum-exp is
float32 ``(batch, heads, seqlen_q)`` or ``(heads, total_q)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from hipport.core import HipportError
from hipport.flash.kernels import Forward, Instantiation, SplitForward, padded_head_dim
from hipport.flash.launch import Array, Launch, Pointer
from hipport.flash.tiles import EVERY_TARGET, row_for

Tensor = torch.Tensor
Runner = Callable[[Instantiation, Sequence[tuple[Array, bool]], Sequence[Launch]], list[Array]]
SPLIT_BLOCK_M = 64  # of every split-KV kernel (run_mha_fwd_splitkv_dispatch)
MAX_SPLITS = 128


@dataclass
class Philox:
    """State of the random numbers: every call with dropout takes ``batch * heads * 32`` of them."""

    seed: int = 0
    offset: int = 0

    def take(self, count: int) -> tuple[int, int]:
        """Seed and offset for one call; moves on by ``count`` rounded up to 4 (PyTorch's generator does so)."""
        now = self.offset
        self.offset += -(-count // 4) * 4
        return self.seed, now


def on_gpu(tensor: Tensor) -> bool:
    """Whether a tensor is in an AMD GPU's memory; PyTorch for ROCm calls its devices ``cuda`` as well."""
    return tensor.device.type == "cuda" and torch.version.hip is not None


@dataclass
class _Call:
    """Memory and parameters of one call while it is put together.

    Attributes:
        device: where all its tensors are.
        in_place: the kernels run there, so that an address is all they need.
        buffers: what is copied to where they run, and whether it is wanted back.
        tensors: for each buffer, where its results go.
        kept: what the kernels use in place.
        parameters: of the launches.
    """

    device: torch.device
    in_place: bool
    buffers: list[tuple[Array, bool]] = field(default_factory=list)
    tensors: list[Tensor | None] = field(default_factory=list)
    kept: list[Tensor] = field(default_factory=list)
    parameters: dict[str, int | float | Pointer] = field(default_factory=dict)

    def give(self, tensor: Tensor, *, wanted: bool = False, strided: bool = False) -> Pointer | int:
        """Address of a tensor for the kernels.

        Args:
            tensor: they see it contiguous,
            wanted: and it receives what they leave there.
            strided: its strides are parameters; it comes from `placed`.
        """
        _need(tensor.device == self.device, f"all tensors must be on {self.device}, one is on {tensor.device}")
        source = tensor.detach() if strided else tensor.detach().contiguous()
        if self.in_place:
            self.kept.append(source)
            return source.data_ptr()
        source = source.cpu()
        array = (source.view(torch.int16) if source.dtype is torch.bfloat16 else source).numpy()
        self.buffers.append((array, wanted))
        self.tensors.append(tensor if wanted else None)
        return Pointer(len(self.buffers) - 1)

    def placed(self, tensor: Tensor, *, wanted: bool) -> Tensor:
        """The tensor itself or, where it is copied anyway, one whose strides are those of the copy."""
        if self.in_place or tensor.is_contiguous():
            return tensor
        _need(not wanted, "a KV cache that is appended to must be contiguous")
        return tensor.contiguous()

    def receive(self, results: Sequence[Array]) -> None:
        wanted = [tensor for tensor in self.tensors if tensor is not None]
        for tensor, array in zip(wanted, results, strict=True):
            data = torch.from_numpy(array)
            tensor.copy_((data.view(torch.bfloat16) if tensor.dtype is torch.bfloat16 else data).view(tensor.shape))

    @contextmanager
    def stream(self) -> Iterator[int]:
        """The stream to launch on: PyTorch's current one of the tensors' device, or the null stream."""
        if self.in_place and self.device.type == "cuda":
            with torch.cuda.device(self.device):
                yield torch.cuda.current_stream().cuda_stream
        else:
            yield 0


class Extension:
    """The functions that upstream's Python calls.

    Args:
        run: builds and runs an instantiation on buffers.
        compute_units: what upstream's heuristic for the number of splits believes the device has.
        philox: where dropout's random numbers come from.
        target: whose tiles the kernels have (LLVM processor name).
        in_place: kernels run on this machine's GPU and use tensors that are there as they are.
    """

    def __init__(
        self, run: Runner, compute_units: int, philox: Philox, target: str = EVERY_TARGET, *, in_place: bool = False
    ) -> None:
        self.run = run
        self.compute_units = compute_units
        self.philox = philox
        self.target = target
        self.in_place = in_place

    def fwd(
        self, q: Tensor, k: Tensor, v: Tensor, out: Tensor | None, alibi_slopes: Tensor | None, p_dropout: float,
        softmax_scale: float, causal: bool, window_left: int, window_right: int, softcap: float,
        return_softmax: bool, generator: Any = None,
    ) -> list[Tensor]:  # fmt: skip
        """``mha_fwd``: returns out, log-sum-exp, the dropped scores (or empty), the random state."""
        del generator
        _check(q, k, v, out, n_dims=4, k_dims=4)
        batch, seqlen_q, heads, head_dim = q.shape
        seqlen_k, heads_k = k.shape[1:3]
        _shaped(batch, seqlen_k, heads_k, head_dim, k=k, v=v)
        _need(batch > 0, "batch size must be positive")
        _need(head_dim % 8 == 0, "query, key, value, and out_ must have a head_size that is a multiple of 8")
        _need(heads % heads_k == 0, "Number of heads in key/value must divide number of heads in query")
        _need(not (softcap > 0 and p_dropout > 0), "Softcapping does not support dropout for now")
        window_left, window_right, causal = _windows(
            window_left, window_right, causal, seqlen_q, seqlen_k, alibi_slopes
        )
        swapped = _swaps(seqlen_q, heads, heads_k, window_left, window_right, p_dropout, alibi_slopes)
        query = _groups_as_rows(q, heads_k) if swapped else q
        seqlen_q, heads = query.shape[1:3]
        result = torch.empty_like(query, memory_format=torch.contiguous_format)
        lse = torch.empty(batch, heads, seqlen_q, dtype=torch.float32, device=q.device)
        _need(not (return_softmax and p_dropout <= 0), "return_softmax is only supported when p_dropout > 0.0")
        scores = torch.zeros(0, dtype=q.dtype, device=q.device)
        if return_softmax:
            sizes = batch, heads, _up(seqlen_q, 128), _up(seqlen_k, 128)
            scores = torch.zeros(sizes, dtype=q.dtype, device=q.device)
        state = torch.zeros(2, dtype=torch.int64, device=q.device)
        if seqlen_k == 0:
            result.zero_()
            lse.fill_(math.inf)
        else:
            call = self._call(q)
            self._shape(call, query, k, v, result, lse, batch, seqlen_q, seqlen_k, heads, heads_k, head_dim)
            self._scales(call, softmax_scale, softcap, p_dropout, window_left, window_right, seqlen_k)
            self._random(call, p_dropout, batch * heads * 32, state)
            if return_softmax:
                call.parameters["p_ptr"] = call.give(scores, wanted=True)
            self._alibi(call, alibi_slopes)
            self._launch(
                call, batch=batch, seqlen_q=seqlen_q, seqlen_k=seqlen_k, heads=heads, head_dim=head_dim, dtype=q.dtype,
                packed=False, p_dropout=p_dropout, return_softmax=return_softmax, softcap=softcap,
                alibi=alibi_slopes is not None, num_splits=0, force_split=False, append_kv=False,
            )  # fmt: skip
        return [*_handed_over(result, lse, q, out, swapped), scores, state]

    def varlen_fwd(
        self, q: Tensor, k: Tensor, v: Tensor, out: Tensor | None, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor,
        seqused_k: Tensor | None, leftpad_k: Tensor | None, block_table: Tensor | None, alibi_slopes: Tensor | None,
        max_seqlen_q: int, max_seqlen_k: int, p_dropout: float, softmax_scale: float, zero_tensors: bool, causal: bool,
        window_left: int, window_right: int, softcap: float, return_softmax: bool, generator: Any = None,
    ) -> list[Tensor]:  # fmt: skip
        """``mha_varlen_fwd``: sequences packed one behind the other, their starts in ``cu_seqlens``."""
        del generator
        paged = block_table is not None
        _check(q, k, v, out, n_dims=3, k_dims=3 + paged)
        batch = cu_seqlens_q.numel() - 1
        heads, head_dim = q.shape[1:]
        heads_k = k.shape[-2]
        _shaped(*k.shape[:-1], head_dim, k=k, v=v)
        _int32(batch + 1, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k)
        _int32(batch, seqused_k=seqused_k, leftpad_k=leftpad_k)
        _need(batch > 0, "batch size must be positive")
        _need(not (return_softmax and p_dropout <= 0), "return_softmax is only supported when p_dropout > 0.0")
        _need(not paged or k.shape[1] % 256 == 0, "Paged KV cache block size must be divisible by 256")
        _need(head_dim % 8 == 0, "query, key, value, and out_ must have a head_size that is a multiple of 8")
        _need(heads % heads_k == 0, "Number of heads in key/value must divide number of heads in query")
        _need(not (softcap > 0 and p_dropout > 0), "Softcapping does not support dropout for now")
        if max_seqlen_q == 1 and alibi_slopes is None:
            causal = False
        if causal:
            window_right = 0
        swapped = _swaps(max_seqlen_q, heads, heads_k, window_left, window_right, p_dropout, alibi_slopes)
        query = q
        if swapped:
            query = _groups_as_rows(q, heads_k)
            max_seqlen_q, heads = query.shape[1:3]
            query = query.flatten(0, 1)
        total_q = query.shape[0]
        window_left = -1 if window_left >= max_seqlen_k else window_left
        window_right = -1 if window_right >= max_seqlen_k else window_right
        result = torch.empty_like(query, memory_format=torch.contiguous_format)
        lse = torch.empty(heads, total_q, dtype=torch.float32, device=q.device)
        scores = torch.zeros(0, dtype=q.dtype, device=q.device)
        if return_softmax:
            sizes = batch, heads, _up(max_seqlen_q, 128), _up(max_seqlen_k, 128)
            scores = torch.zeros(sizes, dtype=q.dtype, device=q.device)
        if zero_tensors:
            result.zero_()
            lse.fill_(-math.inf)
        state = torch.zeros(2, dtype=torch.int64, device=q.device)
        if max_seqlen_k == 0:
            result.zero_()
            lse.fill_(math.inf)
        else:
            call = self._call(q)
            self._shape(call, query, k, v, result, lse, batch, max_seqlen_q, max_seqlen_k, heads, heads_k, head_dim)
            p = call.parameters
            for name in ("q_batch_stride", "o_batch_stride"):
                p[name] = query.stride(0) * max_seqlen_q if swapped else 0
            if not paged:
                p["k_batch_stride"] = p["v_batch_stride"] = 0
            if not swapped:
                p["cu_seqlens_q"] = call.give(cu_seqlens_q)
            p["cu_seqlens_k"] = call.give(cu_seqlens_k)
            p |= {"unpadded_lse": 1, "seqlenq_ngroups_swapped": int(swapped), "total_q": total_q}
            if seqused_k is not None:
                p["seqused_k"] = call.give(seqused_k)
            if leftpad_k is not None:
                _need(not paged, "We don't support Paged KV and leftpad_k running at the same time yet")
                p["leftpad_k"] = call.give(leftpad_k)
            self._paging(call, block_table, k)
            self._scales(call, softmax_scale, softcap, p_dropout, window_left, window_right, max_seqlen_k)
            self._random(call, p_dropout, batch * heads * 32, state)
            if return_softmax:
                p["p_ptr"] = call.give(scores, wanted=True)
            self._alibi(call, alibi_slopes)
            self._launch(
                call, batch=batch, seqlen_q=max_seqlen_q, seqlen_k=max_seqlen_k, heads=heads, head_dim=head_dim,
                dtype=q.dtype, packed=True, p_dropout=p_dropout, return_softmax=return_softmax, softcap=softcap,
                alibi=alibi_slopes is not None, num_splits=0 if swapped else 1, force_split=paged, append_kv=False,
            )  # fmt: skip
        return [*_handed_over(result, lse, q, out, swapped), scores, state]

    def fwd_kvcache(
        self, q: Tensor, k_cache: Tensor, v_cache: Tensor, k: Tensor | None, v: Tensor | None, seqlens_k: Tensor | None,
        rotary_cos: Tensor | None, rotary_sin: Tensor | None, cache_batch_idx: Tensor | None, leftpad_k: Tensor | None,
        block_table: Tensor | None, alibi_slopes: Tensor | None, out: Tensor | None, softmax_scale: float,
        causal: bool, window_left: int, window_right: int, softcap: float, rotary_interleaved: bool, num_splits: int,
    ) -> list[Tensor]:  # fmt: skip
        """``mha_fwd_kvcache``: attention over a cache, to which ``k`` and ``v`` are appended in place first."""
        window_left, window_right = int(window_left), int(window_right)  # tensors of one element are taken, too
        _check(q, k_cache, v_cache, out, n_dims=4, k_dims=4)
        paged = block_table is not None
        batch, seqlen_q, heads, head_dim = q.shape
        heads_k = k_cache.shape[2]
        _shaped(*k_cache.shape[:-1], head_dim, k_cache=k_cache, v_cache=v_cache)
        _int32(batch, seqlens_k=seqlens_k, leftpad_k=leftpad_k)
        _need(batch > 0, "batch size must be positive")
        _need(
            paged or cache_batch_idx is not None or k_cache.shape[0] >= batch,
            "the KV cache must have a row for each sequence of the batch",
        )
        _need(heads % heads_k == 0, "Number of heads in key/value must divide number of heads in query")
        if head_dim % 8:

            def pad(x: Tensor) -> Tensor:
                return torch.nn.functional.pad(x, (0, -head_dim % 8))

            caches = pad(k_cache), pad(v_cache)
            result, lse = self.fwd_kvcache(
                pad(q), *caches, None if k is None else pad(k), None if v is None else pad(v), seqlens_k, rotary_cos,
                rotary_sin, cache_batch_idx, leftpad_k, block_table, alibi_slopes, None, softmax_scale, causal,
                window_left, window_right, softcap, rotary_interleaved, num_splits,
            )  # fmt: skip
            if k is not None:
                for cache, padded in zip((k_cache, v_cache), caches, strict=True):
                    cache.copy_(padded[..., :head_dim])
            return list(_handed_over(result[..., :head_dim], lse, q, out, swapped=False))
        _need(not (paged and cache_batch_idx is not None), "Paged KVcache does not support cache_batch_idx")
        _need(not paged or k_cache.shape[1] % 256 == 0, "Paged KV cache block size must be divisible by 256")
        seqlen_k = block_table.shape[1] * k_cache.shape[1] if block_table is not None else k_cache.shape[1]
        if seqlen_q == 1 and alibi_slopes is None:
            causal = False
        if causal:
            window_right = 0
        swapped = _swaps(seqlen_q, heads, heads_k, window_left, window_right, 0.0, alibi_slopes)
        query = _groups_as_rows(q, heads_k) if swapped else q
        seqlen_q, heads = query.shape[1:3]
        window_left = -1 if window_left >= seqlen_k else window_left
        window_right = -1 if window_right >= seqlen_k else window_right
        result = torch.empty_like(query, memory_format=torch.contiguous_format)
        lse = torch.empty(batch, heads, seqlen_q, dtype=torch.float32, device=q.device)
        call = self._call(q)
        self._shape(
            call, query, k_cache, v_cache, result, lse, batch, seqlen_q, seqlen_k, heads, heads_k, head_dim,
            cache=k is not None,
        )  # fmt: skip
        p = call.parameters
        self._scales(call, softmax_scale, softcap, 0.0, window_left, window_right, seqlen_k)
        if k is not None:
            _need(v is not None, "If key is supplied, value must also be passed in")
            _need(seqlens_k is not None, "If key is supplied, seqlens_k must also be passed in")
            _need(seqlen_q <= seqlen_k, "If key is supplied, it must have seqlen <= the seqlen of the KV cache")
            for name, new in (("k", k), ("v", v)):
                assert new is not None  # checked above
                _need(new.dtype == q.dtype, f"new {name} must have the same dtype as query")
                _shaped(batch, k.shape[1], heads_k, head_dim, **{f"new {name}": new})
                rows = new.contiguous()
                p[f"{name}new_ptr"] = call.give(rows)
                for part, axis in (("batch", 0), ("row", -3), ("head", -2)):
                    p[f"{name}new_{part}_stride"] = rows.stride(axis)
            p["seqlen_knew"] = k.shape[1]
        if seqlens_k is not None:
            p["cu_seqlens_k"] = call.give(seqlens_k)
        p["is_seqlens_k_cumulative"] = int(seqlens_k is None)
        if leftpad_k is not None:
            _need(not paged, "We don't support Paged KV and leftpad_k running at the same time yet")
            p["leftpad_k"] = call.give(leftpad_k)
        if rotary_cos is not None:
            _need(rotary_sin is not None, "If rotary cos is provided, rotary sin must also be provided")
            _need(k is not None, "If rotary cos/sin are provided, new key / value must also be provided")
            assert rotary_sin is not None  # checked above
            half = rotary_cos.shape[-1]
            _need(2 * half <= head_dim, "rotary_dim must be <= headdim")
            _need(2 * half % 16 == 0, "Only rotary dimensions divisible by 16 are currently supported")
            _need(rotary_cos.shape[0] >= seqlen_k, "cos/sin seqlen must be at least the seqlen of KV cache")
            _shaped(rotary_cos.shape[0], half, rotary_cos=rotary_cos, rotary_sin=rotary_sin)
            for table in (rotary_cos, rotary_sin):
                _need(table.dtype == q.dtype, "rotary_cos must have the same dtype as query")
            p["rotary_dim"] = 2 * half
            p["rotary_cos_ptr"] = call.give(rotary_cos)
            p["rotary_sin_ptr"] = call.give(rotary_sin)
            p["is_rotary_interleaved"] = int(rotary_interleaved)
        if cache_batch_idx is not None:
            _int32(batch, cache_batch_idx=cache_batch_idx)
            p["cache_batch_idx"] = call.give(cache_batch_idx)
        self._paging(call, block_table, k_cache)
        self._alibi(call, alibi_slopes)
        self._launch(
            call, batch=batch, seqlen_q=seqlen_q, seqlen_k=seqlen_k, heads=heads, head_dim=head_dim, dtype=q.dtype,
            packed=False, p_dropout=0.0, return_softmax=False, softcap=softcap, alibi=alibi_slopes is not None,
            num_splits=num_splits, force_split=k is not None or cache_batch_idx is not None or paged,
            append_kv=k is not None,
        )  # fmt: skip
        return list(_handed_over(result, lse, q, out, swapped))

    def bwd(self, *_arguments: object, **_named: object) -> list[Tensor]:
        """Not ported yet.

        Raises:
            HipportError: always.
        """
        raise HipportError("the backward kernels are not ported yet", "use the forward functions")

    varlen_bwd = bwd

    def _call(self, q: Tensor) -> _Call:
        return _Call(q.device, self.in_place and on_gpu(q))

    def _shape(
        self, call: _Call, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, batch: int, seqlen_q: int,
        seqlen_k: int, heads: int, heads_k: int, head_dim: int, *, cache: bool = False,
    ) -> None:  # fmt: skip
        p = call.parameters
        for name, tensor, wanted in (("q", q, False), ("k", k, cache), ("v", v, cache), ("o", out, True)):
            plain = call.placed(tensor, wanted=wanted)
            p[f"{name}_ptr"] = call.give(plain, wanted=wanted, strided=True)
            p[f"{name}_row_stride"] = plain.stride(-3)
            p[f"{name}_head_stride"] = plain.stride(-2)
            p[f"{name}_batch_stride"] = plain.stride(0)
        p["softmax_lse_ptr"] = call.give(lse, wanted=True)
        p |= {
            "b": batch, "h": heads, "h_k": heads_k, "h_h_k_ratio": heads // heads_k, "seqlen_q": seqlen_q,
            "seqlen_k": seqlen_k, "seqlen_q_rounded": _up(seqlen_q, 128), "seqlen_k_rounded": _up(seqlen_k, 128),
            "d": head_dim, "d_rounded": _up(head_dim, 32 if head_dim <= 128 else 64),
            "is_bf16": int(q.dtype is torch.bfloat16), "is_seqlens_k_cumulative": 1, "page_block_size": 1,
        }  # fmt: skip

    @staticmethod
    def _scales(
        call: _Call, scale: float, softcap: float, p_dropout: float, left: int, right: int, seqlen_k: int
    ) -> None:
        p = call.parameters
        _need(0.0 <= p_dropout < 1.0, "p_dropout must be at least 0 and below 1")
        inner = softcap if softcap > 0 else scale
        p["softcap"] = scale / softcap if softcap > 0 else 0.0
        p["scale_softmax"] = inner
        p["scale_softmax_log2"] = inner * math.log2(math.e)
        keep = float(np.float32(1) - np.float32(p_dropout))
        p["p_dropout"] = keep
        p["p_dropout_in_uint8_t"] = math.floor(keep * 255.0)
        p["rp_dropout"] = 1.0 / keep
        p["scale_softmax_rp_dropout"] = inner / keep
        p["is_causal"] = int(left < 0 and right == 0)
        if left < 0 <= right:
            left = seqlen_k
        if right < 0 <= left:
            right = seqlen_k
        p["window_size_left"] = left
        p["window_size_right"] = right

    def _random(self, call: _Call, p_dropout: float, count: int, state: Tensor) -> None:
        p = call.parameters
        p["rng_state"] = call.give(state, wanted=True)
        if p_dropout > 0:
            p["philox_seed"], p["philox_offset"] = self.philox.take(count)

    @staticmethod
    def _alibi(call: _Call, slopes: Tensor | None) -> None:
        if slopes is not None:
            _need(slopes.dtype is torch.float32, "ALiBi slopes must have dtype fp32")
            batch, heads = call.parameters["b"], call.parameters["h"]
            fits = tuple(slopes.shape) in ((heads,), (batch, heads))
            _need(fits, f"ALiBi slopes must have shape ({heads},) or ({batch}, {heads})")
            slopes = slopes.contiguous()
            call.parameters["alibi_slopes_ptr"] = call.give(slopes)
            call.parameters["alibi_slopes_batch_stride"] = slopes.stride(0) if slopes.dim() == 2 else 0

    @staticmethod
    def _paging(call: _Call, table: Tensor | None, k: Tensor) -> None:
        if table is not None:
            _int32(call.parameters["b"], table.shape[-1], block_table=table)
            call.parameters["block_table"] = call.give(table)
            call.parameters["block_table_batch_stride"] = table.shape[1]
            call.parameters["page_block_size"] = k.shape[1]

    def _launch(
        self, call: _Call, *, batch: int, seqlen_q: int, seqlen_k: int, heads: int, head_dim: int, dtype: torch.dtype,
        packed: bool, p_dropout: float, return_softmax: bool, softcap: float, alibi: bool, num_splits: int,
        force_split: bool, append_kv: bool,
    ) -> None:  # fmt: skip
        """What ``run_mha_fwd`` and the launch templates decide at run time."""
        # Upstream launches on an empty grid then, which CUDA refuses without a word about the queries.
        _need(seqlen_q > 0, "the length of the queries must be positive")
        p = call.parameters
        padded = padded_head_dim(head_dim)
        bf16 = dtype is torch.bfloat16
        causal = bool(p["is_causal"])
        window = (p["window_size_left"], p["window_size_right"])
        local = not causal and any(isinstance(side, int) and side >= 0 for side in window)
        even_k = head_dim == padded
        lengths_given = packed and not p.get("seqlenq_ngroups_swapped")
        tiles = row_for(padded, self.target)
        block_n = tiles.split_block_n
        if p_dropout == 0 and num_splits < 1:
            blocks_m = -(-seqlen_q // SPLIT_BLOCK_M)
            num_splits = splits_heuristic(
                batch * heads * blocks_m, self.compute_units * 2, -(-seqlen_k // block_n), MAX_SPLITS
            )
        _need(num_splits <= MAX_SPLITS, "num_splits > 128 not supported")
        p["num_splits"] = num_splits
        if num_splits > 1 or force_split:
            splits = num_splits > 1
            even_mn = (
                "cu_seqlens_k" not in p
                and not lengths_given
                and seqlen_k % block_n == 0
                and seqlen_q % SPLIT_BLOCK_M == 0
            )
            if splits:
                rounded = _up(head_dim, 32 if head_dim <= 128 else 64)
                lse = torch.zeros(num_splits, batch, heads, seqlen_q, device=call.device)
                accumulated = torch.zeros(num_splits, batch, heads, seqlen_q, rounded, device=call.device)
                p["softmax_lseaccum_ptr"] = call.give(lse)
                p["oaccum_ptr"] = call.give(accumulated)
            what: Instantiation = SplitForward(
                padded, bf16, causal, local, alibi,
                even_mn and not append_kv and even_k and not local and not alibi and padded <= 128,
                even_k and not alibi, softcap > 0, append_kv, max(1, (num_splits - 1).bit_length()) if splits else 0,
            )  # fmt: skip
        else:
            tile = tiles.forward
            even_mn = "cu_seqlens_k" not in p and seqlen_k % tile.block_n == 0 and seqlen_q % tile.block_m == 0
            dropout = p_dropout > 0
            what = Forward(
                padded, bf16, dropout and softcap <= 0, causal, local, alibi,
                even_mn and even_k and not local and not alibi and not return_softmax and padded <= 128,
                even_k and not return_softmax and not alibi, softcap > 0, return_softmax and dropout and softcap <= 0,
            )  # fmt: skip
        with call.stream() as stream:
            launches = [Launch(entry, p, stream) for entry in (what.entry, what.combine_entry) if entry]
            call.receive(self.run(what, call.buffers, launches))


def splits_heuristic(blocks: int, compute_units: int, n_blocks: int, max_splits: int) -> int:
    """Upstream's ``num_splits_heuristic``: the fewest splits that fill the device to 85 % of the best filling."""
    if blocks >= 0.8 * compute_units:
        return 1
    fill: dict[int, float] = {}
    for splits in range(1, min(max_splits, compute_units, n_blocks) + 1):
        if splits == 1 or -(-n_blocks // splits) != -(-n_blocks // (splits - 1)):
            waves = blocks * splits / compute_units
            fill[splits] = waves / math.ceil(waves)
    best = max(fill.values(), default=0.0)
    return next((splits for splits, value in fill.items() if value >= 0.85 * best), 1)


def _groups_as_rows(q: Tensor, heads_k: int) -> Tensor:
    """``(batch, [1,] heads, head_dim)`` to ``(batch, group, heads_k, head_dim)``."""
    return q.reshape(q.shape[0], heads_k, -1, q.shape[-1]).transpose(1, 2)


def _handed_over(result: Tensor, lse: Tensor, q: Tensor, out: Tensor | None, swapped: bool) -> tuple[Tensor, Tensor]:
    """Results as the caller sees them: shaped like ``q``, in ``out`` where it was given."""
    if swapped:
        heads_k = result.shape[-2]
        rows = result.reshape(q.shape[0], -1, heads_k, q.shape[-1])
        result = rows.transpose(1, 2).reshape(q.shape)
        lse = lse.reshape(-1, q.shape[0]) if q.dim() == 3 else lse.reshape(q.shape[0], -1, 1)
    if out is None:
        return result, lse
    out.copy_(result)
    return out, lse


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple


def _need(condition: bool, message: str) -> None:
    # Upstream's TORCH_CHECK raises RuntimeError with this text; tests and users catch that.
    if not condition:
        raise RuntimeError(message)


def _shaped(*sizes: int | float | Pointer, **tensors: Tensor) -> None:
    for name, tensor in tensors.items():
        _need(tuple(tensor.shape) == sizes, f"{name} must have shape {sizes}, not {tuple(tensor.shape)}")


def _int32(*sizes: int | float | Pointer, **tensors: Tensor | None) -> None:
    """Kernels read these as 32-bit integers whatever they are."""
    for name, tensor in tensors.items():
        if tensor is not None:
            _need(tensor.dtype is torch.int32, f"{name} must have dtype int32")
            _shaped(*sizes, **{name: tensor})


def _check(q: Tensor, k: Tensor, v: Tensor, out: Tensor | None, *, n_dims: int, k_dims: int) -> None:
    _need(q.dim() == n_dims, f"query must have {n_dims} dimensions")
    _need(k.dim() == k_dims, f"key must have {k_dims} dimensions")
    _need(q.dtype in (torch.float16, torch.bfloat16), "FlashAttention only support fp16 and bf16 data type")
    _need(k.dtype == q.dtype, "query and key must have the same dtype")
    _need(v.dtype == q.dtype, "query and value must have the same dtype")
    _need(
        q.shape[-1] > 0 and q.shape[-2] > 0 and k.shape[-2] > 0, "head dimension and numbers of heads must be positive"
    )
    _need(q.shape[-1] <= 256, "FlashAttention forward only supports head dimension at most 256")
    _need(all(t.stride(-1) == 1 for t in (q, k, v)), "Input tensor must have contiguous last dimension")
    if out is not None:
        _need(out.dtype == q.dtype, "Output must have the same dtype as inputs")
        _shaped(*q.shape, out=out)


def _windows(
    left: int, right: int, causal: bool, seqlen_q: int, seqlen_k: int, slopes: Tensor | None
) -> tuple[int, int, bool]:
    left = -1 if left >= seqlen_k else left
    right = -1 if right >= seqlen_k else right
    if seqlen_q == 1 and slopes is None:
        causal = False
    return left, 0 if causal else right, causal


def _swaps(
    seqlen_q: int, heads: int, heads_k: int, left: int, right: int, p_dropout: float, slopes: Tensor | None
) -> bool:
    """Whether the query heads of a group take the place of query rows (one query, grouped heads)."""
    return seqlen_q == 1 and heads > heads_k and left < 0 and right < 0 and p_dropout == 0 and slopes is None
