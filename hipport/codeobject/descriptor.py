"""The 64-byte kernel descriptor. Source: LLVM AMDGPUUsage, "Kernel Descriptor"."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hipport.codeobject.errors import CodeObjectError


@dataclass(frozen=True, slots=True)
class KernelDescriptor:
    """What the hardware is told before a wave starts.

    Attributes:
        lds_bytes: static LDS of a workgroup.
        private_bytes: scratch per lane.
        kernarg_bytes: size of the argument segment.
        entry: address of the first instruction.
        rsrc1: COMPUTE_PGM_RSRC1.
        rsrc2: COMPUTE_PGM_RSRC2.
        rsrc3: COMPUTE_PGM_RSRC3.
        properties: kernel code properties.
        preload_dwords: kernel arguments that arrive in SGPRs.
    """

    lds_bytes: int
    private_bytes: int
    kernarg_bytes: int
    entry: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    preload_dwords: int

    @classmethod
    def parse(cls, data: bytes, address: int) -> KernelDescriptor:
        """From the descriptor's bytes and its own address.

        Raises:
            CodeObjectError: fewer than 64 bytes.
        """
        if len(data) < 64:
            raise CodeObjectError("truncated kernel descriptor", "rebuild the file")
        lds, private, kernarg = struct.unpack_from("<III", data, 0)
        (entry,) = struct.unpack_from("<q", data, 16)
        rsrc3, rsrc1, rsrc2 = struct.unpack_from("<III", data, 44)
        properties, preload = struct.unpack_from("<HH", data, 56)
        return cls(lds, private, kernarg, address + entry, rsrc1, rsrc2, rsrc3, properties, preload & 127)

    @property
    def wave32(self) -> bool:
        """Compiled for 32 lanes (gfx10 and later)."""
        return bool(self.properties & 1 << 10)

    @property
    def user_sgprs(self) -> int:
        """SGPRs set before the wave starts, workgroup ids not included."""
        return self.rsrc2 >> 1 & 31

    @property
    def float_mode(self) -> int:
        """Initial rounding and denormal bits of MODE."""
        return self.rsrc1 >> 12 & 0xFF
