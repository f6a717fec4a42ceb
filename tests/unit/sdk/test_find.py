"""Which toolchain is taken: the given one, ROCm, the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipport.core import ToolchainError
from hipport.sdk import find, find_sdk
from hipport.sdk.find import read_hip_version, sdk_at, sdk_cache

VERSION_HEADER = "#define HIP_VERSION_MAJOR {}\n#define HIP_VERSION_MINOR {}\n#define HIP_VERSION_PATCH {}\n"


def write_sdk(base: Path, version: str = "6.4.1", bitcode: str = "lib/llvm-21/lib/clang/21/amdgcn/bitcode") -> None:
    for folder in ("include/hip", bitcode, "lib/x86_64-linux-gnu"):
        (base / folder).mkdir(parents=True)
    (base / "include/hip/hip_version.h").write_text(VERSION_HEADER.format(*version.split(".")))
    (base / bitcode / "ockl.bc").touch()
    (base / "lib/x86_64-linux-gnu/libamdhip64.so").touch()


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with clang and nothing else: no ROCm, empty cache."""
    clang = tmp_path / "llvm/bin/clang++"
    clang.parent.mkdir(parents=True)
    clang.touch(0o755)
    for name in ("HIPPORT_SDK", "ROCM_PATH", "ROCM_HOME", "HIP_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(find, "rocm_roots", lambda: [tmp_path / "rocm"])
    monkeypatch.setattr(find, "cached_clang", lambda: clang)
    return tmp_path


def test_nothing_found_says_how_to_get_it() -> None:
    with pytest.raises(ToolchainError, match="no AMD toolchain") as caught:
        find_sdk()
    assert caught.value.next_step == "run: hipport sdk install"
    with pytest.raises(ToolchainError) as caught:
        find_sdk("7.2")
    assert caught.value.next_step == "run: hipport sdk install --profile 7.2"


def test_cache_is_used_when_there_is_no_rocm() -> None:
    write_sdk(sdk_cache("7.2") / "usr", "7.2.5")
    sdk = find_sdk()
    assert (sdk.source, sdk.hip_version, sdk.profile) == ("cache", (7, 2, 5), "7.2")
    write_sdk(sdk_cache("6.4") / "usr")
    assert find_sdk().profile == "6.4"  # the default one
    assert find_sdk("7.2").profile == "7.2"


def test_rocm_comes_before_the_cache_with_its_own_clang(bare_machine: Path) -> None:
    write_sdk(sdk_cache("6.4") / "usr")
    rocm = bare_machine / "rocm"
    write_sdk(rocm, "7.0.2", "amdgcn/bitcode")
    (rocm / "llvm/bin").mkdir(parents=True)
    (rocm / "llvm/bin/clang++").touch()
    sdk = find_sdk()
    assert (sdk.source, sdk.clang, sdk.device_lib_path) == ("rocm", rocm / "llvm/bin/clang++", rocm / "amdgcn/bitcode")
    assert find_sdk("6.4").source == "cache"  # a ROCm of another version does not serve


def test_an_old_rocm_is_passed_over(bare_machine: Path) -> None:
    write_sdk(bare_machine / "rocm", "5.7.1", "amdgcn/bitcode")
    with pytest.raises(ToolchainError, match="no AMD toolchain"):
        find_sdk()
    write_sdk(sdk_cache("6.4") / "usr")
    assert find_sdk().source == "cache"


def test_given_folder_comes_first_and_must_be_good(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_sdk(bare_machine / "rocm", "7.0.2", "amdgcn/bitcode")
    given = bare_machine / "mine"
    monkeypatch.setenv("HIPPORT_SDK", str(given))
    with pytest.raises(ToolchainError, match="holds no HIP headers"):
        find_sdk()
    write_sdk(given / "usr", "6.4.2")
    assert (find_sdk().source, find_sdk().root) == ("given", given)
    monkeypatch.setenv("HIPPORT_SDK", "7.2")  # a profile, not a folder
    with pytest.raises(ToolchainError, match=r"HIP 7\.2"):
        find_sdk()


def test_headers_without_a_clang_are_an_error_not_a_miss(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "cached_clang", lambda: None)
    write_sdk(sdk_cache("6.4") / "usr")
    with pytest.raises(ToolchainError, match=r"no clang\+\+ that can use it"):
        find_sdk()


def test_headers_without_device_libraries_are_no_sdk(tmp_path: Path) -> None:
    write_sdk(tmp_path / "half")
    (tmp_path / "half/lib/llvm-21/lib/clang/21/amdgcn/bitcode/ockl.bc").unlink()
    assert sdk_at(tmp_path / "half", "given") is None


def test_version_header(tmp_path: Path) -> None:
    assert read_hip_version(tmp_path) is None
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip/hip_version.h").write_text("#define HIP_VERSION_MAJOR 6\n")
    assert read_hip_version(tmp_path) is None
    (tmp_path / "hip/hip_version.h").write_text(VERSION_HEADER.format(6, 4, 43484))
    assert read_hip_version(tmp_path) == (6, 4, 43484)
