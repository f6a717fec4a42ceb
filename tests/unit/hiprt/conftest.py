"""Fixtures: toolchains, the runtime built for each, and test programs built and run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hipport.core import HipportError
from hipport.core.files import package_root
from hipport.hiprt import RunOptions, RuntimeFolder, build_runtime, runtime_environment
from hipport.hiprt.build import host_compiler
from hipport.hiprt.program import ProgramPlan, build_program
from hipport.sdk import Sdk, find_sdk

PROGRAMS = Path(__file__).with_name("programs")
FLAGS = ("-O1", "-w", f"-I{package_root() / 'include'}")

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session", params=["6.4", "7.2"])
def sdk(request: pytest.FixtureRequest) -> Sdk:
    try:
        return find_sdk(request.param)
    except HipportError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def runtime(sdk: Sdk) -> RuntimeFolder:
    return build_runtime(sdk)


def host_program(source: Path, sdk: Sdk, runtime: RuntimeFolder, folder: Path) -> Path:
    """Compile a program without kernels as a plain C++ compiler sees HIP; linked against AMD's library where it is."""
    out = folder / source.stem
    libraries = [path for d in sdk.library_dirs if (path := d / f"libamdhip64.so.{runtime.major}").is_file()]
    command = [host_compiler(), "-std=c++17", "-w", *(f"-I{d}" for d in sdk.include_dirs), str(source), "-o", str(out)]
    library = str(libraries[0] if libraries else runtime.library)
    subprocess.run([*command, library, "-Wl,--allow-shlib-undefined", "-lpthread"], check=True)
    return out


@pytest.fixture(scope="session")
def run_program(sdk: Sdk, runtime: RuntimeFolder, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """run_program("memory.cpp", target=..., devices=...): the finished process."""

    def run(name: str, **options: object) -> subprocess.CompletedProcess[str]:
        folder = tmp_path_factory.mktemp(name.replace(".", "_"))
        chosen = RunOptions(**options)  # type: ignore[arg-type]
        if name.endswith(".cpp"):
            program = host_program(PROGRAMS / name, sdk, runtime, folder)
        else:
            program = build_program(ProgramPlan(PROGRAMS, (name,), chosen.target, FLAGS), sdk, runtime)
        environment = runtime_environment(runtime, chosen)
        return subprocess.run(
            [str(program)], env=environment, cwd=folder, capture_output=True, text=True, timeout=300, check=False
        )

    return run
