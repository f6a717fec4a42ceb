"""Headers of PyTorch as a HIP extension sees them.

A PyTorch wheel for the CPU has the CUDA headers of ATen and c10 but not the HIP ones, which PyTorch's own build makes
by translating them. `torch_headers` does the same into the cache, with hipport's translator, so that extensions compile
without a ROCm build of PyTorch.
"""

from __future__ import annotations

import hashlib
import importlib.util
import posixpath
import shutil
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

from hipport.build.plan import Headers
from hipport.core import SourceFile
from hipport.core.files import cache_root

_FOLDERS = ("ATen/cuda", "c10/cuda")
# What torch.utils.cpp_extension passes for ROCm; the CMake header exists only after PyTorch's own configure step.
_DEFINES = (
    "USE_ROCM=1",
    "__HIP_PLATFORM_AMD__=1",
    "HIPBLAS_V2",
    "C10_CUDA_NO_CMAKE_CONFIGURE_FILE",
    "TORCH_API_INCLUDE_EXTENSION_H",
)


def find_torch() -> Path | None:
    """Folder of the installed ``torch`` package, found without importing it; None when it is not installed."""
    spec = importlib.util.find_spec("torch")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def hip_path(path: str) -> str:
    """Where PyTorch puts the HIP version of a header: ``c10/cuda/CUDAGuard.h`` -> ``c10/hip/HIPGuard.h``."""
    folder, name = posixpath.split(path)
    return f"{folder.replace('cuda', 'hip')}/{name.replace('CUDA', 'HIP').replace('cuda', 'hip')}"


def torch_headers(translate: Callable[[SourceFile], bytes], translator_identity: str) -> Headers | None:
    """Include folders and defines for units that include PyTorch; None when PyTorch is not installed.

    Args:
        translate: CUDA header in, HIP header out, includes already renamed as `hip_path` does.
        translator_identity: hash that changes with the translator and its rules.
    """
    torch = find_torch()
    if torch is None or not (torch / "include" / "ATen").is_dir():
        return None
    include = torch / "include"
    folders = [include, include / "torch" / "csrc" / "api" / "include", Path(sysconfig.get_paths()["include"])]
    if not (include / "c10" / "hip" / "HIPStream.h").exists():  # a ROCm build of PyTorch has them
        folders.insert(0, _view(include, translate, translator_identity))
    return Headers(tuple(str(folder) for folder in folders), _DEFINES)


def _view(include: Path, translate: Callable[[SourceFile], bytes], identity: str) -> Path:
    sources = [
        SourceFile(path.relative_to(include).as_posix(), path.read_bytes())
        for folder in _FOLDERS
        for path in sorted((include / folder).rglob("*"))
        if path.is_file()
    ]
    digest = hashlib.sha256(identity.encode())
    for source in sources:
        digest.update(f"{source.path} {source.sha256}\n".encode())
    view = cache_root() / "torch-hip" / digest.hexdigest()[:24]
    if view.is_dir():
        return view
    view.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=view.parent))
    try:
        for source in sources:
            target = part / hip_path(source.path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(translate(source))
        try:
            part.rename(view)  # whole or not at all
        except OSError:
            if not view.is_dir():  # another build was faster
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return view
