"""Upstream's ``tests/test_flash_attn.py`` on the ported kernels: what has to be different for it to run here.

- The device is the CPU: the text ``"cuda"`` is read as ``"cpu"``, and questions about the GPU are answered for it.
- ``flash_attn`` is the package of the translated tree, with `hipport.flash` in place of the compiled extension.
- Rotary embedding of the reference, a Triton kernel upstream, is upstream's own PyTorch form of it.
- Forward only: gradients are zero on both sides.
- A seed given to PyTorch starts dropout's random numbers again, as it does where PyTorch's GPU generator makes them.
- Batches, heads and repetitions are fewer; lengths and head dimensions are chosen by the caller.
- The columns of a block, by which the test normalises dropped scores, are those of our tile table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from hipport.flash import FlashAttention
from hipport.flash.kernels import padded_head_dim
from hipport.flash.tiles import forward_tile

SMALLER = {f"batch_size = {n}": "batch_size = 2" for n in (4, 5, 8, 60)}
SMALLER |= {"nheads = 9": "nheads = 3", "nheads = 12": "nheads = 4", "range(250)": "range(2)"}


def load(tree: Path, flash: FlashAttention, patch: pytest.MonkeyPatch) -> ModuleType:
    """The test module over ``flash``, until ``patch`` is undone."""
    interface = flash.interface
    columns = lambda _device, d, *_: forward_tile(padded_head_dim(d), flash.target).block_n  # noqa: E731
    patch.setattr(interface, "_get_block_size_n", columns)
    patch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    patch.setattr(torch.cuda, "get_device_properties", lambda *_: SimpleNamespace(total_memory=2**40))
    patch.setattr(torch.autograd, "grad", no_gradients)
    patch.setattr(torch.Tensor, "backward", no_backward)
    patch.setattr(torch.random, "manual_seed", seeding(flash))
    patch.syspath_prepend(str(tree))
    for name in [name for name in sys.modules if name.partition(".")[0] == "flash_attn"]:
        patch.delitem(sys.modules, name)
    triton_rotary = ModuleType("flash_attn.ops.triton.rotary")
    triton_rotary.apply_rotary = rotate  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "flash_attn.flash_attn_interface", interface)
    patch.setitem(sys.modules, "flash_attn.ops.triton.rotary", triton_rotary)
    path = tree / "tests/test_flash_attn.py"
    text = path.read_text(encoding="utf-8").replace('"cuda"', '"cpu"')
    for old, new in SMALLER.items():
        text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new, text)
    module = ModuleType("upstream_test_flash_attn")
    exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102 - upstream's own tests, pinned by hash
    return module


def no_gradients(_outputs: Any, inputs: Any, *_: Any, **__: Any) -> tuple[Any, ...]:
    return tuple(torch.zeros_like(x) for x in (inputs if isinstance(inputs, tuple) else (inputs,)))


def no_backward(out: Any, *_: Any, **__: Any) -> None:
    nodes, seen = [out.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        nodes += [following for following, _ in node.next_functions]
        if hasattr(node, "variable"):
            node.variable.grad = torch.zeros_like(node.variable)


def seeding(flash: FlashAttention) -> Callable[[int], torch.Generator]:
    before = torch.random.manual_seed

    def manual_seed(seed: int) -> torch.Generator:
        flash.philox.seed, flash.philox.offset = seed, 0
        return before(seed)

    return manual_seed


def rotate(x: Any, cos: Any, sin: Any, seqlen_offsets: Any = 0, interleaved: bool = False, **_: Any) -> Any:
    """Rows of ``x`` (batch, seqlen, heads, head_dim) stand at ``seqlen_offsets`` and after."""
    from flash_attn.layers.rotary import apply_rotary_emb_torch

    offsets = torch.as_tensor(seqlen_offsets).expand(x.shape[0]).long()
    at = offsets[:, None] + torch.arange(x.shape[1])
    return apply_rotary_emb_torch(x.float(), cos[at].float(), sin[at].float(), interleaved).to(x.dtype)
