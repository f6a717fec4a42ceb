"""Run jobs in parallel within a memory limit.

Each result is kept as soon as it is there, so a stopped build goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from hipport.build.cache import BuildCache, Compiled, Cost, parse_depfile
from hipport.build.plan import Job, Pass, command_line, cut_command, kernel_command
from hipport.core import HipportError

_GIB = 1 << 30
# For units never compiled before (measured on FlashAttention's sources): the largest kind of each pass.
_GUESSED_PEAK = {
    Pass.DEVICE: 1.2 * _GIB,
    Pass.FRONT_END: 1.2 * _GIB,
    Pass.KERNEL: 0.6 * _GIB,
    Pass.STUBS: 0.8 * _GIB,
    Pass.HOST: 1.4 * _GIB,
}
_POLL_S = 0.02
_GRACE_S = 3.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much of the machine a build may use.

    Attributes:
        jobs: compilers at the same time.
        memory_bytes: sum of the expected resident sets; one job always runs.
        timeout_s: a compiler that runs longer is stopped; 0 means no limit.
    """

    jobs: int
    memory_bytes: int
    timeout_s: float = 0.0


def available_memory() -> int:
    """Bytes that new processes can take without swapping (``MemAvailable``); 2 GiB when the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 2 * _GIB


@dataclass(frozen=True)
class Bitcode:
    """What jobs of pass ``kernel`` start from.

    Attributes:
        opt: LLVM's ``opt``, which cuts kernels out.
        of: the bitcode of a job's unit; called when the job starts.
    """

    opt: Path
    of: Callable[[Job], bytes]


@dataclass(slots=True)
class _Running:
    job: Job
    process: subprocess.Popen[bytes]
    folder: Path
    started: float
    expected_bytes: float
    rest: list[list[str]]  # commands of the job that follow
    cost: Cost = field(default_factory=lambda: Cost(0.0, 0))  # of those that have ended
    timed_out: bool = False


def run_jobs(
    jobs: Sequence[Job],
    compiler: Path,
    root: Path,
    cache: BuildCache,
    limits: Limits,
    done: Callable[[Job, Compiled], None],
    started: Callable[[Job], None] = lambda job: None,
    fresh: bool = False,
    bitcode: Bitcode | None = None,
) -> None:
    """Compile, cached results first, largest expected cost next.

    Args:
        jobs: what to compile.
        compiler: the clang++ executable.
        root: tree root, the working folder of every compiler.
        cache: where results are looked up and kept.
        limits: see `Limits`.
        done: called with each outcome, in the order of completion, from this thread.
        started: called when a compiler starts.
        fresh: ignore what the cache holds.
        bitcode: what jobs of pass ``kernel`` need.

    Raises:
        HipportError: the compiler cannot be started, or a result cannot be written. Compilers that run are stopped.
        KeyboardInterrupt: passed on after they are stopped; a termination signal counts as one.
    """
    waiting: list[tuple[float, float, Job]] = []
    for job in jobs:
        found = None if fresh else cache.look_up(job)
        if found is not None:
            done(job, found)
            continue
        cost = cache.expected_cost(job)
        waiting.append((cost.cpu_s if cost else 0.0, cost.peak_bytes if cost else _GUESSED_PEAK[job.kind], job))
    waiting.sort(key=lambda row: -row[0])

    running: list[_Running] = []
    with _terminable(), tempfile.TemporaryDirectory(prefix="hipport-build-") as scratch:
        try:
            while waiting or running:
                used = sum(r.expected_bytes for r in running)
                while waiting and len(running) < limits.jobs:
                    fitting = next(
                        (i for i, row in enumerate(waiting) if not running or used + row[1] <= limits.memory_bytes),
                        None,
                    )
                    if fitting is None:
                        break
                    _, peak, job = waiting.pop(fitting)
                    running.append(_start(job, compiler, root, Path(scratch), peak, bitcode))
                    started(job)
                    used += peak
                for entry in list(running):
                    compiled = _poll(entry, root, cache, limits)
                    if compiled is not None:
                        running.remove(entry)
                        done(entry.job, compiled)
                if running:
                    time.sleep(_POLL_S)
        finally:
            _stop(running)


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Make SIGTERM raise KeyboardInterrupt, so that compilers do not outlive a build that is told to end."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _start(job: Job, compiler: Path, root: Path, scratch: Path, peak: float, bitcode: Bitcode | None) -> _Running:
    folder = Path(tempfile.mkdtemp(dir=scratch))
    commands = _commands(job, str(compiler), folder, bitcode)
    return _Running(job, _run(commands[0], folder, root), folder, time.monotonic(), peak, commands[1:])


def _commands(job: Job, compiler: str, folder: Path, bitcode: Bitcode | None) -> list[list[str]]:
    output = str(folder / "out")
    if job.cut is None:
        return [command_line(job, compiler, output, str(folder / "deps"))]
    if bitcode is None:
        raise ValueError(f"no bitcode to cut {job.label} out of")
    whole, kept, cut = folder / "unit.bc", folder / "kept", folder / "kernel.bc"
    whole.write_bytes(bitcode.of(job))
    kept.write_text("\n".join((job.cut.symbol, *job.cut.variables)) + "\n", encoding="utf-8")
    return [
        cut_command(str(bitcode.opt), str(kept), str(whole), str(cut)),
        kernel_command(job, compiler, str(cut), output),
    ]


def _run(command: list[str], folder: Path, root: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C"}
    try:
        with (folder / "err").open("ab") as errors:
            return subprocess.Popen(
                command,
                cwd=root,
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                env=environment,
                start_new_session=True,  # so that the compiler's children end with it
            )
    except OSError as error:
        raise HipportError(f"cannot start {command[0]}: {error.strerror}", "run: hipport doctor") from error


def _poll(entry: _Running, root: Path, cache: BuildCache, limits: Limits) -> Compiled | None:
    """The outcome when the job has ended, None while it runs."""
    pid, status, usage = os.wait4(entry.process.pid, os.WNOHANG)
    if pid == 0:
        if limits.timeout_s and time.monotonic() - entry.started > limits.timeout_s:
            entry.timed_out = True
            _kill(entry.process.pid, signal.SIGKILL)
        return None
    code = os.waitstatus_to_exitcode(status)
    entry.process.returncode = code
    cost = Cost(
        round(entry.cost.cpu_s + usage.ru_utime + usage.ru_stime, 2),
        max(entry.cost.peak_bytes, usage.ru_maxrss * 1024),
    )
    if code == 0 and entry.rest and not entry.timed_out:
        entry.cost = cost
        entry.process = _run(entry.rest.pop(0), entry.folder, root)
        return None
    messages = (entry.folder / "err").read_text(encoding="utf-8", errors="replace")
    messages = messages.replace(f"{root.as_posix()}/", "").replace(f"{entry.folder.as_posix()}/", "")
    failure = ""
    if entry.timed_out:
        failure = f"stopped after {limits.timeout_s:.0f} s"
    elif code < 0 or _machine_failed(messages):
        reason = f"killed by signal {-code}" if code < 0 else "the machine failed"
        failure = f"the compiler was stopped: {reason}"
    if failure:
        compiled = Compiled(False, b"", f"{messages}\nerror: {failure}", cost)
    else:
        compiled = Compiled(code == 0, (entry.folder / "out").read_bytes() if code == 0 else b"", messages, cost)
        _keep(entry, compiled, root, cache)
    shutil.rmtree(entry.folder, ignore_errors=True)
    return compiled


def _keep(entry: _Running, compiled: Compiled, root: Path, cache: BuildCache) -> None:
    """Store an outcome in the cache when everything that it depends on is known."""
    if entry.job.cut is not None:
        cache.store(entry.job, compiled, ())  # the bitcode is all
        return
    dependencies = _dependencies(entry.folder / "deps", root)
    # A header that was not found is on no list, and would be missed when it appears.
    if dependencies and (compiled.ok or "file not found" not in compiled.messages):
        cache.store(entry.job, compiled, dependencies)


def _machine_failed(messages: str) -> bool:
    return any(
        sign in messages
        for sign in ("No space left on device", "Cannot allocate memory", "out of memory", "LLVM ERROR: IO failure")
    )


def _dependencies(path: Path, root: Path) -> tuple[str, ...]:
    try:
        return parse_depfile(path.read_text(encoding="utf-8", errors="surrogateescape"), root)
    except OSError:
        return ()


def _stop(running: Sequence[_Running]) -> None:
    """End compilers and their children: ask first, then insist."""
    for entry in running:
        _kill(entry.process.pid, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    for entry in running:
        try:
            entry.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            _kill(entry.process.pid, signal.SIGKILL)
            entry.process.wait()


def _kill(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
