"""FlashAttention-2's own forward kernels, translated, built for gfx942, run on the emulator with all checks on.

Needs the upstream sources (`hipport upstream sync`), the toolchain and PyTorch. A case compiles one instantiation when
it is not cached: half a minute of CPU. The bar is upstream's own rule: at most twice the error that a plain PyTorch
implementation makes in the same type, both against float64; where figures recorded on an NVIDIA H200 are at hand
(HIPPORT_GOLDENS or ../shared/goldens), theirs as well.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hipport.flash import FlashAttention

torch = pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")

pytestmark = [pytest.mark.corpus, pytest.mark.sdk]
ROOT = Path(__file__).parents[2]
UPSTREAM = ROOT / "upstream_cuda"
GOLDENS = Path(os.environ.get("HIPPORT_GOLDENS", ROOT.parent / "shared" / "goldens"))


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (UPSTREAM / "csrc/flash_attn").is_dir():
        pytest.skip("the upstream sources are not here: hipport upstream sync")
    out = tmp_path_factory.mktemp("flash") / "generated"
    command = [sys.executable, "-m", "hipport", "translate", str(UPSTREAM), "--out", str(out), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return out


@pytest.fixture(scope="session")
def flash(tree: Path) -> FlashAttention:
    return FlashAttention(tree, target="gfx942", checks="all", compute_units=1, seed=11)


def inputs(seed: int, b: int, sq: int, sk: int, h: int, hk: int, d: int, dtype: Any) -> tuple[Any, Any, Any]:
    generator = torch.Generator().manual_seed(seed)
    shapes = ((b, sq, h, d), (b, sk, hk, d), (b, sk, hk, d))
    q, k, v = (torch.randn(*shape, generator=generator).to(dtype) for shape in shapes)
    return q, k, v


def attention(q: Any, k: Any, v: Any, *, causal: bool = False, window: tuple[int, int] = (-1, -1)) -> Any:
    """Plain attention in the type of its inputs; masks are aligned to the bottom right."""
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q / math.sqrt(q.shape[-1]), k)
    row = torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
    column = torch.arange(k.shape[1])[None, :]
    left, right = window[0], 0 if causal else window[1]
    masked = torch.zeros(q.shape[1], k.shape[1], dtype=torch.bool)
    if left >= 0:
        masked |= column < row - left
    if right >= 0:
        masked |= column > row + right
    weights = torch.nan_to_num(scores.masked_fill(masked, -math.inf).softmax(-1), 0.0)
    return torch.einsum("bhqk,bkhd->bqhd", weights.to(v.dtype), v)


CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("ragged, grouped heads", {"sq": 200, "sk": 300, "h": 4, "hk": 2}, {}),
    ("causal, more keys than queries", {"sq": 113, "sk": 203}, {"causal": True}),
    ("causal bf16", {"sq": 200, "sk": 300, "dtype": torch.bfloat16}, {"causal": True}),
    ("one query, swapped groups", {"sq": 1, "sk": 300, "h": 4, "hk": 1}, {}),
    ("rows without any key", {"sq": 200, "sk": 64}, {"causal": True}),
    ("local window", {"sq": 200, "sk": 300}, {"window": (30, 10)}),
]


@pytest.mark.parametrize(("shape", "options"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_forward(flash: FlashAttention, shape: dict[str, Any], options: dict[str, Any]) -> None:
    given = {"b": 1, "h": 2, "hk": 2, "d": 64, "dtype": torch.float16} | shape
    q, k, v = inputs(3, **given)
    out = flash.interface.flash_attn_func(
        q, k, v, causal=options.get("causal", False), window_size=options.get("window", (-1, -1))
    )
    exact = attention(q.double(), k.double(), v.double(), **options)
    plain = (attention(q, k, v, **options).double() - exact).abs().max().item()
    assert (out.double() - exact).abs().max().item() <= 2 * plain + 1e-5


def philox_bytes(seed: int, subsequence: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Philox 4x32 with 7 rounds (Salmon et al., SC 2011): 16 bytes per (subsequence, offset), shape (..., 16)."""
    mask = np.uint64(0xFFFFFFFF)
    low, high = (lambda x: x & mask), (lambda x: x >> np.uint64(32))
    offset, subsequence = offset.astype(np.uint64), subsequence.astype(np.uint64)
    c = [low(offset), high(offset), low(subsequence), high(subsequence)]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    for _ in range(7):
        first, second = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [high(second) ^ c[1] ^ key[0], low(second), high(first) ^ c[3] ^ key[1], low(first)]
        key = [(key[0] + np.uint64(0x9E3779B9)) & mask, (key[1] + np.uint64(0xBB67AE85)) & mask]
    words = np.stack(c, -1).astype("<u4")
    return words.view(np.uint8).reshape(*words.shape[:-1], 16)


def kept(seed: int, offset: int, heads: int, rows: int, columns: int, threshold: int) -> np.ndarray:
    """Which scores upstream keeps: mma.sync layout of a 16 x 32 block over a 32-lane warp. (heads, rows, columns)"""
    head, row, column = np.ogrid[:heads, :rows, :columns]
    r, c = row % 16, column % 32
    lane = r % 8 * 4 + c % 8 // 2
    byte = c // 16 * 8 + c % 16 // 8 * 4 + r // 8 * 2 + c % 2
    block = (row // 16).astype(np.uint64) | (column // 32).astype(np.uint64) << np.uint64(32)
    shape = (heads, rows, columns)
    random = philox_bytes(seed, np.broadcast_to(block, shape), np.broadcast_to(offset + head * 32 + lane, shape))
    picked = np.take_along_axis(random, np.broadcast_to(byte, shape)[..., None], -1)[..., 0]
    return picked <= threshold


def test_dropout_drops_what_upstream_drops(flash: FlashAttention) -> None:
    q, k, v = inputs(5, 1, 96, 160, 2, 2, 64, torch.float16)
    q.zero_()  # every unnormalised score is 1: its sign tells whether it was dropped
    offset = flash.philox.offset
    _, _, dropped = flash.interface.flash_attn_func(q, k, v, dropout_p=0.3, return_attn_probs=True)
    keep = kept(flash.philox.seed, offset, 2, 96, 160, math.floor(float(np.float32(1) - np.float32(0.3)) * 255.0))
    signs = dropped[0, :, :96, :160].numpy()
    assert set(np.unique(np.abs(signs))) == {1.0}
    assert np.array_equal(signs > 0, keep)


def golden_cases() -> list[Any]:
    path = GOLDENS / "fa2_h200.json"
    if not path.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason="no figures recorded on an H200 at hand"))]
    return [pytest.param(case, id=case["case"]) for case in json.loads(path.read_text()) if "o" in case]


@pytest.mark.parametrize("case", golden_cases())
def test_as_good_as_an_h200(flash: FlashAttention, case: dict[str, Any]) -> None:
    """The bars that the recorded figures come with: 1.5 times the largest error, 1.1 times the relative one."""
    dtype = getattr(torch, case["dtype"])
    generator = torch.Generator().manual_seed(case["seed"])
    b, sq, sk, h, hk, d = (case[name] for name in ("b", "sq", "sk", "h", "hk", "d"))
    shapes = ((b, sq, h, d), (b, sk, hk, d), (b, sk, hk, d), (b, sq, h, d))
    q, k, v, do = (torch.randn(*shape, generator=generator).to(dtype) for shape in shapes)
    digest = hashlib.sha256()
    for tensor in (q, k, v, do):
        digest.update(tensor.view(torch.int16).numpy().tobytes())
    assert digest.hexdigest() == case["inputs_sha256"], "the inputs are not those of the recording"
    slopes = torch.tensor([2.0 ** -(head + 1) for head in range(h)]) if case["alibi"] else None
    out, lse, _ = flash.interface.flash_attn_func(
        q, k, v, causal=case["causal"], window_size=tuple(case["window"]), softcap=case["softcap"],
        alibi_slopes=slopes, return_attn_probs=True,
    )  # fmt: skip
    exact, exact_lse = reference(q, k, v, case, slopes)
    error = out.double() - exact
    largest = max(float(x.abs().max()) for x in (q, k, v))
    assert float(error.abs().max()) <= max(1.5 * case["o"]["max"], 4 * 2**-23 * largest**2)
    if float(exact.norm()) > 1e-6:
        assert float(error.norm() / exact.norm()) <= 1.1 * case["o"]["rel_fro"] or float(error.abs().max()) == 0
    finite = torch.isfinite(exact_lse)
    assert float((lse.double() - exact_lse)[finite].abs().max()) <= max(2 * case["lse_max"], 4e-6)


def reference(q: Any, k: Any, v: Any, case: dict[str, Any], slopes: Any) -> tuple[Any, Any]:
    """float64 attention and log-sum-exp with softcap, ALiBi and the causal mask."""
    q, k, v = q.double(), k.double(), v.double()
    group = q.shape[2] // k.shape[2]
    k, v = k.repeat_interleave(group, 2), v.repeat_interleave(group, 2)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    if case["softcap"]:
        scores = torch.tanh(scores / case["softcap"]) * case["softcap"]
    row = torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1]
    column = torch.arange(k.shape[1])[None, :]
    if slopes is not None:
        scores = scores - slopes.double().view(1, -1, 1, 1) * (row - column).abs()
    if case["causal"]:
        scores = scores.masked_fill(column > row, -math.inf)
    weights = torch.nan_to_num(scores.softmax(-1), 0.0)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v), scores.logsumexp(-1)
