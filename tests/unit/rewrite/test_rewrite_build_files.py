from __future__ import annotations

import pytest

from hipport.core import FileResult, FileState, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rewrite.nvcc_flags import for_hip
from hipport.rulebook import EMPTY

# What --use_fast_math means (nvcc manual), in clang's options. -ffast-math would also assume that nothing is infinite.
FAST_MATH = (
    "-fgpu-flush-denormals-to-zero",
    "-fno-hip-fp32-correctly-rounded-divide-sqrt",
    "-fgpu-approx-transcendentals",
)


def run(path: str, text: str, **options: object) -> FileResult:
    given = TranslateOptions(**options)  # type: ignore[arg-type]
    result = translate_source(SourceFile(path, text.encode()), EMPTY, given)
    again = translate_source(SourceFile(path, result.output), EMPTY, given)
    assert again.output == result.output, "a second run changes something"
    return result


def cmake(text: str, **options: object) -> str:
    return run("CMakeLists.txt", text, **options).output.decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("project(fa LANGUAGES CXX CUDA)\n", "project(fa LANGUAGES CXX HIP)\n"),
        ("project(fa CUDA)", "project(fa HIP)"),
        ("enable_language(CUDA) # CUDA", "enable_language(HIP) # CUDA"),
        ("ENABLE_LANGUAGE(CUDA OPTIONAL)", "ENABLE_LANGUAGE(HIP OPTIONAL)"),
        ("set(CMAKE_CUDA_ARCHITECTURES 80 90)", 'set(CMAKE_HIP_ARCHITECTURES "gfx942")'),
        ("set(CMAKE_CUDA_STANDARD 17)", "set(CMAKE_HIP_STANDARD 17)"),
        ("find_package(CUDAToolkit 11.4 REQUIRED)", "find_package(hip REQUIRED)"),
        (
            "add_library(fa fwd.cu a.cpp)\n",
            "add_library(fa fwd.cu a.cpp)\nset_source_files_properties(fwd.cu PROPERTIES LANGUAGE HIP)\n",
        ),
        (
            "  set(SRC\r\n    a.cu\r\n    b.cu)\r\n",
            "  set(SRC\r\n    a.cu\r\n    b.cu)\r\n"
            "  set_source_files_properties(a.cu b.cu PROPERTIES LANGUAGE HIP)\r\n",
        ),
        (
            'file(GLOB K "src/*.cu")',
            'file(GLOB K "src/*.cu")\nset_source_files_properties(${K} PROPERTIES LANGUAGE HIP)',
        ),
        (
            'set_target_properties(fa PROPERTIES CUDA_ARCHITECTURES "80;90" CUDA_STANDARD 17)',
            'set_target_properties(fa PROPERTIES HIP_ARCHITECTURES "gfx942" HIP_STANDARD 17)',
        ),
        ("target_link_libraries(fa PRIVATE CUDA::cudart)", "target_link_libraries(fa PRIVATE hip::host)"),
        (
            "target_compile_options(a PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--extended-lambda;--use_fast_math;-O3>)",
            "target_compile_options(a PRIVATE $<$<COMPILE_LANGUAGE:HIP>:" + ";".join(FAST_MATH) + ";-O3>)",
        ),
        (
            "target_compile_options(a PUBLIC $<$<COMPILE_LANGUAGE:CUDA>:-dc -Xcompiler=-fPIC --use_fast_math> -g)",
            "target_compile_options(a PUBLIC $<$<COMPILE_LANGUAGE:HIP>:-fgpu-rdc -fPIC "
            + " ".join(FAST_MATH)
            + "> -g)",
        ),
        (
            "add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CUDA>>:--use_fast_math>)",
            "add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:HIP>>:" + ";".join(FAST_MATH) + ">)",
        ),
        (
            'set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --use_fast_math -gencode arch=compute_80,code=sm_80 -DN=2")',
            'set(CMAKE_HIP_FLAGS "${CMAKE_HIP_FLAGS} ' + " ".join(FAST_MATH) + ' -DN=2")',
        ),
        ("set(CMAKE_CUDA_FLAGS --use_fast_math)", 'set(CMAKE_HIP_FLAGS "' + " ".join(FAST_MATH) + '")'),
        ('string(APPEND CMAKE_CUDA_FLAGS " --threads 4 -O3")', 'string(APPEND CMAKE_HIP_FLAGS " -O3")'),
        (
            'set(CMAKE_CUDA_FLAGS "-O3   -g" CACHE STRING "nvcc: --use_fast_math" FORCE)',
            'set(CMAKE_HIP_FLAGS "-O3   -g" CACHE STRING "nvcc: --use_fast_math" FORCE)',
        ),
        ('project(x CUDA)\nmessage("${CMAKE_CUDA_FLAGS}")', 'project(x HIP)\nmessage("${CMAKE_HIP_FLAGS}")'),
        ('# project(x CUDA)\nmessage("CUDA")\n', None),
        ("#[[ project(x CUDA) ]]\nproject(y CXX)\n", None),
        ("if(USE_ROCM)\n  enable_language(HIP)\nelse()\n  enable_language(CUDA)\nendif()\n", None),
    ],
)
def test_cmake(before: str, after: str | None) -> None:
    assert cmake(before) == (before if after is None else after)


def test_cmake_names_every_target() -> None:
    text = cmake("set(CMAKE_CUDA_ARCHITECTURES 80)", targets=("gfx90a", "gfx1100"))
    assert text == 'set(CMAKE_HIP_ARCHITECTURES "gfx90a;gfx1100")'


def test_cmake_rename_needs_no_language_property() -> None:
    assert cmake('add_library(a b.cu "c d.cu")\n', rename=True) == 'add_library(a b.hip "c d.hip")\n'


def test_cmake_reports_what_a_person_must_decide() -> None:
    result = run(
        "CMakeLists.txt",
        "project(a CUDA)\ntarget_link_libraries(a CUDA::cublas CUDA::nvml)\ncuda_add_library(b c.cu)\n",
    )
    said = [(d.id, d.line, d.subject) for d in result.diagnostics]
    assert ("HP822", 2, "roc::hipblas") in said
    assert ("HP822", 2, "CUDA::nvml") in said
    assert ("HP822", 3, "cuda_add_library") in said


SETUP = """from torch.utils.cpp_extension import CUDAExtension
setup(ext_modules=[CUDAExtension("x", ["a.cu"], extra_compile_args={"cxx": ["-O3"], "nvcc": [
    "-O3",
    "-U__CUDA_NO_HALF_OPERATORS__",
    "--use_fast_math", "-lineinfo",
    "-gencode", "arch=compute_80,code=sm_80",
    "--maxrregcount=64"]})])
nvcc_flags = ["-DX"]
nvcc_flags.append("-lineinfo")
nvcc_flags.extend(["--threads", "4", "-DY"])
other = ["-lineinfo"]
"""


def test_setup_py() -> None:
    result = run("pkg/setup.py", SETUP)
    assert result.state is FileState.TRANSLATED
    assert (
        result.output.decode()
        == """from torch.utils.cpp_extension import CUDAExtension
setup(ext_modules=[CUDAExtension("x", ["a.cu"], extra_compile_args={"cxx": ["-O3"], "nvcc": [
    "-O3",
    "-fgpu-flush-denormals-to-zero", "-fno-hip-fp32-correctly-rounded-divide-sqrt", "-fgpu-approx-transcendentals",
    "--maxrregcount=64"]})])
nvcc_flags = ["-DX"]
nvcc_flags.append("-lineinfo")
nvcc_flags.extend(["-DY"])
other = ["-lineinfo"]
"""
    )
    said = [(d.id, d.line, d.subject) for d in result.diagnostics if d.severity == "warning"]
    assert said == [("HP825", 7, "--maxrregcount=64"), ("HP825", 9, "-lineinfo")]


def test_setup_py_links_hips_libraries() -> None:
    """The names are those of the shared objects that ROCm installs: libhipblas.so and so on."""
    text = """libraries = ["cublas", 'cublasLt']
CUDAExtension("x", ["a.cu"], libraries=libraries + ["cufft", "cudnn", "z"], extra_link_args=["-lcurand", "-Wl,-s"])
"""
    result = run("setup.py", text)
    assert (
        result.output.decode()
        == """libraries = ["hipblas", "hipblaslt"]
CUDAExtension("x", ["a.cu"], libraries=libraries + ["hipfft", "cudnn", "z"], extra_link_args=["-lhiprand", "-Wl,-s"])
"""
    )
    assert [(d.id, d.subject, d.line) for d in result.diagnostics if d.severity.needs_person] == [("HP825", "cudnn", 2)]


def test_setup_py_that_knows_rocm_is_left() -> None:
    text = "from torch.utils.cpp_extension import CUDAExtension, IS_HIP_EXTENSION\nnvcc_flags = ['-lineinfo']\n"
    result = run("setup.py", text)
    assert (result.output, [d.id for d in result.diagnostics]) == (text.encode(), ["HP824"])


def test_setup_py_follows_renames() -> None:
    text = 'CUDAExtension("x", ["a.cu", \'b.cu\'])\n'
    assert run("setup.py", text, rename=True).output == b'CUDAExtension("x", ["a.hip", \'b.hip\'])\n'


@pytest.mark.parametrize("data", [b"CUDAExtension(\n", b"CUDAExtension = '\xff'\n", b"CUDAExtension\0"])
def test_setup_py_that_does_not_parse(data: bytes) -> None:
    result = translate_source(SourceFile("setup.py", data), EMPTY, TranslateOptions())
    assert (result.output, result.diagnostics[0].id) == (data, "HP825")


@pytest.mark.parametrize(
    ("option", "hip"),
    [
        ("-O3", "-O3"),
        ("-DX=1", "-DX=1"),
        ("--use_fast_math", " ".join(FAST_MATH)),
        ("--prec-div=false", "-fno-hip-fp32-correctly-rounded-divide-sqrt"),
        ("--expt-extended-lambda", ""),
        ("arch=compute_90a,code=sm_90a", ""),
        ("-Xcompiler -fPIC,-Wall", "-fPIC -Wall"),
        ("-std=c++17", "-std=c++17"),
        ("--maxrregcount=32", None),
    ],
)
def test_options(option: str, hip: str | None) -> None:
    assert for_hip(option) == hip
