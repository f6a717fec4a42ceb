"""Parameters by name, and a library of entry points over a HIP runtime that is a few lines of C."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from hipport.core import HipportError
from hipport.core.files import package_root
from hipport.emulator.build import host_compiler
from hipport.flash.kernels import Forward, SplitForward
from hipport.flash.launch import run
from hipport.flash.library import HEADER, Launch, Pointer, _one_runtime, layout, pack, parameter_fields

# Device memory is the host's; a process that leaks some ends by SIGABRT.
RUNTIME = """
#include <stdlib.h>
#include <string.h>
static int live;
int hipMalloc(void** address, size_t n) { ++live; return (*address = malloc(n)) ? 0 : 2; }
int hipFree(void* address) { live -= address != NULL; free(address); return 0; }
int hipMemcpy(void* to, const void* from, size_t n, int kind) { memcpy(to, from, n); return kind != 1 && kind != 2; }
int hipDeviceSynchronize(void) { return getenv("FAULT") ? 700 : 0; }
const char* hipGetErrorString(int code) { return code == 700 ? "an illegal memory access" : "refused"; }
__attribute__((destructor)) static void leaks(void) { if (live) abort(); }
"""
# q_ptr, k_ptr and o_ptr are the fields 0, 1 and 15; it adds what q and k point to and the stream.
ENTRIES = """
#include <stdint.h>
int hipMalloc(void**, unsigned long), hipMemcpy(void*, const void*, unsigned long, int);
uint64_t hipport_flash_layout(void) { return LAYOUTull; }
int hipport_add(const char* p, void* stream) {
  const int* q = *(const int**)p; const int* k = *(const int**)(p + 8); int* o = *(int**)(p + O_PTR);
  *o = *q + *k + (int)(uintptr_t)stream;
  return 0;
}
int hipport_refuses(const char* p, void* stream) { return 1; }
int hipport_crashes(const char* p, void* stream) { return *(volatile int*)16; }
void* uses[] = {hipMalloc, hipMemcpy};
"""
O_PTR = 3 * 8 + 9 * 8 + 3 * 4 + 4  # three pointers, nine strides, three int, padding


def compile_c(folder: Path, name: str, text: str, *flags: str) -> Path:
    source, out = folder / f"{name}.c", folder / name
    source.write_text(text)
    command = [host_compiler(), "-x", "c", str(source), "-x", "none", "-shared", "-fPIC", "-w", "-o", str(out), *flags]
    subprocess.run(command, check=True)
    return out


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """entries.so and stale.so, in need of runtime/libamdhip64.so.6."""
    folder = tmp_path_factory.mktemp("library")
    (folder / "runtime").mkdir()
    runtime = compile_c(folder / "runtime", "libamdhip64.so.6", RUNTIME, "-Wl,-soname,libamdhip64.so.6")
    for name, value in (("entries.so", layout()), ("stale.so", layout() ^ 1)):
        text = ENTRIES.replace("LAYOUT", str(value)).replace("O_PTR", str(O_PTR))
        compile_c(folder, name, text, str(runtime))
    return folder


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(folder / "runtime")}


def add(path: Path, environment: Mapping[str, str], entry: str = "hipport_add", stream: int = 0) -> list[np.ndarray]:
    buffers = [(np.array([n], np.int32), wanted) for n, wanted in ((2, False), (40, False), (0, True))]
    buffers += [(np.zeros((0, 3), np.float32), True)]  # nothing to copy, but it comes back
    parameters = {"q_ptr": Pointer(0), "k_ptr": Pointer(1), "o_ptr": Pointer(2), "p_ptr": Pointer(3)}
    return run(path, environment, buffers, [Launch(entry, parameters, stream)])


def test_a_worker_runs_an_entry_and_brings_results_back(folder: Path, environment: dict[str, str]) -> None:
    result, empty = add(folder / "entries.so", environment)
    assert result.tolist() == [42]
    assert result.flags.writeable
    assert empty.shape == (0, 3)


def test_the_worker_imports_little() -> None:
    """A call should not wait for numpy, jinja2 or PyTorch."""
    code = "import sys, hipport.flash.worker; print(sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'hipport'" in done.stdout
    assert not [name for name in ("numpy", "jinja2", "torch", "click", "elftools") if f"'{name}'" in done.stdout]


@pytest.mark.parametrize(
    ("entry", "extra", "message"),
    [
        ("hipport_refuses", {}, r"hipport_refuses: refused \(1\) \(it was not compiled for these"),
        ("hipport_crashes", {}, "the kernel process was ended by signal 11"),
        ("hipport_absent", {}, "has no function hipport_absent .*the next call compiles it again"),
        ("hipport_add", {"FAULT": "1"}, r"hipDeviceSynchronize: an illegal memory access \(700\)"),
    ],
)
def test_errors_of_a_launch(
    folder: Path, environment: dict[str, str], entry: str, extra: dict[str, str], message: str
) -> None:
    with pytest.raises(HipportError, match=message) as raised:
        add(folder / "entries.so", environment | extra, entry)
    assert "\n" not in str(raised.value)


def test_errors_of_loading(folder: Path, environment: dict[str, str], tmp_path: Path) -> None:
    corrupt = tmp_path / "corrupt.so"
    corrupt.write_bytes(b"\x7fELF but no more")
    for path, variables, message in (
        (corrupt, environment, "cannot load .*corrupt.so.*remove"),
        (tmp_path / "absent.so", environment, "cannot load .*absent.so.*No such file"),
        (folder / "stale.so", environment, "stale.so was made by another version of hipport .*remove"),
        (folder / "entries.so", os.environ, r"there is no libamdhip64.so.6 on this machine \(install ROCm, or"),
    ):
        with pytest.raises(HipportError, match=message) as raised:
            add(path, variables)
        assert "\n" not in str(raised.value)


def test_a_runtime_that_the_linker_does_not_know_is_found_in_given_folders(folder: Path) -> None:
    """In a process of its own: a runtime stays loaded."""
    code = (
        "import sys; from pathlib import Path; import numpy as np;"
        "from hipport.flash.launch import Launch, Pointer, run_here; from hipport.flash.library import Library;"
        "folder = Path(sys.argv[1]); library = Library(folder / 'entries.so', [folder, folder / 'runtime']);"
        "one = np.array([1], np.int32); parameters = {'q_ptr': Pointer(0), 'k_ptr': Pointer(0), 'o_ptr': Pointer(1)};"
        "print(run_here(library, [(one, False), (one, True)], [Launch('hipport_add', parameters, 5)])[0], one)"
    )
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["[7]", "[1]"]), done.stderr


def test_addresses_of_the_device_are_used_in_place(folder: Path) -> None:
    """No buffer of the host: nothing is copied, allocated or waited for."""
    code = (
        "import sys, ctypes; from pathlib import Path;"
        "from hipport.flash.launch import Launch, run_here; from hipport.flash.library import Library;"
        "library = Library(Path(sys.argv[1]) / 'entries.so', [Path(sys.argv[1]) / 'runtime']);"
        "cell = ctypes.c_int(20); at = ctypes.addressof(cell);"
        "print(run_here(library, [], [Launch('hipport_add', dict(q_ptr=at, k_ptr=at, o_ptr=at), 1)] * 2), cell.value)"
    )
    environment = os.environ | {"FAULT": "1"}  # waiting would fail
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout.split()) == (0, ["[]", "83"]), done.stderr  # 20 + 20 + 1, twice that + 1


def test_two_runtimes_in_a_process_are_refused() -> None:
    line = "7f00-7f01 r-xp 00000000 08:01 42   {}\n"
    same = "".join(line.format("/opt/rocm/lib/libamdhip64.so.6.4.0") for _ in range(3))
    _one_runtime(same + line.format("/opt/rocm/lib/libhsa-runtime64.so.1"))
    with pytest.raises(HipportError, match=r"/opt/rocm/lib/libamdhip64.so.6.4.0, /v/torch/lib/libamdhip64.so "):
        _one_runtime(same + line.format("/v/torch/lib/libamdhip64.so"))


def test_fields_are_packed_where_c_puts_them() -> None:
    """Offsets by the rules of the x86-64 ABI: natural alignment, in the header's order."""
    sizes = {"address": 8, "int": 4, "int64_t": 8, "uint8_t": 1, "uint64_t": 8, "float": 4, "bool": 1}
    at, offsets = 0, {}
    for name, kind in parameter_fields().items():
        at = -(-at // sizes[kind]) * sizes[kind]
        offsets[name] = at
        at += sizes[kind]
    raw = bytes(pack({
        "q_ptr": Pointer(1), "k_batch_stride": -5, "h": 7, "scale_softmax": 0.125, "p_dropout_in_uint8_t": 255,
        "philox_seed": 2**64 - 1, "is_causal": 1, "softcap": 3, "cu_seqlens_q": 2**47, "seqlenq_ngroups_swapped": True,
    }, [16, 2**40]))  # fmt: skip
    assert len(raw) == -(-at // 8) * 8
    for name, code, value in (
        ("q_ptr", "Q", 2**40), ("k_batch_stride", "q", -5), ("h", "i", 7), ("scale_softmax", "f", 0.125),
        ("p_dropout_in_uint8_t", "B", 255), ("philox_seed", "Q", 2**64 - 1), ("is_causal", "?", True),
        ("softcap", "f", 3.0), ("cu_seqlens_q", "Q", 2**47), ("seqlenq_ngroups_swapped", "?", True), ("v_ptr", "Q", 0),
        ("d", "i", 0),
    ):  # fmt: skip
        assert struct.unpack_from(code, raw, offsets[name])[0] == value, name


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"blockmask": 1}, f"no parameter 'blockmask' .{HEADER}"),
        ({"h": 2**31}, "parameter h: 2147483648 is no int"),
        ({"h": 1.5}, "parameter h: 1.5 is no int"),
        ({"p_dropout_in_uint8_t": -1}, "is no uint8_t"),
        ({"is_causal": 2}, "parameter is_causal: 2 is no bool"),
        ({"q_ptr": -8}, "parameter q_ptr: -8 is no address"),
        ({"d": Pointer(0)}, "parameter d, int, is not for buffer 0"),
        ({"q_ptr": Pointer(1)}, "parameter q_ptr, address, is not for buffer 1"),
    ],
)
def test_wrong_parameters(parameters: dict[str, int | float | Pointer], message: str) -> None:
    with pytest.raises(HipportError, match=message):
        pack(parameters, [4096])


def test_names_of_entries() -> None:
    forward = Forward(64, False, causal=True, even_mn=True, even_k=True)
    assert forward.entry == "hipport_fwd_hd64_fp16_causal_even_mn_even_k"
    assert forward.combine_entry == ""
    split = SplitForward(128, True, append_kv=True, log_splits=2)
    assert split.entry == "hipport_split_hd128_bf16_even_k_append_kv_splits4"
    assert split.combine_entry == "hipport_combine_hd128_bf16_even_k_append_kv_splits4"
    assert SplitForward(32, False, even_k=False).entry == "hipport_split_hd32_fp16"
    assert SplitForward(32, False).combine_entry == ""


def test_the_package_ships_the_header() -> None:
    assert (package_root() / "include" / HEADER).is_file()
