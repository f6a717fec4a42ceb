"""Find the AMD toolchain of this machine, or install one that needs neither a GPU nor ROCm.

sdk = find_sdk()
subprocess.run([sdk.clang, *sdk.device_flags("gfx942"), "-O3", "-c", "kernel.hip", "-o", "kernel.co"])
"""

from hipport.sdk.find import find_sdk
from hipport.sdk.toolchain import Sdk

__all__ = ["Sdk", "find_sdk"]
