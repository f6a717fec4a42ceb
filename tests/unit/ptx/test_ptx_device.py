"""Every form of the lowering table generates code for every target: inline PTX that is left would fail only there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipport.core import TARGETS
from hipport.core.files import include_root
from hipport.rewrite.transforms.ptx_forms import families, form
from hipport.rewrite.transforms.ptx_lower import lower_asm
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

_CPP = {"r": "unsigned", "l": "unsigned long long", "f": "float", "d": "double", "h": "unsigned short"}
_PARAMETERS = ", ".join(f"{cpp}* {letter}" for letter, cpp in _CPP.items())


def kernels() -> str:
    """One kernel per form: operands from memory, results back."""
    headers: set[str] = set()
    lines = []
    for number, text in enumerate(text for family in families() for text in family.forms):
        shape = form(text)
        lowered = lower_asm(shape.statement(), in_kernel=True)
        headers.update(lowered.includes)
        body = []
        for i, constraint in enumerate(shape.constraints):
            letter = constraint.lstrip("=+")
            if letter != "n":
                body.append(f"{_CPP[letter]} v{i} = {letter}[{i} * 64 + threadIdx.x];")
        body.append(f"{lowered.text};")
        for i, constraint in enumerate(shape.constraints):
            if constraint[0] in "=+":
                letter = constraint.lstrip("=+")
                body.append(f"{letter}[{i} * 64 + threadIdx.x] = v{i};")
        lines.append(f'extern "C" __global__ void k{number}({_PARAMETERS}) {{ {" ".join(body)} }}  // {text}')
    return "\n".join([f"#include <{name}>" for name in sorted(headers)] + lines) + "\n"


def compile_for(target: str, folder: Path) -> Path:
    sdk = find_sdk()
    source, compiled = folder / "forms.hip", folder / f"{target}.co"
    source.write_text(kernels())
    command = [sdk.clang, *sdk.device_flags(target), f"-I{include_root()}", "-O1", "-c", source, "-o", compiled]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return compiled


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_forms_generate_code(target: str, tmp_path: Path) -> None:
    assert compile_for(target, tmp_path).stat().st_size > 100_000


@pytest.mark.slow
@pytest.mark.parametrize("target", sorted(set(TARGETS) - {"gfx942", "gfx1100"}))
def test_forms_generate_code_elsewhere(target: str, tmp_path: Path) -> None:
    assert compile_for(target, tmp_path).stat().st_size > 100_000


def test_unsupported_ptx_is_an_error_only_where_it_is_reached(tmp_path: Path) -> None:
    sdk = find_sdk()
    source = tmp_path / "refused.hip"
    source.write_text(
        "#include <hipport/ptx.h>\n"
        '__device__ inline void f() { HIPPORT_UNSUPPORTED_PTX("HP505: no such hardware"); }\n'
        "#ifdef REACH\n__global__ void k() { f(); }\n#endif\n"
    )
    flags = [
        sdk.clang,
        *sdk.device_flags("gfx942"),
        f"-I{include_root()}",
        "-O1",
        "-c",
        source,
        "-o",
        tmp_path / "x.co",
    ]
    idle = subprocess.run([str(word) for word in flags], capture_output=True, text=True, check=False)
    assert idle.returncode == 0, idle.stderr
    reached = subprocess.run([str(word) for word in [*flags, "-DREACH"]], capture_output=True, text=True, check=False)
    assert reached.returncode != 0
    assert "HP505: no such hardware" in reached.stderr
