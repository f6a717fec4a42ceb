"""Upstream's own forward tests, with upstream's tolerances, on the ported kernels: every option at small sizes.

A subset of upstream's parametrisation; `upstream_tests` says what is different. A kernel that is not cached costs half
a minute of CPU.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hipport.flash import FlashAttention

torch = pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")
pytest.importorskip("einops", reason="upstream's tests use einops")

from upstream_tests import load  # noqa: E402 - after the skips

pytestmark = [pytest.mark.corpus, pytest.mark.sdk]

DENSE: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal gqa": {"causal": True, "mha_type": "gqa"},
    "local mqa": {"local": True, "mha_type": "mqa"},
    "alibi": {"alibi": True},
    "alibi causal": {"alibi": True, "causal": True},
    "alibi local": {"alibi": True, "local": True},
    "softcap": {"softcap": 50.0},
    "softcap causal": {"softcap": 50.0, "causal": True},
    "softcap local": {"softcap": 50.0, "local": True},
    "dropout": {"dropout_p": 0.17},
    "dropout causal": {"dropout_p": 0.17, "causal": True},
    "kvpacked": {"kvpacked": True},
    "kvpacked gqa deterministic": {"kvpacked": True, "mha_type": "gqa", "deterministic": True},
    "bf16": {"dtype": torch.bfloat16},
    "bf16 causal": {"dtype": torch.bfloat16, "causal": True},
    **{f"d {d}": {"d": d} for d in (32, 40, 59, 80, 96, 111, 128, 160, 192, 224, 256)},
}
VARLEN = [
    "plain", "causal gqa", "local mqa", "alibi", "softcap", "dropout", "kvpacked", "kvpacked gqa deterministic", "bf16",
    "d 59", "d 128",
]  # fmt: skip
PACKED: dict[str, dict[str, Any]] = {
    "plain": {},
    "dropout": {"dropout_p": 0.17},
    "causal": {"causal": True},
    "local": {"local": True},
    "alibi": {"alibi": True},
    "bf16 deterministic": {"dtype": torch.bfloat16, "deterministic": True},
}
CACHE: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"causal": True},
    "mqa decode": {"seqlen_q": 1, "seqlen_k": 339, "mha_type": "mqa"},
    "gqa decode append": {"seqlen_q": 1, "seqlen_k": 339, "mha_type": "gqa", "new_kv": True},
    "append": {"new_kv": True},
    "append causal gqa": {"new_kv": True, "causal": True, "mha_type": "gqa"},
    "append rotary": {"new_kv": True, "rotary_fraction": 1.0, "rotary_interleaved": True, "causal": True},
    "append rotary halves": {"new_kv": True, "rotary_fraction": 0.5, "mha_type": "gqa"},
    "append rotary interleaved half": {"new_kv": True, "rotary_fraction": 0.5, "rotary_interleaved": True},
    "append rotary local": {"new_kv": True, "rotary_fraction": 1.0, "local": True},
    "append fewer than queries": {"new_kv": True, "seqlen_new_eq_seqlen_q": False},
    "paged": {"paged_kv_block_size": 256},
    "paged append": {"paged_kv_block_size": 256, "new_kv": True},
    "paged append rotary causal": {
        "paged_kv_block_size": 256, "new_kv": True, "rotary_fraction": 1.0, "causal": True, "mha_type": "mqa",
    },
    "left padding": {"has_leftpad": True},
    "left padding append": {"has_leftpad": True, "new_kv": True},
    "batch index": {"has_batch_idx": True},
    "batch index append": {"has_batch_idx": True, "new_kv": True},
    "local": {"local": True, "new_kv": True},
    "alibi": {"alibi": True, "has_batch_idx": True},
    "heuristic splits": {"num_splits": 0},
    "heuristic splits causal": {"num_splits": 0, "causal": True, "seqlen_k": 799},
    "d 59": {"d": 59, "new_kv": True},
    "d 128": {"d": 128, "new_kv": True, "rotary_fraction": 1.0},
    "d 256": {"d": 256, "new_kv": True},
}  # fmt: skip


@pytest.fixture
def upstream(tree: Path, flash: FlashAttention, monkeypatch: pytest.MonkeyPatch) -> Any:
    torch.manual_seed(0)
    return load(tree, flash, monkeypatch)


@pytest.mark.parametrize("options", DENSE.values(), ids=DENSE)
def test_output(upstream: Any, options: dict[str, Any]) -> None:
    upstream.test_flash_attn_output(**DENSE_DEFAULTS | options)


DENSE_DEFAULTS = {
    "seqlen_q": 113, "seqlen_k": 203, "d": 64, "dropout_p": 0.0, "causal": False, "local": False, "alibi": False,
    "deterministic": False, "mha_type": "mha", "dtype": torch.float16, "kvpacked": False, "softcap": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("name", VARLEN)
def test_varlen_output(upstream: Any, name: str) -> None:
    upstream.test_flash_attn_varlen_output(**DENSE_DEFAULTS | DENSE[name])


@pytest.mark.parametrize("options", PACKED.values(), ids=PACKED)
@pytest.mark.parametrize("form", ["qkvpacked", "varlen_qkvpacked"])
def test_packed(upstream: Any, form: str, options: dict[str, Any]) -> None:
    given = {"seqlen": 97, "d": 64, "dropout_p": 0.0, "causal": False, "local": False, "alibi": False}
    given |= {"deterministic": False, "dtype": torch.float16}
    getattr(upstream, f"test_flash_attn_{form}")(**given | options)


@pytest.mark.parametrize("swap", [False, True], ids=["more keys", "more queries"])
@pytest.mark.parametrize("local", [False, True], ids=["causal", "causal local"])
def test_causal(upstream: Any, local: bool, swap: bool) -> None:
    upstream.test_flash_attn_causal(113, 203, swap_sq_sk=swap, d=64, local=local, dtype=torch.float16)


@pytest.mark.parametrize("swap", [False, True], ids=["more keys", "more queries"])
@pytest.mark.parametrize("local", [False, True], ids=["causal", "causal local"])
@pytest.mark.parametrize("page", [None, 256, 512])
def test_varlen_causal(upstream: Any, page: int | None, local: bool, swap: bool) -> None:
    upstream.test_flash_attn_varlen_causal(
        127, 513, swap_sq_sk=swap, d=64, local=local, paged_kv_block_size=page, dtype=torch.float16
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"causal": True}, {"local": True}, {"alibi": True}, {"swap_sq_sk": True}],
    ids=["plain", "causal", "local", "alibi", "more queries"],
)
def test_splitkv(upstream: Any, flash: FlashAttention, options: dict[str, Any]) -> None:
    flash.extension.compute_units = 8  # four splits
    given = {"swap_sq_sk": False, "d": 64, "causal": False, "local": False, "alibi": False, "deterministic": False}
    upstream.test_flash_attn_splitkv(3, 799, dtype=torch.float16, **given | options)


@pytest.mark.parametrize(("dropout_p", "causal"), [(0.0, False), (0.0, True), (0.17, False)])
def test_race_condition(upstream: Any, dropout_p: float, causal: bool) -> None:
    """The same call gives the same bits, with the same seed."""
    upstream.test_flash_attn_race_condition(97, 97, 64, dropout_p, causal, torch.float16)


@pytest.mark.parametrize("causal", [False, True], ids=["plain", "causal"])
@pytest.mark.parametrize(("seqlen", "d"), [(1, 64), (2, 64), (5, 32), (17, 64), (128, 64)])
def test_overflow(upstream: Any, seqlen: int, d: int, causal: bool) -> None:
    """Large scores, and lengths that leave most of a tile empty."""
    upstream.test_flash_attn_bwd_overflow(seqlen, d, causal, torch.float16)


@pytest.mark.parametrize("causal", [False, True], ids=["plain", "causal"])
def test_varlen_overflow(upstream: Any, causal: bool) -> None:
    """One key per sequence. Upstream looks at gradients only: here the kernel must run without a finding."""
    upstream.test_flash_attn_bwd_varlen_overflow(64, causal, torch.float16)


@pytest.mark.parametrize(("d", "dtype"), [(64, torch.float16), (128, torch.bfloat16)], ids=["fp16", "bf16 d 128"])
def test_transpose(upstream: Any, d: int, dtype: Any) -> None:
    upstream.test_flash_attn_bwd_transpose(97, d, False, dtype)


@pytest.mark.parametrize("options", CACHE.values(), ids=CACHE)
def test_kvcache(upstream: Any, flash: FlashAttention, options: dict[str, Any]) -> None:
    given = {
        "seqlen_q": 3, "seqlen_k": 300, "d": 64, "has_batch_idx": False, "has_leftpad": False,
        "paged_kv_block_size": None, "rotary_fraction": 0.0, "rotary_interleaved": False,
        "seqlen_new_eq_seqlen_q": True, "causal": False, "local": False, "alibi": False, "new_kv": False,
        "mha_type": "mha", "num_splits": 1, "dtype": torch.float16,
    }  # fmt: skip
    flash.extension.compute_units = 16 if options.get("num_splits") == 0 else 1
    upstream.test_flash_attn_kvcache(**given | options)
