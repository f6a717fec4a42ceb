"""Entry points of a stand-in kernel, compiled by AMD's toolchain: called in a worker, in place, and from C."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="hipport.flash works on PyTorch tensors (extra: torch)")

from hipport.core import HipportError  # noqa: E402 - after the skip
from hipport.emulator.build import host_compiler  # noqa: E402
from hipport.flash import FlashAttention, Forward, export  # noqa: E402
from hipport.flash.reference import Options, attention  # noqa: E402
from hipport.hiprt import RunOptions, build_runtime, runtime_environment  # noqa: E402
from hipport.sdk import find_sdk  # noqa: E402

pytestmark = pytest.mark.sdk

HEADER = Path(__file__).with_name("stand_in") / "flash_fwd_launch_template.h"
INTERFACE = """
import flash_attn_2_cuda
def flash_attn_func(q, k, v, causal=False, softcap=0.0, alibi_slopes=None):
    scale = q.shape[-1] ** -0.5
    return flash_attn_2_cuda.fwd(q, k, v, None, alibi_slopes, 0.0, scale, causal, -1, -1, softcap, False)[:2]
"""
# All that the tests call, compiled together.
KERNELS = [
    Forward(64, False),
    Forward(64, False, causal=True),
    Forward(64, False, alibi=True, even_k=False),
    Forward(64, False, softcap=True),
]
# With q = 0 every key weighs the same: the output is the mean of the values, the log-sum-exp log(4).
C_PROGRAM = """
#include <hipport_flash_entries.h>
#include <stdio.h>
int main(void) {
  enum { ROWS = 3, KEYS = 4, D = 64 };
  static unsigned short zeros[KEYS * D], values[KEYS * D], out[ROWS * D];
  static const unsigned short half[KEYS] = {0x3c00, 0x4000, 0x4400, 0x3c00};  // 1, 2, 4, 1
  float lse[ROWS];
  for (int n = 0; n < KEYS * D; ++n) values[n] = half[n / D];
  struct hipport_flash_params p = {0};
  hipMalloc(&p.q_ptr, sizeof zeros), hipMalloc(&p.v_ptr, sizeof values);
  hipMalloc(&p.o_ptr, sizeof out), hipMalloc(&p.softmax_lse_ptr, sizeof lse);
  hipMemcpy(p.q_ptr, zeros, sizeof zeros, hipMemcpyHostToDevice);
  hipMemcpy(p.v_ptr, values, sizeof values, hipMemcpyHostToDevice);
  p.k_ptr = p.q_ptr;
  p.q_row_stride = p.k_row_stride = p.v_row_stride = p.o_row_stride = D;
  p.b = p.h = p.h_k = p.h_h_k_ratio = 1;
  p.seqlen_q = ROWS, p.seqlen_k = KEYS, p.d = p.d_rounded = D;
  p.scale_softmax = 0.125f, p.p_dropout = 1, p.window_size_left = p.window_size_right = -1;
  int code = hipport_fwd_hd64_fp16_even_k(&p, NULL);
  hipMemcpy(out, p.o_ptr, sizeof out, hipMemcpyDeviceToHost);
  hipMemcpy(lse, p.softmax_lse_ptr, sizeof lse, hipMemcpyDeviceToHost);
  printf("%d %04x %04x %.4f", code, out[0], out[ROWS * D - 1], lse[ROWS - 1]);
  p.is_causal = 1;
  printf(" %d", hipport_fwd_hd64_fp16_even_k(&p, NULL));
  p.is_causal = 0, p.d = 40;
  printf(" %d", hipport_fwd_hd64_fp16_even_k(&p, NULL));
  p.d = 64, p.num_splits = 2;
  printf(" %d\\n", hipport_fwd_hd64_fp16_even_k(&p, NULL));
  return 0;
}
"""
# Tensors of device memory: what PyTorch for ROCm hands over, here with the emulator's runtime in this very process.
IN_PLACE = """
import ctypes, sys, types
from pathlib import Path
import torch
from hipport.flash import FlashAttention, extension
from hipport.flash.kernels import Forward
from hipport.flash.library import Library
from hipport.flash.reference import Options, attention

flash = FlashAttention(sys.argv[1], device="rocm", compute_units=1)
flash.prepare(eval(sys.argv[2]))
library = Library(flash._libraries[Forward(64, False, causal=True)])

def device(*sizes, dtype=torch.float32, device=None):
    sizes = sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    address = ctypes.c_void_p()
    n = max(torch.Size(sizes).numel() * dtype.itemsize, 16)
    assert library._library.hipMalloc(ctypes.byref(address), ctypes.c_size_t(n)) == 0
    memory = (ctypes.c_char * n).from_address(address.value)
    return torch.frombuffer(memory, dtype=dtype)[: torch.Size(sizes).numel()].view(sizes)

class Torch(types.ModuleType):
    empty = staticmethod(device)
    zeros = staticmethod(lambda *sizes, **how: device(*sizes, **how).zero_())
    empty_like = staticmethod(lambda x, memory_format=None: device(*x.shape, dtype=x.dtype))
    def __getattr__(self, name):
        return getattr(torch, name)

generator = torch.Generator().manual_seed(1)
plain = [torch.randn(1, s, h, 64, generator=generator).half() for s, h in ((40, 4), (70, 2), (70, 2))]
q, k, v = (device(*x.shape, dtype=x.dtype).copy_(x) for x in plain)
extension.torch, extension.on_gpu = Torch("torch"), lambda tensor: True
out, lse = flash.interface.flash_attn_func(q, k, v, causal=True)
library.synchronize()
expected, expected_lse = attention(*(x[0].double() for x in plain), Options(causal=True))
print(float((out[0].double() - expected).abs().max()), float((lse[0] - expected_lse).abs().max()))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("csrc/flash_attn/src", "flash_attn"):
        (tree / folder).mkdir(parents=True)
    shutil.copy(HEADER, tree / "csrc/flash_attn/src")
    (tree / "flash_attn/flash_attn_interface.py").write_text(INTERFACE)
    return tree


@pytest.fixture
def flash(tree: Path) -> FlashAttention:
    flash = FlashAttention(tree, checks="all", compute_units=1)
    flash.prepare(KERNELS)
    return flash


def qkv(sq: int, sk: int, d: int = 64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(2, s, h, d, generator=generator).half() for s, h in ((sq, 4), (sk, 2), (sk, 2))]


def check(flash: FlashAttention, tensors: list[torch.Tensor], **how: bool) -> None:
    out, lse = flash.interface.flash_attn_func(*tensors, **how)
    for n in range(2):
        expected, expected_lse = attention(*(x[n].double() for x in tensors), Options(**how))
        assert float((out[n].double() - expected).abs().max()) < 2e-3  # fp16 once rounded, values up to 4
        assert torch.allclose(lse[n].double(), expected_lse, atol=1e-5)
    assert flash.findings == []


def test_a_row_beyond_the_first_block_is_computed(flash: FlashAttention) -> None:
    """130 rows are two blocks: the grid is the entry's."""
    check(flash, qkv(130, 9), causal=False)
    assert list(map(str, flash.used)) == ["fwd-hd64-fp16-even_k"]


def test_splits_are_combined(flash: FlashAttention) -> None:
    flash.extension.compute_units = 64
    check(flash, qkv(20, 300), causal=True)
    assert list(map(str, flash.used)) == ["split-hd64-fp16-causal-even_k-splits4"]


def test_findings_come_back(flash: FlashAttention) -> None:
    flash.interface.flash_attn_func(*qkv(3, 5), alibi_slopes=torch.ones(4))
    assert [line.partition(" ")[0] for line in flash.findings] == ["HP850"]
    assert "past the end" in flash.findings[0]


def test_a_fault_is_an_error_and_a_finding(flash: FlashAttention) -> None:
    with pytest.raises(HipportError, match=r"hipDeviceSynchronize: .*\(700\): hipport: kernel .*0x40") as raised:
        flash.interface.flash_attn_func(*qkv(3, 5), softcap=5.0)
    assert "\n" not in str(raised.value)
    assert [line.partition(" ")[0] for line in flash.findings] == ["HP862"]


def test_gpu_tensors_are_used_in_place(tree: Path, tmp_path: Path) -> None:
    runtime, statistics = build_runtime(find_sdk()), tmp_path / "statistics.json"
    environment = runtime_environment(runtime, RunOptions(checks="all", statistics=statistics))
    command = [sys.executable, "-c", IN_PLACE, str(tree), repr(KERNELS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    error, lse_error = map(float, done.stdout.split())
    assert error < 2e-3
    assert lse_error < 1e-5
    assert json.loads(statistics.read_text())["findings"] == []


def test_a_machine_without_a_gpu_says_so(tree: Path) -> None:
    if Path("/dev/kfd").exists():
        pytest.skip("this machine has an AMD GPU")
    flash = FlashAttention(tree, device="rocm", compute_units=1)
    flash.prepare(KERNELS)
    with pytest.raises(HipportError, match="device='emulator'") as raised:
        flash.interface.flash_attn_func(*qkv(3, 5))
    assert "\n" not in str(raised.value)


def test_a_c_program_links_and_runs(tree: Path, tmp_path: Path) -> None:
    """Results, and refusals: causal, another head dimension and splits are not what the entry was compiled for."""
    sdk = find_sdk()
    runtime = build_runtime(sdk)
    export(KERNELS, tmp_path, tree)
    (tmp_path / "main.c").write_text(C_PROGRAM)
    compiler = [host_compiler(), "-Wall", "-Wextra", "-Werror", "-D__HIP_PLATFORM_AMD__", f"-I{tmp_path}"]
    compiler += [word for folder in sdk.include_dirs for word in ("-isystem", str(folder))]
    libraries = [f"-L{tmp_path}", "-lhipport_flash", f"-L{runtime.folder}", "-lamdhip64"]
    subprocess.run([*compiler, "-x", "c", tmp_path / "main.c", *libraries, "-o", tmp_path / "main"], check=True)
    (tmp_path / "main.cpp").write_text("#include <hipport_flash_entries.h>\nauto f = &hipport_fwd_hd64_fp16_even_k;\n")
    subprocess.run([*compiler, "-fsyntax-only", tmp_path / "main.cpp"], check=True)
    environment = runtime_environment(runtime, RunOptions(checks="all"), {"LD_LIBRARY_PATH": str(tmp_path)})
    done = subprocess.run([tmp_path / "main"], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "0 4000 4000 1.3863 1 1 1\n", done.stderr  # 2.0 in fp16, log(4), hipErrorInvalidValue
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: FlashAttention(checks="bogus"), "unknown check 'bogus'"),
        (lambda: export([], "out"), "no instantiation"),
        (lambda: export([Forward(72, bf16=False)], "out"), "no head dimension 72"),
    ],
)
def test_what_cannot_work_is_refused_at_once(call: Callable[[], object], said: str) -> None:
    with pytest.raises(HipportError, match=said):
        call()
