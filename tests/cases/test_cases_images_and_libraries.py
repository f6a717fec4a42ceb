"""Field cases of textures, dynamic parallelism and CUB's warp primitives: the whole kind, and near misses."""

from __future__ import annotations

from functools import cache

import pytest

from hipport.core import FileResult, Severity, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook


@cache
def book() -> Rulebook:
    return load_rulebook()


def port(text: str, **options: object) -> FileResult:
    given = TranslateOptions(**options)  # type: ignore[arg-type]
    result = translate_source(SourceFile("case.cu", text.encode()), book(), given)
    again = translate_source(SourceFile("case.cu", result.output), book(), given)
    assert again.output == result.output, "a second run changes something"
    return result


def severities(result: FileResult, identity: str) -> list[Severity]:
    return [d.severity for d in result.diagnostics if d.id == identity]


class TestTextures:
    """Case 30 (clr#276): no image instructions on CDNA3 and CDNA4, plain ones on CDNA2."""

    SAMPLE = "__global__ void s(cudaTextureObject_t t, float* o) {{ o[0] = {}; }}\n"

    @pytest.mark.parametrize(
        "use",
        [
            "tex2D<float>(t, threadIdx.x + .5f, .5f)",
            "tex1Dfetch<float4>(t, 3).x",
            "::tex3D<float>(t, 1, 2, 3)",
            "tex2DLayered<float>(t, 1, 2, 3)",
            "1.f + tex2D <float> (t, 1, 2)",
            "surf2Dread<float>(t, 4, 0)",
        ],
    )
    @pytest.mark.parametrize("target", ["gfx942", "gfx950"])
    def test_cdna_is_an_error_with_a_way_out(self, use: str, target: str) -> None:
        (found,) = [d for d in port(self.SAMPLE.format(use), targets=(target,)).diagnostics if d.id == "HP304"]
        assert found.severity is Severity.ERROR
        assert target in found.message
        assert "hipport/texture.h" in found.next_step

    @pytest.mark.parametrize(
        "use", ["tex2DLod<float>(t, 1, 2, 0)", "tex2Dgather<float4>(t, 1, 2).x", "tex1DGrad<float>(t, 1, 2, 3)"]
    )
    def test_gfx90a_drops_levels_and_gathers(self, use: str) -> None:
        (found,) = [d for d in port(self.SAMPLE.format(use), targets=("gfx90a",)).diagnostics if d.id == "HP304"]
        assert (found.severity, "with levels or gathers" in found.message) == (Severity.ERROR, True)

    @pytest.mark.parametrize("use", ["tex2D<float>(t, 1, 2)", "tex1Dfetch<float>(t, 1)", "surf2Dread<float>(t, 4, 0)"])
    def test_gfx90a_has_plain_ones(self, use: str) -> None:
        assert severities(port(self.SAMPLE.format(use), targets=("gfx90a",)), "HP304") == []

    def test_in_a_macro_a_template_and_crlf(self) -> None:
        text = (
            "#define SAMPLE(t, x) \\\r\n  tex2D<float>(t, x, 0.f)\r\n"
            "template <typename T> __device__ T at(cudaTextureObject_t t) { return tex2D<T>(t, 0, 0); }\r\n"
        )
        (found,) = [d for d in port(text).diagnostics if d.id == "HP304"]
        assert (found.line, found.count) == (2, 2)

    @pytest.mark.parametrize("targets", [("gfx1100",), ("gfx1201",), ("gfx1100", "gfx1201")])
    def test_rdna_has_them(self, targets: tuple[str, ...]) -> None:
        result = port(self.SAMPLE.format("tex2D<float>(t, 1, 2)"), targets=targets)
        assert severities(result, "HP304") == []
        assert "hipTextureObject_t t" in result.output.decode()

    def test_the_host_side_fails_at_run_time(self) -> None:
        text = "void f(cudaTextureObject_t* t, cudaResourceDesc* r) { cudaCreateTextureObject(t, r, 0, 0); }\n"
        assert severities(port(text), "HP304") == [Severity.WARNING]
        assert severities(port(text, targets=("gfx1100",)), "HP304") == []

    @pytest.mark.parametrize(
        "text",
        [
            "struct M { float tex2D(float, float); }; float f(M& m) { return m.tex2D(0, 1); }\n",
            "namespace soft { float tex2D(int); } float f() { return soft::tex2D(1); }\n",
            'const char* s = "tex2D<float>(t, 0, 0)"; // tex2D<float>(t, 0, 0)\n',
            "#define tex2D(t, x, y) ((t)[x])\nfloat f(float* t) { return tex2D(t, 0, 0); }\n",
            "#ifdef USE_ROCM\nfloat f();\n#else\nfloat f() { return tex2D<float>(t, 0, 0); }\n#endif\n",
            "int tex2D_calls, tex2D = 0;\n",
        ],
    )
    def test_near_misses(self, text: str) -> None:
        assert severities(port(text), "HP304") == []


class TestDynamicParallelism:
    """A launch in device code has no counterpart."""

    CHILD = "template <int N> __global__ void child(int* p) { p[0] = N; }\n"

    @pytest.mark.parametrize(
        "text",
        [
            "__global__ void parent(int* p) { if (threadIdx.x == 0) child<3><<<1, 32>>>(p); }\n",
            "__device__ void spawn(int* p) { child<(4 > 3)><<<dim3(1), 32, 0, 0>>>(p); }\n",
            "namespace a { struct S { __device__ void go(int* p) { child<1><<<1, 1>>>(p); } }; }\n",
        ],
    )
    def test_error(self, text: str) -> None:
        assert severities(port(self.CHILD + text), "HP414") == [Severity.ERROR]

    @pytest.mark.parametrize(
        "text",
        [
            "void run(int* p) { child<3><<<1, 32>>>(p); }\n",
            "#define RUN(p) child<1><<<1, 1>>>(p)\nvoid f(int* p) { RUN(p); }\n",
            "template <class T> void run(T* p) { auto go = [&] { child<1><<<1, 1>>>(p); }; go(); }\n",
        ],
    )
    def test_host_code(self, text: str) -> None:
        assert severities(port(self.CHILD + text), "HP414") == []


class TestCubWarpPrimitives:
    """The default width of a warp primitive is CUDA's 32, in every target's code."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("cub::WarpReduce<int>", "hipcub::WarpReduce<int, 32>"),
            ("typename cub::WarpScan<typename T::type>::TempStorage", "hipcub::WarpScan<typename T::type, 32>::"),
            ("cub::WarpReduce<std::array<int, (3 > 2)>>", "hipcub::WarpReduce<std::array<int, (3 > 2)>, 32>"),
            ("::cub::WarpLoad<int, 4>", "::hipcub::WarpLoad<int, 4, hipcub::WARP_LOAD_DIRECT, 32>"),
            ("cub::WarpReduce<int, 8>", "hipcub::WarpReduce<int, 8>"),
        ],
    )
    @pytest.mark.parametrize("form", ["template <class T> using W = {};\n", "#define W {}\n"])
    def test_width(self, before: str, after: str, form: str) -> None:
        text = "#include <cub/cub.cuh>\n" + form.format(before)
        assert after in port(text).output.decode()

    def test_own_class_and_every_model(self) -> None:
        own = "template <class T> struct WarpReduce {}; using W = WarpReduce<int>;\n"
        assert port(own).output.decode() == own
        text = "using W = cub::WarpReduce<int>;\n"
        for model in ("native64", "padded"):  # they change no result either
            assert "hipcub::WarpReduce<int, 32>;" in port(text, warp_model=model).output.decode()


class TestWarpTransposingLoads:
    """10: hipCUB asserts that the block is a multiple of the wavefront."""

    @pytest.mark.parametrize("name", ["BLOCK_LOAD_WARP_TRANSPOSE", "BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED"])
    def test_renamed_and_reported(self, name: str) -> None:
        kind = "BlockLoad" if "LOAD" in name else "BlockStore"
        result = port(f"#include <cub/cub.cuh>\nusing L = cub::{kind}<float, 32, 4, cub::{name}>;\n")
        assert f"hipcub::{kind}<float, 32, 4, hipcub::{name}>".encode() in result.output
        (found,) = [d for d in result.diagnostics if d.id == "HP715"]
        assert found.severity.needs_person
        assert "multiple of the wavefront" in found.message

    def test_the_plain_variants_are_no_hazard(self) -> None:
        text = "#include <cub/cub.cuh>\nusing L = cub::BlockLoad<float, 32, 4, cub::BLOCK_LOAD_TRANSPOSE>;\n"
        result = port(text)
        assert b"hipcub::BlockLoad<float, 32, 4, hipcub::BLOCK_LOAD_TRANSPOSE>" in result.output
        assert result.diagnostics == ()


class TestCuteAtoms:
    """20: an atom of NVIDIA's tensor cores in CuTe code that no pack knows."""

    def test_refused_by_name(self) -> None:
        text = "#include <cute/tensor.hpp>\nusing A = cute::MMA_Atom<cute::SM80_16x8x16_F32F16F16F32_TN>;\n"
        result = port(text)
        assert result.output == text.encode()
        assert ("HP911", "SM80_16x8x16_F32F16F16F32_TN") in {(d.id, d.subject) for d in result.diagnostics}

    def test_a_name_of_the_program(self) -> None:
        assert port("#define SM80_TILE 16\nint a[SM80_TILE], SM80x;\n").diagnostics == ()


class TestLibraryNames:
    """Names that looked without counterpart and have one."""

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("struct __align__(16) S { int a; };", "struct __align__(16) S { int a; };"),
            ("#include <cuda/std/tuple>", "#include <tuple>"),
            (
                "using T = cuda::std::tuple<int, cuda::std::array<int, 2>>;",
                "using T = std::tuple<int, std::array<int, 2>>;",
            ),
            ("#include <cuda_pipeline.h>", "#include <hipport/pipeline.h>"),
            ("const char* s = cublasGetStatusString(st);", "const char* s = hipblasStatusToString(st);"),
            ("cudaError_t f() { return CubDebug(cudaFree(0)); }", "hipError_t f() { return HipcubDebug(hipFree(0)); }"),
        ],
    )
    def test_known(self, before: str, after: str) -> None:
        result = port(before + "\n")
        assert result.output.decode() == after + "\n"
        assert result.diagnostics == ()

    def test_pipeline_primitives_bring_their_header(self) -> None:
        text = "__global__ void k(int* s, int* g) { __pipeline_memcpy_async(s, g, 4); __pipeline_commit(); }\n"
        result = port(text)
        assert result.output.decode() == "#include <hipport/pipeline.h>\n" + text
        assert result.diagnostics == ()

    def test_what_cuda_std_lacks_stays_reported(self) -> None:
        assert severities(port("#include <cuda/std/atomic>\n#include <cuda/barrier>\n"), "HP119")

    def test_atomics_of_libcuxx(self) -> None:
        text = (
            "#include <cuda/atomic>\n"
            "__global__ void k(int* p) { cuda::atomic_ref<int, cuda::thread_scope_block> r(*p);\n"
            "  r.fetch_add(1, cuda::memory_order_relaxed); r.store(2, cuda::std::memory_order_release); }\n"
        )
        result = port(text)
        output = result.output.decode()
        assert "#include <hipport/atomic.h>" in output
        assert "hipport::atomic_ref<int, hipport::thread_scope_block>" in output
        assert "r.fetch_add(1, std::memory_order_relaxed); r.store(2, std::memory_order_release);" in output
        assert result.diagnostics == ()

    @pytest.mark.parametrize(
        ("text", "subjects"),
        [
            ("void f() { cuda::new_thing(1); ::cuda::other<int> x; }\n", ["cuda::new_thing", "cuda::other"]),
            ("namespace cuda { void mine(); }\nvoid f() { cuda::mine(); }\n", []),
            ("namespace at { void f() { cuda::mine(); } }\n", []),
            ("void f() { at::cuda::mine(); mine :: cuda :: f(); }\n", []),
        ],
    )
    def test_unknown_names_of_namespace_cuda(self, text: str, subjects: list[str]) -> None:
        assert [d.subject for d in port(text).diagnostics if d.id == "HP900"] == subjects
