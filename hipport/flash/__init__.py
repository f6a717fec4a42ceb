"""FlashAttention's ported kernels from Python, on CPU tensors, without a ROCm build of PyTorch.

    from hipport.flash import FlashAttention
    flash = FlashAttention("generated_hip", target="gfx942")
    out = flash.interface.flash_attn_func(q, k, v, causal=True)

`FlashAttention.interface` is upstream's own ``flash_attn_interface`` module, so signatures and defaults are upstream's;
beneath it, `hipport.flash.extension` takes the place of the compiled extension ``flash_attn_2_cuda``: it makes the same
decisions as upstream's ``flash_api.cpp`` and runs the translated kernels as a HIP program, on the emulator or on a GPU.
Kernels are compiled one instantiation at a time when first needed (about half a minute each) and cached.
"""

from hipport.flash.attention import FlashAttention
from hipport.flash.kernels import Forward, SplitForward

__all__ = ["FlashAttention", "Forward", "SplitForward"]
