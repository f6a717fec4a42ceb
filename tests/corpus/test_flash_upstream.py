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
    "softcap": {"softcap": 50.0},
    "dropout": {"dropout_p": 0.17},
    "kvpacked": {"kvpacked": True},
    "bf16": {"dtype": torch.bfloat16},
    "d 59": {"d": 59},
    "d 40": {"d": 40},
    "d 128": {"d": 128},
}
VARLEN = ["plain", "causal gqa", "local mqa", "alibi", "dropout", "kvpacked"]
CACHE: dict[str, dict[str, Any]] = {
    "plain": {},
    "mqa decode": {"seqlen_q": 1, "seqlen_k": 339, "mha_type": "mqa"},
    "append": {"new_kv": True},
    "append rotary": {"new_kv": True, "rotary_fraction": 1.0, "rotary_interleaved": True, "causal": True},
    "append rotary halves": {"new_kv": True, "rotary_fraction": 0.5, "mha_type": "gqa"},
    "append fewer than queries": {"new_kv": True, "seqlen_new_eq_seqlen_q": False},
    "paged": {"paged_kv_block_size": 256, "new_kv": True},
    "left padding": {"has_leftpad": True},
    "batch index": {"has_batch_idx": True},
    "local": {"local": True, "new_kv": True},
    "alibi": {"alibi": True, "has_batch_idx": True},
    "heuristic splits": {"num_splits": 0},
    "d 59": {"d": 59, "new_kv": True},
}


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


@pytest.mark.parametrize("options", [{}, {"dropout_p": 0.17}, {"causal": True}], ids=["plain", "dropout", "causal"])
@pytest.mark.parametrize("form", ["qkvpacked", "varlen_qkvpacked"])
def test_packed(upstream: Any, form: str, options: dict[str, Any]) -> None:
    given = {"seqlen": 97, "d": 64, "dropout_p": 0.0, "causal": False, "local": False, "alibi": False}
    given |= {"deterministic": False, "dtype": torch.float16}
    getattr(upstream, f"test_flash_attn_{form}")(**given | options)


@pytest.mark.parametrize("swap", [False, True], ids=["more keys", "more queries"])
@pytest.mark.parametrize("local", [False, True], ids=["causal", "causal local"])
def test_causal(upstream: Any, local: bool, swap: bool) -> None:
    upstream.test_flash_attn_causal(113, 203, swap_sq_sk=swap, d=64, local=local, dtype=torch.float16)


@pytest.mark.parametrize("page", [None, 256], ids=["packed", "paged"])
def test_varlen_causal(upstream: Any, page: int | None) -> None:
    upstream.test_flash_attn_varlen_causal(
        127, 513, swap_sq_sk=False, d=64, local=False, paged_kv_block_size=page, dtype=torch.float16
    )


@pytest.mark.parametrize("causal", [False, True], ids=["plain", "causal"])
def test_splitkv(upstream: Any, flash: FlashAttention, causal: bool) -> None:
    flash.extension.compute_units = 8  # four splits
    upstream.test_flash_attn_splitkv(
        3, 799, swap_sq_sk=False, d=64, causal=causal, local=False, alibi=False, deterministic=False,
        dtype=torch.float16,
    )  # fmt: skip


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
