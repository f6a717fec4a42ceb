"""``hipport run``: what it prints where, exit codes, helpful errors, the cache of executables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HELLO = """#include <cstdio>
#include <hip/hip_runtime.h>
#include "value.h"
__global__ void twice(int* p) { p[threadIdx.x] *= 2; }
int main(int argc, char** argv) {
  int *p, host[4] = {1, 2, 3, VALUE};
  if (hipMalloc(&p, sizeof host) != hipSuccess) return 9;
  (void)hipMemcpy(p, host, sizeof host, hipMemcpyHostToDevice);
  twice<<<1, 4>>>(p);
  (void)hipMemcpy(host, p, sizeof host, hipMemcpyDeviceToHost);
  std::printf("%d %d %d\\n", host[0], host[3], argc);
  return argc > 1 ? 7 : 0;
}
"""


def hipport(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hipport", "run", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    (tmp_path / "value.h").write_text("#define VALUE 20\n")
    path = tmp_path / "hello.hip"
    path.write_text(HELLO)
    return path


@pytest.mark.sdk
def test_output_is_the_programs_own(hello: Path) -> None:
    done = hipport(hello)
    assert (done.stdout, done.stderr, done.returncode) == ("2 40 1\n", "", 0)
    done = hipport(hello, "--", "one", "--two")
    assert (done.stdout, done.stderr, done.returncode) == ("2 40 3\n", "", 7)


@pytest.mark.sdk
def test_a_changed_header_is_noticed(hello: Path) -> None:
    assert hipport(hello).stdout == "2 40 1\n"
    (hello.parent / "value.h").write_text("#define VALUE 50\n")
    assert hipport(hello).stdout == "2 100 1\n"


@pytest.mark.sdk
def test_statistics_and_checks_go_to_stderr(hello: Path) -> None:
    done = hipport(hello, "--stats", "--checks")
    assert done.stdout == "2 40 1\n"
    assert "hipport: gfx942, 1 launch, 1 workgroup, 1 wavefront\n" in done.stderr
    assert "findings: 0" in done.stderr


@pytest.mark.sdk
def test_a_planted_fault_is_found(tmp_path: Path) -> None:
    path = tmp_path / "race.hip"
    path.write_text(
        HELLO.replace('#include "value.h"\n', "#define VALUE 4\n").replace(
            "{ p[threadIdx.x] *= 2; }",
            "{ p[threadIdx.x + 1] *= 2; }",  # one element beyond the allocation
        )
    )
    done = hipport(path, "--checks", "bounds")
    assert "twice" in done.stderr
    assert "HP8" in done.stderr


@pytest.mark.sdk
def test_compiler_messages_name_the_users_file(tmp_path: Path) -> None:
    path = tmp_path / "broken.cu"
    path.write_text("#include <cuda_runtime.h>\n__global__ void k(int* p) { p[0] = nonsense; }\nint main() {}\n")
    done = hipport(path)
    assert done.returncode == 2
    assert "broken.cu:2:" in done.stderr
    assert "nonsense" in done.stderr
    assert "hipport: cannot compile broken.cu" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.sdk
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.cu"], "does not exist"),
        (["notes.txt"], "neither CUDA nor HIP"),
        (["hello.hip", "--target", "gfx803"], "unknown target 'gfx803'"),
    ],
    ids=["absent", "kind", "target"],
)
def test_bad_input(hello: Path, arguments: list[str], message: str) -> None:
    (hello.parent / "notes.txt").write_text("nothing")
    done = hipport(hello.parent / arguments[0], *arguments[1:])
    assert done.returncode == 2
    assert message in done.stderr
    assert "next:" in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


@pytest.mark.sdk
@pytest.mark.skipif(Path("/dev/kfd").exists(), reason="this machine has an AMD GPU")
def test_rocm_without_a_gpu(hello: Path) -> None:
    done = hipport(hello, "--device", "rocm")
    assert done.returncode == 2
    assert "no AMD GPU driver" in done.stderr


PAST_END = """#include <hip/hip_runtime.h>
__global__ void fill(int* p) { p[threadIdx.x] = 1; }
int main(int argc, char**) {
  int* p;
  (void)hipMalloc(&p, 4 * 60);
  fill<<<1, 64>>>(p);
  (void)hipDeviceSynchronize();
  return argc > 1 ? 7 : 0;
}
"""


@pytest.mark.sdk
def test_findings_make_the_exit_code_1(tmp_path: Path) -> None:
    source = tmp_path / "past_end.hip"
    source.write_text(PAST_END)
    assert hipport(source).returncode == 0
    done = hipport(source, "--checks")
    assert done.returncode == 1
    assert "HP850 in _Z4fillPi (past_end.hip:2)" in done.stderr
    assert "lane 60" in done.stderr
    assert hipport(source, "--checks=races,barriers").returncode == 0
    assert hipport(source, "--checks", "--", "x").returncode == 7
    assert hipport(source, "--checks=everything").returncode == 2


@pytest.mark.sdk
def test_checks_without_a_list_before_the_program(tmp_path: Path) -> None:
    source = tmp_path / "past_end.hip"
    source.write_text(PAST_END)
    done = hipport("--checks", source)
    assert done.returncode == 1
    assert "HP850 in _Z4fillPi (past_end.hip:2)" in done.stderr


BARE = """#include <cstdio>
#include "kernel.h"
int main() {
  int *p, host[4];
  cudaMalloc(&p, sizeof host);
  squares<<<1, 4>>>(p);
  cudaMemcpy(host, p, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%d %d %d %d\\n", host[0], host[1], host[2], host[3]);
}
"""


@pytest.mark.sdk
def test_a_program_that_leaves_the_runtime_header_to_nvcc(tmp_path: Path) -> None:
    (tmp_path / "kernel.h").write_text(
        "__global__ void squares(int* p) { p[threadIdx.x] = threadIdx.x * threadIdx.x; }\n"
    )
    (tmp_path / "bare.cu").write_text(BARE)
    done = hipport(tmp_path / "bare.cu")
    assert (done.stdout, done.returncode) == ("0 1 4 9\n", 0), done.stderr


ANY_ORDER = """#include <cstdio>
#include <cstdlib>
int main() { std::puts(std::getenv("HIPPORT_DETERMINISTIC")); }
"""


@pytest.mark.sdk
def test_the_order_may_be_left_open(tmp_path: Path) -> None:
    source = tmp_path / "order.hip"
    source.write_text(ANY_ORDER)
    assert hipport(source).stdout == "1\n"
    assert hipport(source, "--deterministic").stdout == "1\n"
    assert hipport(source, "--any-order").stdout == "0\n"
