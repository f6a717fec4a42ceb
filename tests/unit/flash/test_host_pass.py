"""The host side of the translated launch templates, through the front end alone: headers of one pass only show here.

Kernels cost half a minute each; what the host needs of them (their traits, the tile, threads and LDS of a launch) costs
a second.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipport.core import ToolchainError
from hipport.core.files import include_root
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk
SOURCE = """
#include "csrc/flash_attn/src/flash_fwd_launch_template.h"
using cutlass::half_t;
template void FLASH_NAMESPACE::run_mha_fwd_hdim64<cutlass::bfloat16_t, true>(Flash_fwd_params&, hipStream_t);
template void FLASH_NAMESPACE::run_mha_fwd_hdim256<half_t, false>(Flash_fwd_params&, hipStream_t);
template void FLASH_NAMESPACE::run_mha_fwd_splitkv_dispatch<half_t, 128, false>(Flash_fwd_params&, hipStream_t);
"""
FEWER = ("ALIBI", "SOFTCAP", "LOCAL", "UNEVEN_K", "DROPOUT")


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_launch_templates_compile_for_the_host(target: str, translated_upstream: Path, tmp_path: Path) -> None:
    try:
        sdk = find_sdk()
    except ToolchainError as error:
        pytest.skip(str(error))
    source = tmp_path / "host.hip"
    source.write_text(SOURCE)
    own = include_root()
    folders = (
        own / "hipport/cute/overlay",
        translated_upstream,
        own,
        own / "hipport/torchless",
        translated_upstream / "csrc/cutlass/include",
    )
    command = [str(sdk.clang), *sdk.host_flags([target], device_code=False), "-w", "-fsyntax-only"]
    command += [f"-DHIPPORT_BUILD_TARGET={target}", *(f"-DFLASHATTENTION_DISABLE_{name}" for name in FEWER)]
    command += [f"-I{path}/" for path in folders]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
