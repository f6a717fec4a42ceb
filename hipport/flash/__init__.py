"""FlashAttention's ported kernels from Python, without a ROCm build of PyTorch.

    from hipport.flash import FlashAttention
    flash = FlashAttention("generated_hip", target="gfx942")
    out = flash.interface.flash_attn_func(q, k, v, causal=True)

`FlashAttention.interface` is upstream's own ``flash_attn_interface`` module, so signatures and defaults are upstream's;
beneath it, `hipport.flash.extension` takes the place of the compiled extension ``flash_attn_2_cuda``: it makes the same
decisions as upstream's ``flash_api.cpp`` and calls the translated kernels, on the emulator or on a GPU, through C entry
points. Kernels are compiled one instantiation at a time when first needed (about half a minute each) and cached.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hipport.flash.attention import FlashAttention
    from hipport.flash.kernels import Forward, SplitForward, export

__all__ = ["FlashAttention", "Forward", "SplitForward", "export"]


def __getattr__(name: str) -> Any:
    # On demand: a worker (`hipport.flash.worker`) is a module of this package and must start fast.
    if name == "FlashAttention":
        from hipport.flash.attention import FlashAttention

        return FlashAttention
    if name in __all__:
        from hipport.flash import kernels

        return getattr(kernels, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
