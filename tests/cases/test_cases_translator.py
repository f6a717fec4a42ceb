"""Porting problems from the field in headers, launches, gates and build files: the whole kind, not one snippet.

Numbers are those of the collection of field cases that the project works from.
"""

from __future__ import annotations

from functools import cache

import pytest

from hipport.core import FileResult, Severity, SourceFile, TranslateOptions
from hipport.rewrite import Project, translate_source
from hipport.rulebook import Rulebook, load_rulebook


@cache
def book() -> Rulebook:
    return load_rulebook()


def port(text: str, path: str = "case.cu", project: Project = Project(), **options: object) -> FileResult:  # noqa: B008
    given = TranslateOptions(**options)  # type: ignore[arg-type]
    result = translate_source(SourceFile(path, text.encode()), book(), given, project)
    again = translate_source(SourceFile(path, result.output), book(), given, project)
    assert again.output == result.output, "a second run changes something"
    assert result.parse_errors_after <= result.parse_errors_before
    return result


def said(result: FileResult, identity: str) -> list[tuple[int, str]]:
    return [(d.line, d.message) for d in result.diagnostics if d.id == identity]


class TestHostGuard:
    """Case 7 (HeCBench#180): the program refuses every wave64 device."""

    TEXT = "#include <cuda_runtime.h>\nbool ok() {{ cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); return {}; }}\n"

    @pytest.mark.parametrize("test", ["p.warpSize == 32", "32 != p.warpSize", "!(p.warpSize != 32)"])
    def test_reported_and_kept(self, test: str) -> None:
        result = port(self.TEXT.format(test))
        assert test in result.output.decode()
        ((line, message),) = said(result, "HP410")
        assert line == 2
        assert "gfx942" in message

    def test_no_wave64_target(self) -> None:
        assert said(port(self.TEXT.format("p.warpSize == 32"), targets=("gfx1100", "gfx1201")), "HP410") == []


class TestSharedArraySizedByWarp:
    """Case 8 (exllamav2#807): warpSize is no constant on ROCm 7."""

    @pytest.mark.parametrize(
        "text",
        [
            "#define NW (1024 / warpSize)\n__global__ void norm() { __shared__ float s[NW]; s[threadIdx.x] = 0.f; }\n",
            "__global__ void norm() { __shared__ float s[1024 / warpSize]; s[threadIdx.x] = 0.f; }\n",
            "template <int N> struct S { float v[N]; };\n__global__ void k() { S<warpSize> s; s.v[0] = 0; }\n",
        ],
    )
    @pytest.mark.parametrize("model", ["logical32", "padded"])
    def test_no_bound_depends_on_the_device(self, text: str, model: str) -> None:
        output = port(text, warp_model=model).output.decode()
        assert "warpSize" not in output


class TestWaveDependentHostMacro:
    """Case 9 (bitsandbytes#1885): the host pass knows no processor macro."""

    @pytest.mark.parametrize("condition", ["#ifdef __GFX9__", "#if defined(__gfx90a__) || defined(__gfx942__)"])
    def test_launch_with_it_is_an_error(self, condition: str) -> None:
        text = f"{condition}\n#define LANES 64\n#else\n#define LANES 32\n#endif\n"
        text += "__global__ void q(float* p) { p[threadIdx.x] = LANES; }\n"
        text += "void go(float* p) { q<<<4, 4 * LANES>>>(p); }\n"
        result = port(text)
        assert result.output.decode() == text
        ((line, message),) = said(result, "HP411")
        assert line == 7
        assert "32 or 64" in message

    def test_same_value_everywhere(self) -> None:
        text = "#ifdef __GFX9__\n#define LANES 32\n#else\n#define LANES 32\n#endif\nint n() { return LANES; }\n"
        assert said(port(text), "HP411") == []


class TestLaunchBounds:
    """Case 11 (hip#2062): the second argument means something else."""

    @pytest.mark.parametrize("keyword", ["__global__ void {}", "__global__ {} void", "{} __global__ void"])
    def test_every_place_of_the_attribute(self, keyword: str) -> None:
        text = keyword.format("__launch_bounds__(256, 2)") + " axpy(float* y) { y[threadIdx.x] = 1.f; }\n"
        output = port(text).output.decode()
        assert "__launch_bounds__(256, hipport::waves_per_eu(256, 2))" in output
        assert output.startswith("#include <hipport/launch.h>\n")

    def test_cluster_argument_is_dropped_and_reported(self) -> None:
        result = port("__global__ void __launch_bounds__(128, 1, 2) k(float* y) { y[0] = 1.f; }\n")
        assert "__launch_bounds__(128, hipport::waves_per_eu(128, 1))" in result.output.decode()
        assert said(result, "HP401")


class TestSharedMemoryOptIn:
    """Case 12 (hip#3122): more LDS than a workgroup can have."""

    TEXT = (
        "__global__ void tile(float*) { extern __shared__ char buf[]; buf[threadIdx.x] = 0; }\n"
        "void run(float* p) {\n  const int bytes = 96 * 1024;\n"
        "  cudaFuncSetAttribute(tile, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);\n"
        "  tile<<<1, 128, bytes>>>(p);\n}\n"
    )

    def test_error_names_the_targets(self) -> None:
        result = port(self.TEXT, targets=("gfx90a", "gfx942", "gfx950"))
        assert "hipFuncSetAttribute(reinterpret_cast<const void*>(tile)," in result.output.decode()
        (found,) = [d for d in result.diagnostics if d.id == "HP404"]
        assert (found.severity, found.count, found.line) == (Severity.ERROR, 2, 4)
        assert "98304 bytes" in found.message
        assert "gfx90a (65536), gfx942 (65536)" in found.message
        assert "gfx950" not in found.message

    def test_fits(self) -> None:
        assert said(port(self.TEXT, targets=("gfx950",)), "HP404") == []


class TestCapabilityCollision:
    """Case 25: gfx90a says 9 where CUDA code looks for Hopper."""

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (
                "cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); return p.major >= 9;",
                "capability_major(p.major) >= 9",
            ),
            ("cudaDeviceProp* q = props(); return q->major == 8 && q->minor > 0;", "capability_minor(q->minor) > 0"),
            (
                "auto* d = at::cuda::getCurrentDeviceProperties(); return d->major > 7;",
                "capability_major(d->major) > 7",
            ),
        ],
    )
    def test_comparison_gets_the_level_of_the_code(self, body: str, expected: str) -> None:
        result = port("#include <cuda_runtime.h>\nbool f() { " + body + " }\n")
        assert expected in result.output.decode()
        assert "#include <hipport/capability.h>" in result.output.decode()
        assert said(result, "HP409")

    def test_report_says_what_the_target_answers(self) -> None:
        text = "bool f(const cudaDeviceProp& p) { return p.major >= 9; }\n"
        messages = [m for _, m in said(port(text, targets=("gfx90a", "gfx1100")), "HP409")]
        assert "gfx90a reports 9 (true), gfx1100 reports 11 (true)" in messages[0]

    def test_device_side_gate_agrees(self) -> None:
        result = port("#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 900)\n#define HOPPER\n#endif\n")
        assert "HIPPORT_CUDA_ARCH >= 900" in result.output.decode()
        assert said(result, "HP405")


class TestCharVectorSign:
    """Case 27: elements of char vectors are plain char on HIP."""

    @pytest.mark.parametrize(
        "text",
        [
            "__device__ signed char& first(char4& v) { return v.x; }\n",
            "__device__ const signed char* second(const char2* v) { return &v->y; }\n",
            "__device__ void f(char3 v) { signed char& r = v.z; r = 1; }\n",
        ],
    )
    def test_reported(self, text: str) -> None:
        result = port(text)
        assert len(said(result, "HP302")) == 1

    def test_values_convert(self) -> None:
        assert said(port("__device__ signed char first(char4 v) { return v.x; }\n"), "HP302") == []


class TestIncludeWords:
    """Case 28 (HIPIFY#456): only real CUDA headers are CUDA headers."""

    def test_lookalikes_comments_and_strings(self) -> None:
        text = (
            '#include "proj-cuda.h"\n#include "cuda_utils/cuda.h"\n#include <vendor/cuda_runtime.h>\n'
            'const char* m = "cudaMalloc failed"; // cudaMalloc, #include <cuda.h>\n'
        )
        result = port(text)
        assert result.output.decode() == text
        assert result.edits == ()

    def test_real_ones(self) -> None:
        output = port('#include <cuda_runtime.h>\n# include "cuda.h"\n').output.decode()
        assert output == '#include <hip/hip_runtime.h>\n# include "hip/hip_runtime.h"\n'

    def test_the_projects_own_cuda_h(self) -> None:
        project = Project(files=frozenset({"src/cuda.h", "src/case.cu"}))
        assert port('#include "cuda.h"\n', "src/case.cu", project).output == b'#include "cuda.h"\n'


class TestKernelAssert:
    """Case 29 (clr#12): a trap written as PTX."""

    @pytest.mark.parametrize(
        "statement", ['asm("trap;");', 'asm volatile("trap;");', '__asm__ volatile ("trap;" ::: "memory");']
    )
    def test_no_ptx_is_left(self, statement: str) -> None:
        result = port(f"__device__ void chk(bool ok) {{ if (!ok) {statement} }}\n")
        output = result.output.decode()
        assert "asm" not in output or said(result, "HP910")
        assert "trap" in output


class TestIncludesFollowRenames:
    """Case 33 (mmcv#1394): a file is renamed and its include is not."""

    FILES = Project(files=frozenset({"ops/ball_cuda_kernel.cuh", "ops/ball_cuda.cu", "ops/sub/use.cu", "ops/ball.h"}))

    @pytest.mark.parametrize(
        ("path", "include"),
        [
            ("ops/ball_cuda.cu", '"ball_cuda_kernel.cuh"'),
            ("ops/sub/use.cu", '"../ball_cuda_kernel.cuh"'),
            ("ops/sub/use.cu", '"ops/ball_cuda_kernel.cuh"'),
        ],
    )
    def test_include_names_the_output_file(self, path: str, include: str) -> None:
        header = port("int a;\n", "ops/ball_cuda_kernel.cuh", self.FILES, rename=True)
        result = port(f"#include {include}\nint b;\n", path, self.FILES, rename=True)
        assert result.output_path == path[: -len(".cu")] + ".hip"
        assert header.output_path.rpartition("/")[2] == "ball_cuda_kernel.hip.h"
        assert result.includes == (include.replace(".cuh", ".hip.h"),)

    def test_names_are_kept_by_default(self) -> None:
        result = port('#include "ball_cuda_kernel.cuh"\n', "ops/ball_cuda.cu", self.FILES)
        assert (result.output_path, result.edits) == ("ops/ball_cuda.cu", ())

    def test_an_edited_input_is_translated_again(self) -> None:
        first = port("void f() { cudaFree(0); }\n")
        second = port("void f() { cudaFree(0); cudaFree(1); }\n")
        assert second.output == first.output.replace(b"hipFree(0);", b"hipFree(0); hipFree(1);")


class TestCMake:
    """Case 34 (hip#2158): .cu sources that nothing compiles."""

    TEXT = (
        "cmake_minimum_required(VERSION 3.21)\nproject(fa LANGUAGES CXX CUDA)\nadd_library(fa fwd.cu host.cpp)\n"
        'set_target_properties(fa PROPERTIES CUDA_ARCHITECTURES "80;90")\n'
    )

    def test_language_sources_and_architectures(self) -> None:
        assert port(self.TEXT, "CMakeLists.txt").output.decode() == (
            "cmake_minimum_required(VERSION 3.21)\nproject(fa LANGUAGES CXX HIP)\nadd_library(fa fwd.cu host.cpp)\n"
            "set_source_files_properties(fwd.cu PROPERTIES LANGUAGE HIP)\n"
            'set_target_properties(fa PROPERTIES HIP_ARCHITECTURES "gfx942")\n'
        )

    def test_a_project_with_both_branches_is_unchanged(self) -> None:
        text = "if(USE_ROCM)\n  enable_language(HIP)\nelse()\n" + self.TEXT + "endif()\n"
        assert port(text, "sub/CMakeLists.txt").output.decode() == text


class TestHalfPortedCode:
    """Branches for AMD, and the other branch of the same condition, stay as they are."""

    @pytest.mark.parametrize(
        "condition",
        [
            "#ifdef USE_ROCM",
            "#if defined(__HIP_PLATFORM_AMD__)",
            "#if defined(__HIPCC__)",
            "#if __HIP__",
            "#if defined(USE_ROCM) && 1",
        ],
    )
    def test_both_branches_stay(self, condition: str) -> None:
        text = f"{condition}\nvoid a() {{ hipFree(0); cudaFree(0); }}\n#else\nvoid a() {{ cudaFree(0); }}\n#endif\n"
        text += "void b() { cudaFree(0); }\n"
        result = port(text)
        assert result.output.decode() == text.replace("b() { cudaFree", "b() { hipFree")
        assert said(result, "HP907")
        assert not said(result, "HP900")

    def test_hipified_file(self) -> None:
        text = '#include "hip/hip_runtime.h"\nvoid f(hipStream_t s) { hipFree(0); k<<<1, 2, 0, s>>>(); }\n'
        result = port(text)
        assert (result.output.decode(), result.diagnostics) == (text, ())
