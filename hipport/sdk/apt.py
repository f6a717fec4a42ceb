"""apt with its own sources, lists and cache: nothing of the system's package state is read or changed.

Signatures are checked as always (the machine's archive keyring), proxies and credentials of the machine's apt
configuration hold.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hipport.core import ToolchainError
from hipport.core.files import write_atomic
from hipport.sdk.mirror import AptSource

_TIMEOUT_S = 1200

_CONFIG = """\
// Hooks of the system are for the system's own lists.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "{root}/sources";
Dir::State "{root}/state";
Dir::State::status "{status}";
Dir::Cache "{root}/cache";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
"""


@dataclass(frozen=True)
class Candidate:
    """One version that the mirror offers."""

    package: str
    version: str
    suite: str


@dataclass(frozen=True)
class Archive:
    """One package file to download.

    Attributes:
        package: its name.
        version: its version.
        filename: file name as apt writes it.
        size_bytes: size.
    """

    package: str
    version: str
    filename: str
    size_bytes: int


class PrivateApt:
    """apt confined to one folder.

    Args:
        root: folder for lists and cache, kept between calls.
        sources: what to read.
        status: package state to resolve dependencies against; None for "nothing installed".

    Raises:
        ToolchainError: the machine has no apt.
    """

    def __init__(self, root: Path, sources: list[AptSource], status: Path | None = None) -> None:
        require_apt()
        self.root = root.resolve()
        for folder in ("sources", "state/lists/partial", "cache/archives/partial"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        if status is None:
            status = self.root / "no-packages"
            status.touch()
        self._config = self.root / "apt.conf"
        stanzas = "\n".join(source.stanza() for source in sources)
        write_atomic(self.root / "sources" / "hipport.sources", stanzas.encode())
        write_atomic(self._config, _CONFIG.format(root=self.root, status=status).encode())

    def update(self) -> str:
        """Fetch the package lists; apt's complaint where a part of them failed, empty when all is well.

        One suite missing on a mirror need not matter, so this decides nothing. An unreachable mirror is a warning to
        apt, with exit code 0.
        """
        done = self._run("apt-get", "update", "-q")
        failed = [line[3:] for line in done.stderr.splitlines() if line.startswith(("E: ", "W: Failed"))]
        return failed[0] if failed else ""

    def candidates(self, packages: list[str]) -> dict[str, list[Candidate]]:
        """Versions on offer by package, newest first."""
        done = self._run("apt-cache", "madison", *packages)
        found: dict[str, list[Candidate]] = {}
        for line in done.stdout.splitlines():
            columns = [column.strip() for column in line.split("|")]
            if len(columns) == 3 and columns[2].endswith(" Packages"):
                suite = columns[2].split()[1].split("/")[0]
                found.setdefault(columns[0], []).append(Candidate(columns[0], columns[1], suite))
        return found

    def download(self, wanted: list[tuple[str, str]], folder: Path) -> list[Path]:
        """Download package files into ``folder``: (package, version) each; in the same order.

        Raises:
            ToolchainError: apt could not fetch or verify one.
        """
        folder.mkdir(parents=True, exist_ok=True)
        done = self._run("apt-get", "download", "-q", *(f"{name}={version}" for name, version in wanted), cwd=folder)
        found = [next(folder.glob(f"{name}_{version.replace(':', '%3a')}_*.deb"), None) for name, version in wanted]
        files = [path for path in found if path is not None]
        if done.returncode != 0 or len(files) < len(wanted):
            absent = [name for (name, _), path in zip(wanted, found, strict=True) if path is None]
            raise ToolchainError(
                f"cannot download {', '.join(absent) or 'packages'}: {_apt_error(done)}",
                "check the network, proxy settings and free disk space, then run the command again",
            )
        return files

    def needed_for(self, packages: list[str]) -> list[Archive] | None:
        """What must be added to the installed packages to have ``packages``; None when apt finds no way."""
        done = self._run("apt-get", "install", "--print-uris", "-qq", "-y", "--no-install-recommends", *packages)
        if done.returncode != 0:
            return None
        found = []
        for match in re.finditer(
            r"^'[^']+' ((?P<name>[^_\s]+)_(?P<version>[^_\s]+)_\S+\.deb) (\d+)", done.stdout, re.M
        ):
            version = match["version"].replace("%3a", ":")
            found.append(Archive(match["name"], version, match[1], int(match[4])))
        return found

    def _run(self, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        program, *arguments = command
        try:
            return subprocess.run(
                [program, "-c", str(self._config), *arguments],
                capture_output=True,
                text=True,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                check=False,
                timeout=_TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as error:
            message = f"{program} {arguments[0]} did not end in {_TIMEOUT_S // 60} minutes"
            raise ToolchainError(message, "check the network, the proxy settings and free disk space") from error


def require_apt() -> None:
    """Check that apt and dpkg-deb are there.

    Raises:
        ToolchainError: they are not.
    """
    missing = [name for name in ("apt-get", "apt-cache", "dpkg-deb") if shutil.which(name) is None]
    if missing:
        raise ToolchainError(
            f"{' and '.join(missing)} not found: this is not a Debian-based system",
            "install ROCm with this system's packages and set ROCM_PATH, or copy an SDK from a Debian machine "
            "(its cache folder sdk/) and set HIPPORT_SDK",
        )


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the files of a package; its scripts do not run.

    Raises:
        ToolchainError: damaged archive or full disk.
    """
    done = subprocess.run(["dpkg-deb", "-x", str(archive), str(folder)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolchainError(
            f"cannot unpack {archive.name}: {_last_line(done.stderr)}", "check free disk space, then run it again"
        )


def _apt_error(done: subprocess.CompletedProcess[str]) -> str:
    errors = [line[3:] for line in done.stderr.splitlines() if line.startswith("E: ")]
    return errors[0] if errors else _last_line(done.stderr) or f"exit code {done.returncode}"


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""
