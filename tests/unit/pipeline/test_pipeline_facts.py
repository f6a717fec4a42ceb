"""``--facts``: what a compiler front end knows decides where the text alone cannot; every case with its near-miss.

The CUDA headers are a few declarations written here, as NVIDIA documents them, so that no toolkit is needed.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.cli.translate import command
from hipport.core import HipportError
from hipport.sdk import Sdk, find_sdk

pytestmark = pytest.mark.sdk

RUNTIME = """#pragma once
#pragma GCC system_header
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
typedef int cudaError_t;
typedef struct CUstream_st* cudaStream_t;
struct cudaDeviceProp { char name[256]; int major; int minor; int warpSize; };
struct dim3 { unsigned x, y, z; __host__ __device__ dim3(unsigned a = 1) : x(a), y(1), z(1) {} };
extern "C" cudaError_t cudaFree(void*);
extern "C" cudaError_t cudaGetDeviceProperties(cudaDeviceProp*, int);
extern "C" unsigned __cudaPushCallConfiguration(dim3, dim3, unsigned long = 0, cudaStream_t = 0);
template <class T> cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes*, T*);
template <class T> cudaError_t cudaFuncSetAttribute(T*, int, int);
struct __nv_bfloat16 { unsigned short bits; };
__device__ float __shfl_xor_sync(unsigned, float, int, int = 32);
__device__ __nv_bfloat16 __shfl_xor_sync(unsigned, __nv_bfloat16, int, int = 32);
"""


@pytest.fixture(scope="module")
def sdk() -> Sdk:
    """The toolchain of this machine, found in its own cache."""
    return find_sdk()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests: the rulebook is compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sdk: Sdk, cache: Path) -> Path:
    """A folder with settings for facts, which ``--facts`` turns on."""
    monkeypatch.setenv("HIPPORT_CACHE", str(cache))
    monkeypatch.setattr("hipport.sdk.find_sdk", lambda: sdk)
    for name in ("CUDA_PATH", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "toolkit").mkdir()
    (tmp_path / "toolkit" / "cuda_runtime.h").write_text(RUNTIME)
    (tmp_path / "src").mkdir()
    (tmp_path / "hipport.toml").write_text('include = ["toolkit"]\nflags = ["-std=c++17"]\n')
    monkeypatch.setattr("hipport.pipeline.facts.find_cuda", lambda compilers: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def translated(project: Path, *options: str, **files: str) -> tuple[dict[str, str], list[dict[str, object]]]:
    """Output texts by file (``a_cu`` names a.cu) and findings."""
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (project / "src" / f"{stem}.{suffix}").write_text(text)
    done = CliRunner().invoke(command, ["src", "--json", "--force", *options], standalone_mode=False)
    assert done.exception is None, done.exception
    out = project / "generated_hip"
    texts = {path.name: path.read_text() for path in out.iterdir() if path.suffix in (".cu", ".h")}
    return texts, json.loads(done.stdout)["diagnostics"]


def ids(findings: list[dict[str, object]]) -> list[object]:
    return sorted({finding["id"] for finding in findings})


OWN = """#include "own.h"
namespace mine { void cudaFree(void*); inline void release(void* p) { cudaFree(p); ::cudaFree(p); cudaMagic(p); } }
void host(void* p) { mine::cudaFree(p); cudaFree(p); }
"""
OWN_HEADER = """#include <cuda_runtime.h>
extern "C" cudaError_t cudaFree(void*);
namespace mine { void cudaMagic(void*); }
"""


def test_functions_of_the_program_keep_their_names(project: Path) -> None:
    texts, findings = translated(project, "--facts", a_cu=OWN, own_h=OWN_HEADER)
    assert "namespace mine { void cudaFree(void*); " in texts["a.cu"]
    assert "{ cudaFree(p); ::hipFree(p); cudaMagic(p); }" in texts["a.cu"]
    assert "{ mine::cudaFree(p); hipFree(p); }" in texts["a.cu"]
    assert "hipError_t hipFree(void*)" in texts["own.h"], "a declaration that repeats the vendor's is no own function"
    assert ids(findings) == ["HP918"]
    assert all(finding["severity"] == "note" for finding in findings)


def test_without_facts_spelling_decides(project: Path) -> None:
    texts, findings = translated(project, a_cu=OWN, own_h=OWN_HEADER)
    assert "{ cudaFree(p); ::hipFree(p); cudaMagic(p); }" in texts["a.cu"]  # the file itself declares it
    assert "HP900" in ids(findings), "cudaMagic looks like CUDA"


CURRENT = "#include <cuda_runtime.h>\nconst cudaDeviceProp& current();\n"
PROPERTIES = """#include "current.h"
struct Version { int major, warpSize; };
bool by_device() { return current().major >= 8; }
bool by_version(Version p) { return p.major >= 8 && p.warpSize == 32; }
bool asked() { cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); return p.warpSize == 32; }
"""


def test_fields_by_their_class(project: Path) -> None:
    texts, findings = translated(project, "--facts", a_cu=PROPERTIES, current_h=CURRENT)
    assert "hipport::capability_major(current().major) >= 8" in texts["a.cu"]
    assert "return p.major >= 8 && p.warpSize == 32; }" in texts["a.cu"]
    assert [finding["line"] for finding in findings if finding["id"] == "HP410"] == [5]


def test_fields_by_spelling_without_facts(project: Path) -> None:
    texts, findings = translated(project, a_cu=PROPERTIES, current_h=CURRENT)
    assert "hipport::capability_major(current().major)" not in texts["a.cu"]
    assert "hipport::capability_major(p.major)" in texts["a.cu"], "some p of the file is a device-properties record"
    assert [(f["line"], f["count"]) for f in findings if f["id"] == "HP410"] == [(4, 2)]


SHUFFLES = """#include <cuda_runtime.h>
__device__ float f(float v) { return __shfl_xor_sync(0xffffffff, v, 1); }
__device__ __nv_bfloat16 b(__nv_bfloat16 v) { return __shfl_xor_sync(0xffffffff, v, 1); }
"""


def test_shuffled_types(project: Path) -> None:
    texts, _ = translated(project, "--facts", a_cu=SHUFFLES)
    assert "return __shfl_xor(v, 1, 32); }" in texts["a.cu"].split("\n")[-3]
    assert "return hipport::shfl_xor_sync(0xffffffff, v, 1); }" in texts["a.cu"].split("\n")[-2]


def test_shuffled_types_are_suspected_without_facts(project: Path) -> None:
    texts, _ = translated(project, a_cu=SHUFFLES)
    assert texts["a.cu"].count("hipport::shfl_xor_sync(0xffffffff, v, 1)") == 2


SIDES = """#include <cuda_runtime.h>
#include "sides.h"
__global__ void child() {}
API_FUNC void on_device() { child<<<1, 1>>>(); }
HOST_FUNC void on_host() { child<<<1, 1>>>(); }
"""


def test_side_behind_a_macro_of_another_file(project: Path) -> None:
    header = "#define API_FUNC __attribute__((device))\n#define HOST_FUNC __attribute__((host))\n"
    _, findings = translated(project, "--facts", a_cu=SIDES, sides_h=header)
    assert [finding["line"] for finding in findings if finding["id"] == "HP414"] == [4]
    _, findings = translated(project, a_cu=SIDES, sides_h=header)
    assert "HP414" not in ids(findings)


POINTERS = """#include <cuda_runtime.h>
__global__ void kernel(float*);
void set(const void* known) { cudaFuncSetAttribute(kernel, 8, 1); cudaFuncSetAttribute(known, 8, 1); }
"""


def test_pointers_that_need_no_cast(project: Path) -> None:
    texts, _ = translated(project, "--facts", a_cu=POINTERS)
    assert "hipFuncSetAttribute(reinterpret_cast<const void*>(kernel), 8, 1)" in texts["a.cu"]
    assert "hipFuncSetAttribute(known, 8, 1)" in texts["a.cu"]
    texts, _ = translated(project, a_cu=POINTERS)
    assert texts["a.cu"].count("reinterpret_cast<const void*>") == 2


def test_a_header_changes_what_is_known(project: Path) -> None:
    main = '#include "own.h"\nvoid host(void* p) { using namespace mine; release(p); cudaSpecial(p); }\n'
    own = "namespace mine { void release(void*); void cudaSpecial(void*); }\n"
    _, findings = translated(project, "--facts", a_cu=main, own_h=own)
    assert findings == []
    again = CliRunner().invoke(command, ["src", "--json", "--facts"], standalone_mode=False)
    assert json.loads(again.stdout)["translated_now"] == 0
    _, findings = translated(project, "--facts", own_h="namespace mine { void release(void*); }\n")
    assert "HP900" in ids(findings), "nobody declares cudaSpecial any more"


def test_compile_database(project: Path) -> None:
    (project / "hipport.toml").write_text("")
    database = project / "compile_commands.json"
    entry = {"directory": str(project / "src"), "file": "a.cu", "command": "nvcc -I../toolkit -DVENDOR=0 -c a.cu"}
    database.write_text(json.dumps([entry]))
    text = """#include <cuda_runtime.h>
#if !VENDOR
#define DECLARE(name) void name(void*)
#else
#define DECLARE(name) static_assert(true)
#endif
namespace mine {
DECLARE(cudaFree);
void f(void* p) { cudaFree(p); }
}
"""
    texts, findings = translated(project, "--compile-commands", str(database), a_cu=text, b_cu=text)
    assert "void f(void* p) { cudaFree(p); }" in texts["a.cu"]
    assert "void f(void* p) { hipFree(p); }" in texts["b.cu"]
    assert [(f["id"], f["path"]) for f in findings] == [("HP918", "a.cu"), ("HP917", "b.cu")]
    assert "no unit whose flags are known reads this file" in str(findings[1]["message"])


def test_errors_of_the_front_end_are_said(project: Path) -> None:
    text = '#include "missing.h"\n#include <cuda_runtime.h>\nvoid f(void* p) { cudaFree(p); }\n'
    texts, findings = translated(project, "--facts", a_cu=text)
    assert "hipFree(p)" in texts["a.cu"]
    assert [f["id"] for f in findings] == ["HP917"]
    assert "'missing.h' file not found" in str(findings[0]["message"])
    assert str(project) not in json.dumps(findings)


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ("", ["--facts"], "needs the flags"),
        ("", ["--compile-commands", "none.json"], "does not exist"),
        ('include = ["src"]', ["--facts"], "no CUDA headers"),
        ('cuda_path = "none"\ninclude = ["src"]', ["--facts"], "has no folder include"),
        ('compile_commands = "hipport.toml"', ["--facts"], "no compile database"),
    ],
)
def test_refusals(project: Path, settings: str, arguments: list[str], message: str) -> None:
    (project / "hipport.toml").write_text(settings)
    (project / "src" / "a.cu").write_text("int a;\n")
    with pytest.raises(HipportError, match=message):
        CliRunner().invoke(command, ["src", *arguments], standalone_mode=False, catch_exceptions=False)
    assert not (project / "generated_hip").exists()
