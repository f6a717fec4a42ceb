"""Headers of PyTorch for HIP extensions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hipport.build.torch_headers import find_torch, hip_path, torch_headers
from hipport.core import SourceFile

needs_torch = pytest.mark.skipif(find_torch() is None, reason='PyTorch is not installed: pip install "hipport[torch]"')


# PyTorch's ROCm builds and torch.utils.hipify use these names.
@pytest.mark.parametrize(
    ("cuda", "hip"),
    [
        ("ATen/cuda/CUDAContext.h", "ATen/hip/HIPContext.h"),
        ("ATen/cuda/Exceptions.h", "ATen/hip/Exceptions.h"),
        ("ATen/cuda/detail/CUDAHooks.h", "ATen/hip/detail/HIPHooks.h"),
        ("ATen/cuda/PhiloxCudaState.h", "ATen/hip/PhiloxCudaState.h"),
        ("c10/cuda/CUDAGuard.h", "c10/hip/HIPGuard.h"),
        ("c10/cuda/impl/CUDAGuardImpl.h", "c10/hip/impl/HIPGuardImpl.h"),
        ("c10/cuda/impl/cuda_cmake_macros.h", "c10/hip/impl/hip_cmake_macros.h"),
    ],
)
def test_header_names(cuda: str, hip: str) -> None:
    assert hip_path(cuda) == hip


def fake_torch(folder: Path) -> Path:
    for name in ("ATen/cuda/CUDAContext.h", "c10/cuda/CUDAStream.h", "ATen/ATen.h"):
        path = folder / "torch" / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"// {name}\n", encoding="utf-8")
    return folder / "torch"


def test_the_view_holds_translated_headers_and_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("hipport.build.torch_headers.find_torch", lambda: fake_torch(tmp_path))
    asked: list[str] = []

    def translate(source: SourceFile) -> bytes:
        asked.append(source.path)
        return b"translated " + source.data

    headers = torch_headers(translate, "one")
    assert headers is not None
    view = Path(headers.include_dirs[0])
    assert (view / "ATen/hip/HIPContext.h").read_bytes() == b"translated // ATen/cuda/CUDAContext.h\n"
    assert (view / "c10/hip/HIPStream.h").exists()
    assert not (view / "ATen/ATen.h").exists()  # comes from the installed package, next in the search order
    assert headers.include_dirs[1] == str(tmp_path / "torch" / "include")
    assert sorted(asked) == ["ATen/cuda/CUDAContext.h", "c10/cuda/CUDAStream.h"]
    assert torch_headers(translate, "one") == headers
    assert len(asked) == 2
    assert torch_headers(translate, "another translator") != headers
    assert len(asked) == 4
    assert not list(view.parent.glob(".part-*"))


def test_a_failure_leaves_no_half_made_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("hipport.build.torch_headers.find_torch", lambda: fake_torch(tmp_path))

    def fails(source: SourceFile) -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        torch_headers(fails, "one")
    assert list((tmp_path / "cache" / "torch-hip").iterdir()) == []


def test_a_rocm_build_of_torch_needs_no_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = fake_torch(tmp_path)
    stream = torch / "include" / "c10" / "hip" / "HIPStream.h"
    stream.parent.mkdir(parents=True)
    stream.write_text("", encoding="utf-8")
    monkeypatch.setattr("hipport.build.torch_headers.find_torch", lambda: torch)

    def never(source: SourceFile) -> bytes:
        raise AssertionError(source.path)

    headers = torch_headers(never, "one")
    assert headers is not None
    assert headers.include_dirs[0] == str(torch / "include")


def test_without_torch_there_is_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hipport.build.torch_headers.find_torch", lambda: None)
    assert torch_headers(lambda source: b"", "one") is None


def test_looking_for_torch_does_not_import_it() -> None:
    program = (
        "import sys; from hipport.build.torch_headers import find_torch; find_torch(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.sdk
@pytest.mark.slow
@needs_torch
def test_an_extension_compiles_against_translated_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The front end of a whole PyTorch extension: streams, guards, the generator, error checks."""
    import json

    from click.testing import CliRunner

    from hipport.cli.build import command
    from hipport.sdk import find_sdk

    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "ext.cu").write_text(
        """#include <torch/extension.h>
#include <ATen/hip/HIPContext.h>
#include <ATen/hip/HIPGeneratorImpl.h>
#include <ATen/hip/detail/UnpackRaw.cuh>
#include <c10/hip/HIPGuard.h>
__global__ void fill(float* p, at::PhiloxCudaState state) {
  p[threadIdx.x] = static_cast<float>(std::get<0>(at::cuda::philox::unpack(state)));
}
void run(at::Tensor t) {
  const c10::cuda::CUDAGuard guard(t.device());
  hipStream_t stream = at::cuda::getCurrentCUDAStream().stream();
  fill<<<1, 64, 0, stream>>>(t.data_ptr<float>(), at::PhiloxCudaState(1, 2));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }
""",
        encoding="utf-8",
    )
    monkeypatch.setenv("HIPPORT_SDK", str(find_sdk().root))
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(
        command,
        ["tree", "-t", "gfx942", "-D", "TORCH_EXTENSION_NAME=e", "--json", "-q", "-j", "1"],
        standalone_mode=False,
    )
    report = json.loads(result.output)
    assert result.return_value == 0, report["diagnostics"]
    assert report["totals"]["stubs"]["registered"] == 1
