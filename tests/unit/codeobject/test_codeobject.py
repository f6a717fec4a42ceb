"""ELF, descriptors, metadata, bundles and disassembly of real code objects; clear errors on broken ones."""

from __future__ import annotations

import contextlib
import struct
import zlib
from pathlib import Path

import pytest
import zstandard

from hipport.codeobject import (
    CodeObject,
    CodeObjectError,
    KernelDescriptor,
    device_image,
    device_images,
    disassemble,
    unbundle,
)
from hipport.core import HipportError
from hipport.emulator.testing import assemble

SOURCE = """
.amdgcn_target "amdgcn-amd-amdhsa--{target}"
.text
.globl scale
.p2align 8
.type scale,@function
scale:
  s_load_dwordx2 s[2:3], s[0:1], 0x0
  v_lshlrev_b32 v0, 2, v0
  s_waitcnt lgkmcnt(0)
  global_load_dword v1, v0, s[2:3]
  s_waitcnt vmcnt(0)
  v_mul_f32 v1, 2.0, v1
  global_store_dword v0, v1, s[2:3]
  s_endpgm
.size scale, .-scale
.rodata
.p2align 6
.amdhsa_kernel scale
  .amdhsa_next_free_vgpr 4
  .amdhsa_next_free_sgpr 8
  .amdhsa_accum_offset 4
  .amdhsa_group_segment_fixed_size 1024
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.kernels:
  - .name: scale
    .symbol: scale.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 1024
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 8
    .vgpr_count: 4
    .max_flat_workgroup_size: 256
    .args:
      - {{.name: data, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""

pytestmark = pytest.mark.sdk


@pytest.fixture(scope="session")
def image() -> bytes:
    return assemble("gfx942", SOURCE.format(target="gfx942"))


def bundle(entries: dict[str, bytes]) -> bytes:
    """As clang-offload-bundler writes it."""
    header = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    offset = len(header) + sum(24 + len(name) for name in entries)
    offset += -offset % 4096
    body = b""
    for name, data in entries.items():
        header += struct.pack("<QQQ", offset + len(body), len(data), len(name)) + name.encode()
        body += data
    return header + b"\0" * (offset - len(header)) + body


def compressed(data: bytes, version: int, method: int) -> bytes:
    payload = zlib.compress(data) if method == 0 else zstandard.ZstdCompressor().compress(data)
    head = b"CCOB" + struct.pack("<HH", version, method)
    if version == 1:
        return head + struct.pack("<IQ", len(data), 0) + payload
    if version == 2:
        return head + struct.pack("<IIQ", len(payload) + 24, len(data), 0) + payload
    return head + struct.pack("<QQQ", len(payload) + 32, len(data), 0) + payload


def test_kernel_metadata_and_descriptor(image: bytes) -> None:
    code = CodeObject.parse(image)
    assert code.target == "gfx942"
    kernel = code.kernels["scale"]
    assert (kernel.vgprs, kernel.sgprs, kernel.wavefront_size, kernel.max_workgroup_size) == (4, 8, 64, 256)
    assert [(a.name, a.offset, a.bytes, a.kind) for a in kernel.arguments] == [("data", 0, 8, "global_buffer")]
    assert kernel.descriptor.lds_bytes == 1024
    assert kernel.descriptor.user_sgprs == 2
    assert kernel.descriptor.float_mode == 0xC0  # f32 denormals flushed unless the assembler is told otherwise
    function = code.function_at(kernel.descriptor.entry)
    assert function is not None
    assert function.name == "scale"


def test_disassembly(image: bytes) -> None:
    listing = disassemble(CodeObject.parse(image), "scale")
    assert [i.mnemonic for i in listing] == [
        "s_load_dwordx2",
        "v_lshlrev_b32_e32",
        "s_waitcnt",
        "global_load_dword",
        "s_waitcnt",
        "v_mul_f32_e32",
        "global_store_dword",
        "s_endpgm",
    ]
    assert [i.bytes for i in listing] == [8, 4, 4, 8, 4, 4, 8, 4]
    assert listing[-1].words == (0xBF810000,)
    with pytest.raises(CodeObjectError, match="has no function"):
        disassemble(CodeObject.parse(image), "nothing")


@pytest.mark.parametrize(("version", "method"), [(1, 0), (2, 0), (2, 1), (3, 1)])
def test_compressed_bundle(image: bytes, version: int, method: int) -> None:
    plain = bundle({"host-x86_64-unknown-linux--": b"", "hipv4-amdgcn-amd-amdhsa--gfx942": image})
    assert device_image(plain, "gfx942") == image
    assert device_image(compressed(plain, version, method), "gfx942") == image


def test_target_of_a_bundle_is_chosen() -> None:
    images = {t: assemble(t, SOURCE.format(target=t)) for t in ("gfx942", "gfx90a")}
    data = bundle({f"hipv4-amdgcn-amd-amdhsa--{t}": i for t, i in images.items()})
    assert [e.processor for e in device_images(data)] == ["gfx942", "gfx90a"]
    assert device_image(data, "gfx90a:xnack-") == images["gfx90a"]
    with pytest.raises(CodeObjectError, match="no code for gfx1100"):
        device_image(data, "gfx1100")


def test_host_program_with_embedded_device_code(image: bytes, tmp_path: Path) -> None:
    import subprocess

    from hipport.sdk import find_sdk

    fat, source, program = tmp_path / "fat.hipfb", tmp_path / "a.s", tmp_path / "program.so"
    fat.write_bytes(bundle({"host-x86_64-unknown-linux--": b"", "hipv4-amdgcn-amd-amdhsa--gfx942": image}))
    source.write_text(f'.section .hip_fatbin,"a",@progbits\n.p2align 12\n.incbin "{fat}"\n')
    subprocess.run([str(find_sdk().clang), "-shared", "-nostdlib", str(source), "-o", str(program)], check=True)
    assert device_image(program.read_bytes(), "gfx942") == image


@pytest.mark.parametrize("keep", [0, 3, 20, 63, 200, 1000, -1, -100])
def test_truncated_file_is_an_error(image: bytes, keep: int) -> None:
    with pytest.raises(HipportError):
        CodeObject.parse(image[:keep])


def test_every_single_byte_of_the_headers_may_be_wrong(image: bytes) -> None:
    """A corrupt byte gives an error or a parsed object, never another exception."""
    for at in (*range(64), *range(64, 64 + 56 * 4, 3), *range(len(image) - 64 * 6, len(image), 5)):
        broken = bytearray(image)
        broken[at] ^= 0xFF
        with contextlib.suppress(HipportError):
            CodeObject.parse(bytes(broken))


@pytest.mark.parametrize("keep", [10, 30, 40, 100, 4000, 5000])
def test_truncated_bundle_is_an_error(image: bytes, keep: int) -> None:
    data = bundle({"hipv4-amdgcn-amd-amdhsa--gfx942": image})
    with pytest.raises(HipportError):
        unbundle(data[:keep])


def test_corrupt_compressed_bundle_is_an_error(image: bytes) -> None:
    data = bytearray(compressed(bundle({"hipv4-amdgcn-amd-amdhsa--gfx942": image}), 2, 0))
    data[60] ^= 0xFF
    with pytest.raises(HipportError):
        unbundle(bytes(data))
    with pytest.raises(CodeObjectError, match="version 9"):
        unbundle(b"CCOB" + struct.pack("<HH", 9, 0) + bytes(40))


def test_descriptor_needs_its_64_bytes() -> None:
    with pytest.raises(CodeObjectError, match="truncated"):
        KernelDescriptor.parse(bytes(63), 0)


def test_text_file_is_no_code_object() -> None:
    with pytest.raises(CodeObjectError, match="is no code object"):
        device_images(b"hello", "notes.txt")
