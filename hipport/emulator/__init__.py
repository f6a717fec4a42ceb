"""The AMDGPU emulator: C++ core and its Python driver.

from hipport.emulator import Device
Device("gfx942").load("kernels.co").launch("vadd", grid=4, block=64, args=[a, b, out, np.int32(256)])
"""

from hipport.emulator.build import library_path
from hipport.emulator.device import (
    Buffer,
    Checks,
    Device,
    Finding,
    KernelArgument,
    KernelInfo,
    LaunchResult,
    Module,
    Options,
    Statistics,
)
from hipport.emulator.native_api import EmulatorError, UnimplementedInstruction

__all__ = [
    "Buffer",
    "Checks",
    "Device",
    "EmulatorError",
    "Finding",
    "KernelArgument",
    "KernelInfo",
    "LaunchResult",
    "Module",
    "Options",
    "Statistics",
    "UnimplementedInstruction",
    "library_path",
]
