"""The flags, and that they compile and link with the real toolchain."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from hipport.core import TARGETS, HipportError, ToolchainError
from hipport.sdk import Sdk, find_sdk
from hipport.sdk.check import compile_error, require_working

PROGRAM = """
#include <hip/hip_runtime.h>
#ifndef HIP_ENABLE_WARP_SYNC_BUILTINS
#error "the _sync builtins are off"
#endif
#ifdef __HIP_DEVICE_COMPILE__
static_assert(__AMDGCN_WAVEFRONT_SIZE == WAVE, "wave size");
#endif
__global__ void add(float* x) { x[threadIdx.x] += __shfl(x[0], 1); }
int main() {
  float* x = nullptr;
  if (hipMalloc(&x, 256) != hipSuccess) return 1;
  add<<<1, 64>>>(x);
  return hipDeviceSynchronize();
}
"""


@pytest.fixture(scope="module")
def sdk() -> Sdk:
    return find_sdk()


def compile_with(sdk: Sdk, flags: list[str], folder: Path, *, wave: int = 64) -> Path:
    source, output = folder / "program.hip", folder / "program.o"
    source.write_text(PROGRAM)
    command = [str(sdk.clang), *flags, f"-DWAVE={wave}", "-O1", "-c", str(source), "-o", str(output)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return output


@pytest.mark.sdk
@pytest.mark.parametrize("target", TARGETS)
def test_device_flags_give_a_code_object_of_the_target(sdk: Sdk, target: str, tmp_path: Path) -> None:
    output = compile_with(sdk, sdk.device_flags(target), tmp_path, wave=TARGETS[target].wave_size)
    with output.open("rb") as stream:
        elf = ELFFile(stream)
        assert elf["e_machine"] == "EM_AMDGPU"
        # AMDGPU ELF header flags, LLVM AMDGPUUsage, table "AMDGPU ELF Header e_flags": EF_AMDGPU_MACH.
        machine = {"gfx90a": 0x3F, "gfx942": 0x4C, "gfx950": 0x4F, "gfx1100": 0x41, "gfx1201": 0x4E}
        assert elf["e_flags"] & 0xFF == machine[target]
        names = {symbol.name for symbol in elf.get_section_by_name(".symtab").iter_symbols()}
        assert "_Z3addPf.kd" in names


@pytest.mark.sdk
def test_host_and_device_compile_and_link_in_one_call(sdk: Sdk, tmp_path: Path) -> None:
    output = compile_with(sdk, sdk.host_flags(["gfx942"]), tmp_path)
    program = tmp_path / "program"
    subprocess.run(
        [str(sdk.clang), str(output), *sdk.link_flags(), "-o", str(program)], check=True, capture_output=True
    )
    with program.open("rb") as stream:
        elf = ELFFile(stream)
        needed = [
            tag.needed for tag in elf.get_section_by_name(".dynamic").iter_tags() if tag.entry.d_tag == "DT_NEEDED"
        ]
        assert any(name.startswith("libamdhip64.so") for name in needed)
        assert elf.get_section_by_name(".hip_fatbin") is not None


@pytest.mark.sdk
@pytest.mark.parametrize("target", TARGETS)
def test_two_traps_in_a_kernel_compile(sdk: Sdk, target: str, tmp_path: Path) -> None:
    """clang 22.1.8 cannot do it for gfx1100 (llvm/llvm-project#208912); HIP's _sync builtins trap twice."""
    source = tmp_path / "traps.hip"
    source.write_text(
        "#include <hip/hip_runtime.h>\n"
        "__global__ void f(int* x, int n) { if (n == 3) abort(); *x = 1; if (n == x[1]) __builtin_trap(); x[1] = 2; }\n"
        "__global__ void g(int* x, unsigned long long m) { x[0] = __shfl_sync(m, x[1], 1); }\n"
    )
    command = [str(sdk.clang), *sdk.device_flags(target), "-O2", "-c", str(source), "-o", str(tmp_path / "traps.co")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:2000]


@pytest.mark.sdk
def test_host_side_alone_compiles(sdk: Sdk, tmp_path: Path) -> None:
    output = compile_with(sdk, sdk.host_flags(), tmp_path)
    with output.open("rb") as stream:
        assert ELFFile(stream)["e_machine"] == "EM_X86_64"


@pytest.mark.sdk
def test_tools_belong_to_the_compiler(sdk: Sdk) -> None:
    major = sdk.clang_version.partition("version ")[2].partition(".")[0]
    for name in ("llvm-objdump", "llvm-mc", "llvm-readelf", "ld.lld"):
        printed = subprocess.run([sdk.tool(name), "--version"], capture_output=True, text=True, check=True).stdout
        assert f" {major}." in printed
    with pytest.raises(ToolchainError, match="no-such-tool is not installed"):
        sdk.tool("no-such-tool")


@pytest.mark.sdk
def test_identity_follows_headers_and_compiler(sdk: Sdk, tmp_path: Path) -> None:
    include = tmp_path / "include"
    include.mkdir()
    (include / "a.h").write_text("1")
    own = dataclasses.replace(sdk, record=None, include_dirs=(include,))
    first = own.identity
    assert first == dataclasses.replace(own).identity
    (include / "a.h").write_text("12")
    assert dataclasses.replace(own).identity != first
    assert len(first) == 64


@pytest.mark.sdk
def test_a_broken_toolchain_is_named(sdk: Sdk, tmp_path: Path) -> None:
    broken = dataclasses.replace(sdk, include_dirs=(tmp_path,))
    assert "hip_runtime.h" in compile_error(broken, "gfx942")
    with pytest.raises(ToolchainError, match="cannot compile for gfx90a"):
        require_working(broken)
    with pytest.raises(ToolchainError, match="does not run"):
        _ = dataclasses.replace(sdk, clang=tmp_path / "absent").clang_version


@pytest.mark.sdk
def test_unknown_target(sdk: Sdk) -> None:
    with pytest.raises(HipportError, match="unknown target 'sm_90'"):
        sdk.device_flags("sm_90")
