"""The tile table as Python reads it and as the compiler does; every tile fits the LDS."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipport.core import TARGETS, HipportError, ToolchainError
from hipport.core.files import include_root
from hipport.flash.kernels import HEAD_DIMS, padded_head_dim
from hipport.flash.tiles import forward_tile, split_block_n
from hipport.sdk import find_sdk


def lds_bytes(head_dim: int, block_m: int, block_n: int, *, share: bool) -> int:
    """Kernel_traits::kSmemSize of upstream: 16-bit Q, K and V tiles; Q shares with K and V when `share`."""
    q, kv = block_m * head_dim * 2, 2 * block_n * head_dim * 2
    return max(q, kv) if share else q + kv


@pytest.mark.parametrize("head_dim", HEAD_DIMS)
def test_tiles_fit_every_target(head_dim: int) -> None:
    least = min(target.lds_bytes for target in TARGETS.values())
    tile = forward_tile(head_dim)
    assert lds_bytes(head_dim, tile.block_m, tile.block_n, share=tile.share_q_k) <= least
    assert lds_bytes(head_dim, 64, split_block_n(head_dim), share=False) <= least
    # A wavefront owns 16 rows at a time; upstream's kernels need whole ones.
    assert tile.block_m % (16 * tile.warps) == 0


@pytest.mark.parametrize(("head_dim", "padded"), [(8, 32), (32, 32), (40, 64), (128, 128), (136, 192), (256, 256)])
def test_padded_head_dim(head_dim: int, padded: int) -> None:
    assert padded_head_dim(head_dim) == padded


def test_head_dim_over_256_is_refused() -> None:
    with pytest.raises(HipportError, match="over 256"):
        padded_head_dim(264)


@pytest.mark.sdk
def test_header_and_python_agree(tmp_path: Path) -> None:
    try:
        sdk = find_sdk()
    except ToolchainError as error:
        pytest.skip(str(error))
    lines = ["#include <hipport/cute/flash_tiles.h>", "using namespace hipport::flash;"]
    for head_dim in HEAD_DIMS:
        tile = forward_tile(head_dim)
        for name in ("block_m", "block_n", "warps", "share_q_k"):
            value = str(getattr(tile, name)).lower()
            lines.append(f"static_assert(forward_tile({head_dim}).{name} == {value});")
        lines.append(f"static_assert(split_block_n({head_dim}) == {split_block_n(head_dim)});")
    source = tmp_path / "tiles.hip"
    source.write_text("\n".join(lines) + "\n")
    command = [str(sdk.clang), *sdk.device_flags("gfx942"), f"-I{include_root()}", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
