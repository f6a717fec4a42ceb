"""Installing from a real apt repository made in the test: pinned, moved, replaced, missing, interrupted, offline."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from hipport.cli.main import main
from hipport.core import ToolchainError
from hipport.sdk import compiler, find, install
from hipport.sdk.compiler import os_release, write_wrappers
from hipport.sdk.install import install_sdk, read_record
from hipport.sdk.lock import Pin

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="needs apt")

HEADER = "#define HIP_VERSION_MAJOR {}\n#define HIP_VERSION_MINOR {}\n#define HIP_VERSION_PATCH 1\n"


class Repository:
    """A Debian mirror on disk: suites with Packages and Release files, unsigned."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.packages: dict[str, list[str]] = {"forky": [], "sid": [], "experimental": []}
        self._write()

    def add(self, suite: str, name: str, version: str, files: dict[str, str]) -> str:
        """Build a package and list it; returns its SHA-256."""
        tree = self.root / f"build-{name}-{version}"
        (tree / "DEBIAN").mkdir(parents=True)
        control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\nDescription: test\n"
        (tree / "DEBIAN/control").write_text(control)
        for path, text in files.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text)
        deb = self.root / f"pool/{name}_{version}_all.deb"
        deb.parent.mkdir(exist_ok=True)
        subprocess.run(["dpkg-deb", "-b", str(tree), str(deb)], check=True, capture_output=True)
        sha256 = hashlib.sha256(deb.read_bytes()).hexdigest()
        size = deb.stat().st_size
        entry = f"{control}Filename: pool/{deb.name}\nSize: {size}\nSHA256: {sha256}\n"
        self.packages[suite].append(entry)
        self._write()
        return sha256

    def remove(self, name: str) -> None:
        for entries in self.packages.values():
            entries[:] = [entry for entry in entries if not entry.startswith(f"Package: {name}\n")]
        self._write()

    def _write(self) -> None:
        architecture = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
        for suite, entries in self.packages.items():
            folder = self.root / "dists" / suite
            listing = f"main/binary-{architecture.stdout.strip()}/Packages"
            (folder / listing).parent.mkdir(parents=True, exist_ok=True)
            data = "\n".join(entries).encode()
            (folder / listing).write_bytes(data)
            sha256 = hashlib.sha256(data).hexdigest()
            release = f"Suite: {suite}\nCodename: {suite}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n"
            release += f"Components: main\nArchitectures: {architecture.stdout.strip()} all\n"
            (folder / "Release").write_text(f"{release}SHA256:\n {sha256} {len(data)} {listing}\n")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """The machine's own sources name a mirror on disk, and clang is there."""
    made = Repository(tmp_path / "mirror")
    etc = tmp_path / "etc"
    etc.mkdir()
    (etc / "sources.list").write_text(f"deb [trusted=yes] file:{made.root} bookworm main\n")
    read = compiler.read_sources
    monkeypatch.setattr(compiler, "read_sources", lambda: read(etc))
    clang = tmp_path / "clang++"
    clang.touch()
    monkeypatch.setattr(find, "cached_clang", lambda: clang)
    monkeypatch.setattr(install, "ensure_clang", lambda say, mirror: None)
    monkeypatch.setattr(install, "missing_tools", list)
    monkeypatch.setattr(install, "require_working", lambda sdk: None)
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    return made


@pytest.fixture
def pins(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Pin]]:
    """Two profiles of three packages each, all on the mirror as pinned."""
    table: dict[str, list[Pin]] = {}
    for profile, suite in (("6.4", "forky"), ("7.2", "experimental")):
        version = f"{profile}.1-1"
        header = {"usr/include/hip/hip_version.h": HEADER.format(*profile.split("."))}
        bitcode = {f"usr/lib/llvm-{suite}/lib/clang/1/amdgcn/bitcode/ockl.bc": "bitcode"}
        rows = [
            ("hip-dev", "core", header),
            (f"libs-{profile}", "required", bitcode),
            ("extra", "optional", {"usr/x": ""}),
        ]
        table[profile] = [
            Pin(name, version, suite, role, repository.add(suite, name, version, files)) for name, role, files in rows
        ]
    monkeypatch.setattr(install, "read_lock", lambda profile: table[profile])
    return table


def run(profile: str | None = "6.4", **options: bool) -> tuple[install.Sdk, list[str]]:
    said: list[str] = []
    return install_sdk(profile, said.append, **options), said


def test_pinned_versions_are_taken_though_newer_ones_are_there(pins: dict[str, list[Pin]]) -> None:
    sdk, said = run()
    assert sdk.hip_version == (6, 4, 1)
    record = read_record(sdk)
    assert [(p.name, p.version, p.suite, p.pinned, p.sha256) for p in record] == [
        (pin.package, pin.version, "forky", True, pin.sha256) for pin in pins["6.4"]
    ]
    assert not any("moved" in line for line in said)


def test_second_run_does_nothing_and_offline_rebuilds_from_kept_packages(pins: dict[str, list[Pin]]) -> None:
    sdk, _ = run()
    stamp = sdk.record.stat().st_mtime_ns if sdk.record else 0
    again, said = run()
    assert said == [f"HIP 6.4 is installed in {sdk.root}"]
    assert again.record is not None
    assert again.record.stat().st_mtime_ns == stamp
    rebuilt, said = run(offline=True, force=True)
    assert not any("lists" in line for line in said)
    assert read_record(rebuilt) == read_record(sdk)


def test_a_moved_mirror_version_is_taken_said_and_recorded(pins: dict[str, list[Pin]], repository: Repository) -> None:
    repository.remove("hip-dev")
    header = {"usr/include/hip/hip_version.h": HEADER.format(6, 4)}
    sha256 = repository.add("sid", "hip-dev", "6.4.2-1", header)
    sdk, said = run()
    (moved,) = [p for p in read_record(sdk) if not p.pinned]
    assert (moved.name, moved.version, moved.suite, moved.sha256) == ("hip-dev", "6.4.2-1", "sid", sha256)
    assert "[1/3] hip-dev 6.4.2-1 (the mirror moved on from hip-dev 6.4.1-1)" in said


def test_another_file_under_a_pinned_version_is_refused(
    pins: dict[str, list[Pin]], repository: Repository, tmp_path: Path
) -> None:
    shutil.rmtree(repository.root / "build-extra-6.4.1-1")
    repository.remove("extra")
    repository.add("forky", "extra", "6.4.1-1", {"usr/x": "not what was pinned"})
    with pytest.raises(ToolchainError, match=r"extra 6\.4\.1-1 has sha256 .*, expected"):
        run()
    assert not find.sdk_cache("6.4").exists()
    assert not list((tmp_path / "cache/debs").glob("extra_*"))


def test_optional_package_may_be_missing_and_required_not(pins: dict[str, list[Pin]], repository: Repository) -> None:
    repository.remove("extra")
    sdk, said = run()
    assert sdk.record is not None
    assert json.loads(sdk.record.read_text())["missing"] == ["extra"]
    assert any("left out" in line for line in said)
    repository.remove("libs-7.2")
    with pytest.raises(ToolchainError, match=r"no libs-7\.2"):
        run("7.2")


def test_without_a_profile_the_next_one_is_taken_when_the_first_is_gone(
    pins: dict[str, list[Pin]], repository: Repository
) -> None:
    repository.remove("hip-dev")
    repository.add("sid", "hip-dev", "7.2.1-2", {"usr/include/hip/hip_version.h": HEADER.format(7, 2)})
    with pytest.raises(ToolchainError, match="no hip-dev for the HIP version") as caught:
        run("6.4")
    assert "--profile" in caught.value.next_step
    sdk, _ = run(None)
    assert sdk.profile == "7.2"


def test_a_failing_install_leaves_the_old_sdk_and_nothing_else(
    pins: dict[str, list[Pin]], monkeypatch: pytest.MonkeyPatch
) -> None:
    sdk, _ = run()
    (sdk.root / "marker").touch()

    def broken(sdk: install.Sdk) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(install, "require_working", broken)
    with pytest.raises(KeyboardInterrupt):
        run(force=True)
    assert (sdk.root / "marker").exists()
    assert sorted(path.name for path in sdk.root.parent.iterdir()) == [".lock", "6.4"]
    with pytest.raises(KeyboardInterrupt):
        run("7.2")
    assert not find.sdk_cache("7.2").exists()


def test_offline_without_packages_says_so(pins: dict[str, list[Pin]]) -> None:
    with pytest.raises(ToolchainError, match="--offline"):
        run(offline=True)


def test_two_installs_wait_for_each_other(pins: dict[str, list[Pin]]) -> None:
    run()
    said: list[str] = []
    with (find.sdk_cache("6.4").parent / ".lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        other = threading.Thread(target=install_sdk, args=("6.4", said.append))
        other.start()
        other.join(0.3)
        assert other.is_alive()
        assert said == ["another install is running: waiting for it"]
    other.join(20)
    assert not other.is_alive()


def test_full_disk_is_known_before_apt_starts(
    pins: dict[str, list[Pin]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(install, "_NEEDED_BYTES", 1 << 60)
    with pytest.raises(ToolchainError, match="are needed"):
        run()
    assert not (tmp_path / "cache/apt").exists()


def test_unreachable_mirror_is_one_clear_error(
    pins: dict[str, list[Pin]], repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(repository.root)
    with pytest.raises(SystemExit) as caught:
        main(["sdk", "install", "--profile", "6.4", "-q"])
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("hipport: the mirror offers no HIP packages: ")
    assert "Traceback" not in error


def test_system_sources_are_not_touched(pins: dict[str, list[Pin]], tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in Path("/etc/apt").rglob("*") if path.is_file()}
    run()
    assert {path: path.read_bytes() for path in Path("/etc/apt").rglob("*") if path.is_file()} == before
    config = (tmp_path / "cache/apt/sdk/apt.conf").read_text()
    for setting in ("Dir::Etc::sourceparts", "Dir::State", "Dir::Cache"):
        assert f'{setting} "{tmp_path}/cache/apt/sdk' in config


def test_show_prints_packages_as_json(pins: dict[str, list[Pin]], capsys: pytest.CaptureFixture[str]) -> None:
    sdk, _ = run("7.2")
    assert read_record(sdk)[1].name == "libs-7.2"
    (sdk.root.parent / "7.2/usr/include/hip/hip_version.h").write_text("")
    with pytest.raises(SystemExit) as caught:
        main(["sdk", "show", "--profile", "7.2", "--json"])
    assert caught.value.code == 2
    assert "hipport sdk install --profile 7.2" in capsys.readouterr().err


def test_wrappers_of_an_unpacked_llvm_find_its_libraries(tmp_path: Path) -> None:
    tools = tmp_path / f"usr/lib/llvm-{find.LLVM_MAJOR}/bin"
    tools.mkdir(parents=True)
    (tmp_path / "usr/lib/x").mkdir()
    (tmp_path / "usr/lib/x/libLLVM.so.1").touch()
    tool = tools / "clang++"
    tool.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH|$1"\n')
    tool.chmod(0o755)
    write_wrappers(tmp_path)
    printed = subprocess.run([tmp_path / "bin/clang++", "a b"], capture_output=True, text=True, check=True).stdout
    assert printed.split("|")[0].split(":")[0] == f"{tmp_path}/usr/lib/x"
    assert printed.strip().endswith("|a b")


def test_no_apt_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="not a Debian-based system") as caught:
        compiler.require_apt()
    assert "ROCM_PATH" in caught.value.next_step


def test_os_release(tmp_path: Path) -> None:
    (tmp_path / "os-release").write_text('ID=ubuntu\nPRETTY_NAME="Ubuntu 24.04 LTS"\n\n')
    assert os_release(tmp_path / "os-release") == {"ID": "ubuntu", "PRETTY_NAME": "Ubuntu 24.04 LTS"}
    assert os_release(tmp_path / "absent") == {}
