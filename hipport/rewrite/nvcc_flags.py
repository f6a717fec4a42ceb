"""What nvcc's options mean to the HIP compiler: used for CMake and setup.py."""

from __future__ import annotations

import re

# Options without meaning for clang: what they allow or print is the default there or does not exist.
_DROPPED = frozenset(
    {
        "--expt-relaxed-constexpr",
        "-expt-relaxed-constexpr",
        "--expt-extended-lambda",
        "-expt-extended-lambda",
        "--extended-lambda",
        "-extended-lambda",
        "-lineinfo",
        "--generate-line-info",
        "--resource-usage",
        "--keep",
        "-U__CUDA_NO_HALF_OPERATORS__",
        "-U__CUDA_NO_HALF_CONVERSIONS__",
        "-U__CUDA_NO_HALF2_OPERATORS__",
        "-U__CUDA_NO_BFLOAT16_CONVERSIONS__",
        "-U__CUDA_NO_BFLOAT16_OPERATORS__",
        "-U__CUDA_NO_BFLOAT162_OPERATORS__",
        "-U__CUDA_NO_BFLOAT162_CONVERSIONS__",
        "--cudart=static",
        "-cudart=static",
        "--cudart=shared",
    }
)
_DROPPED_PATTERN = re.compile(
    r"(?:-gencode|--generate-code)=?.*|arch=compute_\w+,code=\S+|-arch=\S+|--gpu-architecture=\S+|--ptxas-options=.*"
    r"|-Xptxas=?.*|--threads[= ]\S+|-diag-suppress.*|--diag-suppress.*|-Wno-deprecated-gpu-targets|-code=\S+"
)
_APPROXIMATE_DIVISION = "-fno-hip-fp32-correctly-rounded-divide-sqrt"
# nvcc's fast math keeps infinities and NaN (nvcc manual, --use_fast_math); clang's -ffast-math deletes tests for them.
_FAST_MATH = f"-fgpu-flush-denormals-to-zero {_APPROXIMATE_DIVISION} -fgpu-approx-transcendentals"
_TRANSLATED = {
    "--use_fast_math": _FAST_MATH,
    "-use_fast_math": _FAST_MATH,
    "-prec-div=false": _APPROXIMATE_DIVISION,
    "--prec-div=false": _APPROXIMATE_DIVISION,
    "-prec-sqrt=false": _APPROXIMATE_DIVISION,
    "--prec-sqrt=false": _APPROXIMATE_DIVISION,
    "--ftz=true": "-fgpu-flush-denormals-to-zero",
    "-rdc=true": "-fgpu-rdc",
    "--relocatable-device-code=true": "-fgpu-rdc",
    "-dc": "-fgpu-rdc",
    "-G": "-g",
    "--device-debug": "-g",
    "-fmad=false": "-ffp-contract=off",
    "--fmad=false": "-ffp-contract=off",
    "-ftz=true": "-fgpu-flush-denormals-to-zero",
    "--default-stream=per-thread": "-fgpu-default-stream=per-thread",
    "--default-stream per-thread": "-fgpu-default-stream=per-thread",
}
# Options that take the next word as their value.
PREFIXES = frozenset({"-gencode", "--generate-code", "-Xptxas", "--ptxas-options", "--threads", "-arch", "-code"})
_HOST_PREFIX = re.compile(r"(?:-Xcompiler|--compiler-options)=?[ ]*")


def for_hip(option: str) -> str | None:
    """The options for the HIP compiler, separated by blanks.

    Itself when it is not nvcc's own, ``""`` to drop it, None when unknown.
    """
    option = option.strip()
    if option in _TRANSLATED:
        return _TRANSLATED[option]
    if option in _DROPPED or option in PREFIXES or _DROPPED_PATTERN.fullmatch(option):
        return ""
    host = _HOST_PREFIX.match(option)
    if host:
        return option[host.end() :].strip("\"'").replace(",", " ")
    if re.match(
        r"-(?:X\w+|-?nv\w*|maxrregcount|use_)|--(?:maxrregcount|options-file|prec-|extra-device|dlink|nvlink)", option
    ):
        return None
    return option
