"""hipport: port CUDA kernels to AMD GPUs with proof."""

__version__ = "0.1.0"
