"""The translated setup.py on a machine that looks like a ROCm box: what it builds, and that its flags compile it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import setuptools
import torch
from torch.utils import cpp_extension

from hipport.sdk import find_sdk

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.sdk,
    pytest.mark.filterwarnings("ignore:The .wheel. package:FutureWarning"),  # upstream imports it from there
]
UNITS = ("csrc/flash_attn/flash_api.cpp", "csrc/flash_attn/src/flash_fwd_hdim64_fp16_sm80.cu")


def extension(
    tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, **environment: str
) -> tuple[Any, dict[str, Any]]:
    """What ``python setup.py``, run in ``folder``, hands to setuptools, and the module's names."""
    for name, value in {"GPU_ARCHS": "gfx942", **environment}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.version, "hip", "6.4.43482")
    monkeypatch.setattr(cpp_extension, "IS_HIP_EXTENSION", True)
    monkeypatch.setattr(cpp_extension, "ROCM_HOME", "/opt/rocm")
    (folder / "README.md").write_text("upstream's README.md is not part of the pinned group\n")
    (folder / "csrc").symlink_to(tree / "csrc")
    monkeypatch.chdir(folder)
    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **keywords: given.update(keywords))
    path = tree / "setup.py"
    names: dict[str, Any] = {"__file__": str(path), "__name__": "setup"}
    exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102 - the file under test
    (only,) = given["ext_modules"]
    return only, names


def test_it_builds_every_translated_unit(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, names = extension(tree, tmp_path, monkeypatch)
    assert ours.name == "flash_attn_2_cuda"
    assert len(ours.sources) == 1 + 3 * 2 * 2 * 6  # the interface; forward, split, backward x type x causal x head dim
    assert all((tree / source).is_file() for source in ours.sources)
    assert all(Path(folder).is_dir() for folder in ours.include_dirs if str(tree) in str(folder))
    assert {"amdhip64", "torch_hip", "c10_hip"} <= set(ours.libraries)
    assert names["USE_HIPPORT"]


def test_wavefronts_of_two_sizes_are_refused(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="wavefronts of one size"):
        extension(tree, tmp_path, monkeypatch, GPU_ARCHS="gfx942;gfx1100")


@pytest.mark.parametrize("unit", UNITS)
def test_its_flags_compile_it(tree: Path, monkeypatch: pytest.MonkeyPatch, unit: str, tmp_path: Path) -> None:
    """With the options that torch's BuildExtension adds for ROCm, and HIP views of torch's headers."""
    ours, _ = extension(tree, tmp_path, monkeypatch)
    commands = tmp_path / "commands.json"
    plan = [sys.executable, "-m", "hipport", "build", str(tree), "-u", UNITS[1], "--plan"]  # for the views
    subprocess.run([*plan, "--compile-commands", str(commands)], check=True, capture_output=True)
    arguments = json.loads(commands.read_text())[0]["arguments"]
    folders = [word for at, word in enumerate(arguments) if at and arguments[at - 1] == "-isystem"]
    # What a CPU build of PyTorch lacks for this: the CMake header of c10/hip, and a name for the module.
    given = [
        "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE",
        "-DTORCH_EXTENSION_NAME=flash_attn_2_cuda",
        *cpp_extension.COMMON_HIP_FLAGS,
    ]
    kind = "nvcc" if unit.endswith(".cu") else "cxx"
    given += [*cpp_extension.COMMON_HIPCC_FLAGS] if kind == "nvcc" else []
    sdk = find_sdk()
    command = [str(sdk.clang), *(sdk.device_flags("gfx942") if kind == "nvcc" else sdk.host_flags())]
    command += [*given, *(f"-I{folder}" for folder in ours.include_dirs if "/opt/rocm" not in str(folder))]
    command += [word for folder in folders for word in ("-isystem", folder)]
    command += [word for word in ours.extra_compile_args[kind] if not word.startswith("--offload-arch")]
    done = subprocess.run(
        [*command, "-w", "-fsyntax-only", unit], cwd=tree, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
