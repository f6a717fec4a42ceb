"""Does the toolchain work? Compile one kernel per target and see."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from hipport.core import TARGETS, ToolchainError
from hipport.sdk.toolchain import Sdk

_KERNEL = """\
#include <hip/hip_runtime.h>
__global__ void scale(float* x, float a) { x[blockIdx.x * blockDim.x + threadIdx.x] *= __expf(a); }
"""


def compile_error(sdk: Sdk, target: str) -> str:
    """Compile a kernel to a code object: empty when it works, otherwise the first error line."""
    with tempfile.TemporaryDirectory(prefix="hipport-") as folder:
        source = Path(folder) / "check.hip"
        source.write_text(_KERNEL, encoding="utf-8")
        command = [str(sdk.clang), *sdk.device_flags(target), "-O1", "-c", str(source), "-o", f"{folder}/check.co"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return ""
        lines = [line for line in done.stderr.splitlines() if "error:" in line] or done.stderr.strip().splitlines()
        return lines[0] if lines else f"exit code {done.returncode}"


def require_working(sdk: Sdk) -> None:
    """Compile for every target.

    Raises:
        ToolchainError: one of them fails.
    """
    for target in TARGETS:
        error = compile_error(sdk, target)
        if error:
            raise ToolchainError(f"the toolchain in {sdk.root} cannot compile for {target}: {error}", "hipport doctor")
