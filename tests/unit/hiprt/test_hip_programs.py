"""Unmodified HIP programs on the drop-in library: each checks itself and prints ok."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hipport.hiprt import RunOptions, RuntimeFolder, runtime_environment
from hipport.hiprt.program import ProgramPlan, build_program
from hipport.sdk import Sdk

pytestmark = pytest.mark.sdk
Run = Callable[..., subprocess.CompletedProcess[str]]

SELF_CHECKING = [
    ("errors.cpp", {}),
    ("legacy.cpp", {}),
    ("memory.cpp", {}),
    ("device.cpp", {"devices": 2}),
    ("streams.cpp", {"devices": 2}),
    ("arrays.cpp", {"target": "gfx1100"}),
    ("copies.hip", {}),
    ("graphs.hip", {}),
    ("launches.hip", {}),
    ("modules.hip", {}),
    ("virtual_memory.hip", {}),
    ("threads.hip", {}),
]


@pytest.mark.parametrize(("name", "options"), SELF_CHECKING, ids=[name for name, _ in SELF_CHECKING])
def test_program_passes_its_own_checks(run_program: Run, name: str, options: dict[str, object]) -> None:
    done = run_program(name, **options)
    assert done.stdout.splitlines()[-1:] == ["ok"], done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("name", ["textures.hip", "images.hip"])
@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "gfx1201"])
def test_textures_and_surfaces(run_program: Run, name: str, target: str) -> None:
    done = run_program(name, target=target)
    assert done.stdout.splitlines()[-1:] == ["ok"], done.stdout + done.stderr


def test_image_checks_have_no_false_findings(run_program: Run) -> None:
    done = run_program("textures.hip", target="gfx1201", checks="all")
    assert done.stdout.endswith("ok\n"), done.stdout + done.stderr
    assert "HP8" not in done.stderr


def test_faults_are_sticky_and_named(run_program: Run) -> None:
    done = run_program("faults.hip")
    assert done.stdout.endswith("ok\n"), done.stdout + done.stderr
    assert "store to 0x1000" in done.stderr
    assert "wild_store" in done.stderr
    assert "Device-side assertion `x > 0' failed" in done.stderr
    assert "(hipErrorAssert)" in done.stderr


TWO_TARGETS = """#include <cstdio>
#include <hip/hip_runtime.h>
__global__ void set(int* p) { *p = __AMDGCN_WAVEFRONT_SIZE; }
int main() {
  int *p, value = 0;
  if (hipMalloc(&p, 4) != hipSuccess) return 9;
  set<<<1, 1>>>(p);
  std::printf("%s\\n", hipGetErrorName(hipGetLastError()));
  if (hipMemcpy(&value, p, 4, hipMemcpyDeviceToHost) == hipSuccess) std::printf("%d\\n", value);
}
"""


@pytest.mark.parametrize("compressed", [False, True])
def test_fat_binaries(sdk: Sdk, runtime: RuntimeFolder, tmp_path: Path, compressed: bool) -> None:
    (tmp_path / "two.hip").write_text(TWO_TARGETS)
    second = ("--offload-arch=gfx1100", "-Xarch_gfx1100", "-D__AMDGCN_WAVEFRONT_SIZE=32")
    flags = ("-w", "-O1", *second, *(("--offload-compress",) if compressed else ()))
    program = build_program(ProgramPlan(tmp_path, ("two.hip",), "gfx90a", flags), sdk, runtime)

    def output(target: str) -> tuple[str, str]:
        environment = runtime_environment(runtime, RunOptions(target))
        done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60, check=False)
        return done.stdout, done.stderr

    assert output("gfx90a")[0] == "hipSuccess\n64\n"
    assert output("gfx1100")[0].startswith("hipSuccess\n")
    text, error = output("gfx942")
    assert text == "hipErrorNoBinaryForGpu\n0\n"
    assert "gfx942" in error
    assert "gfx90a" in error  # what the program does hold


def test_the_library_path_alone_is_enough(sdk: Sdk, runtime: RuntimeFolder, tmp_path: Path) -> None:
    (tmp_path / "two.hip").write_text(TWO_TARGETS)
    program = build_program(ProgramPlan(tmp_path, ("two.hip",), "gfx942", ("-w", "-O1")), sdk, runtime)
    environment = {"LD_LIBRARY_PATH": str(runtime.folder), "HOME": str(tmp_path)}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("hipSuccess\n64\n", "")


# What C's printf gives for the same calls, in the order of the host's own output.
PRINTED = """host before
-7|   42|43   |00044|+45|46
4000000000|beef|BEEF|0xff|10|q|%
-5000000000|18000000000000000000|-3|-2|250
1.500000|0.667|   -3.14|1.234568e+04|0.0001|0x1p+0
text|     right|cut|     7|8     |
a string of more than fifty-six characters takes several packets: and so does its argument, which is also long enough
no arguments
lane 3 of block 0
lane 19 of block 0
lane 35 of block 0
lane 51 of block 0
host after
ok
"""


def test_device_printf(run_program: Run) -> None:
    done = run_program("prints.hip")
    assert (done.stdout, done.stderr, done.returncode) == (PRINTED, "", 0)


def test_arrays_need_image_instructions(run_program: Run) -> None:
    done = run_program("arrays.cpp", target="gfx942")
    assert re.search(r"hipMallocArray\(&a.*returned hipErrorNotSupported", done.stdout)
    assert done.stderr.count("arrays need a target with image instructions") == 1


def test_statistics_file(run_program: Run, tmp_path: Path) -> None:
    out = tmp_path / "statistics.json"
    done = run_program("copies.hip", statistics=out)
    assert done.returncode == 0
    counters = json.loads(out.read_text())
    assert counters["target"] == "gfx942"
    assert counters["launches"] == 0  # copies and fills are no kernels
    assert counters["findings"] == []
    done = run_program("graphs.hip", statistics=out)
    counters = json.loads(out.read_text())
    assert counters["launches"] > 10
    assert counters["instructions"] > counters["waves"] > counters["workgroups"] > 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "gfx123"}, "gfx123"),
        ({"checks": "bounds,nonsense"}, 'unknown check "nonsense"'),
    ],
    ids=["target", "checks"],
)
def test_bad_settings_leave_no_device(run_program: Run, options: dict[str, object], message: str) -> None:
    done = run_program("device.cpp", **options)
    assert "hipGetDeviceCount(&count) returned hipErrorNoDevice" in done.stdout
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
def test_hipcub_on_a_million_elements(run_program: Run, target: str) -> None:
    done = run_program("hipcub_million.hip", target=target)
    assert done.stdout.endswith("ok\n"), done.stdout + done.stderr
    sort_seconds = float(done.stderr.split(" s\n")[3])
    assert sort_seconds < 5.0


def test_a_program_from_a_moved_tree_is_not_compiled_again(
    sdk: Sdk, runtime: RuntimeFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same bytes elsewhere: the same program. Another header: another program, and the first one stays."""
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "main.hip").write_text("#include <answer.h>\nint main() { return answer; }\n")

    def program(tree: str, answer: int) -> Path:
        folder = tmp_path / tree
        folder.mkdir(exist_ok=True)
        (folder / "answer.h").write_text(f"constexpr int answer = {answer};\n")
        flags = ("-w", "-O1", f"-I{folder}/")
        plan = ProgramPlan(tmp_path, ("main.hip",), "gfx942", flags, movable=(folder,))
        return build_program(plan, sdk, runtime)

    first = program("one", 1)
    made = first.stat().st_mtime_ns
    assert program("two", 1) == first
    assert first.stat().st_mtime_ns == made
    other = program("two", 2)
    assert other != first
    assert program("one", 1) == first
    codes = [
        subprocess.run([path], env=runtime_environment(runtime, RunOptions()), check=False).returncode
        for path in (first, other)
    ]
    assert codes == [1, 2]
