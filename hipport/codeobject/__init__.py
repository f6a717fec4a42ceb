"""AMDGPU code objects: ELF, kernel descriptors, metadata, bundles, disassembly."""

from hipport.codeobject.bundle import BundleEntry, device_image, device_images, fat_binaries, unbundle
from hipport.codeobject.descriptor import KernelDescriptor
from hipport.codeobject.disassembly import Instruction, disassemble
from hipport.codeobject.elf import Argument, CodeObject, Kernel, SourceLine, Symbol
from hipport.codeobject.errors import CodeObjectError

__all__ = [
    "Argument",
    "BundleEntry",
    "CodeObject",
    "CodeObjectError",
    "Instruction",
    "Kernel",
    "KernelDescriptor",
    "SourceLine",
    "Symbol",
    "device_image",
    "device_images",
    "disassemble",
    "fat_binaries",
    "unbundle",
]
