"""The queue, with a stand-in for the compiler."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from build_fakes import fake_compiler, job, log_lines

from hipport.build.cache import BuildCache, Compiled
from hipport.build.plan import Cut, Job, Pass
from hipport.build.queue import Bitcode, Limits, available_memory, run_jobs
from hipport.build.tree import Tree
from hipport.core import HipportError

GIB = 1 << 30


class Bench:
    """A tree, a compiler and a cache; `run` gives the outcomes by source."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        self.root = folder / "tree"
        self.root.mkdir()
        self.compiler = fake_compiler(folder)
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8")

    def run(self, *names: str, limits: Limits | None = None, fresh: bool = False) -> dict[str, Compiled]:
        outcomes: dict[str, Compiled] = {}

        def done(job: Job, compiled: Compiled) -> None:
            outcomes[job.unit.path] = compiled

        cache = BuildCache(Tree.read(self.root), "fake", self.folder / "cache")
        jobs = [job(name) for name in names]
        run_jobs(jobs, self.compiler, self.root, cache, limits or Limits(2, 64 * GIB), done, fresh=fresh)
        return outcomes

    def started(self) -> int:
        return sum(line[0] == "start" for line in log_lines(self.folder))


def most_at_once(folder: Path) -> int:
    running = most = 0
    for line in sorted(log_lines(folder), key=lambda line: float(line[-1])):
        running += 1 if line[0] == "start" else -1
        most = max(most, running)
    return most


def test_results_failures_and_costs(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.cu": "include h.h", "h.h": "text", "b.cu": "fail"})
    outcomes = bench.run("a.cu", "b.cu")
    assert outcomes["a.cu"].ok
    assert outcomes["a.cu"].output == b"object of include h.htext"
    assert outcomes["a.cu"].cost.peak_bytes > 1 << 20  # a Python process
    assert not outcomes["b.cu"].ok
    assert outcomes["b.cu"].messages == "b.cu:2:3: error: use of undeclared identifier 'x'\n"


def test_a_second_run_compiles_nothing_and_a_changed_header_its_users(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.cu": "include h.h", "h.h": "text", "b.cu": "fail", "c.cu": ""})
    bench.run("a.cu", "b.cu", "c.cu")
    assert bench.started() == 3
    again = bench.run("a.cu", "b.cu", "c.cu")
    assert bench.started() == 3
    assert all(compiled.cached for compiled in again.values())
    assert not again["b.cu"].ok
    (bench.root / "h.h").write_text("new", encoding="utf-8")
    assert bench.run("a.cu", "b.cu", "c.cu")["a.cu"].output == b"object of include h.hnew"
    assert bench.started() == 4
    bench.run("c.cu", fresh=True)
    assert bench.started() == 5


def test_a_missing_header_is_not_remembered(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.cu": "include sub.h"})
    assert not bench.run("a.cu")["a.cu"].ok
    (bench.root / "sub.h").write_text("", encoding="utf-8")
    assert bench.run("a.cu")["a.cu"].ok


def test_jobs_limit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {f"{n}.cu": "sleep 0.2" for n in range(4)})
    bench.run(*(f"{n}.cu" for n in range(4)), limits=Limits(2, 64 * GIB))
    assert most_at_once(tmp_path) == 2


def test_memory_limit_and_one_job_always_runs(tmp_path: Path) -> None:
    """Unknown units are expected to take 1.2 GiB: two do not fit into 2 GiB, and one runs even in 1 MiB."""
    bench = Bench(tmp_path, {f"{n}.cu": "sleep 0.2" for n in range(3)})
    bench.run("0.cu", "1.cu", limits=Limits(8, 2 * GIB))
    assert most_at_once(tmp_path) == 1
    bench.run("2.cu", limits=Limits(8, 1 << 20))
    assert bench.started() == 3


def test_measured_memory_replaces_the_guess(tmp_path: Path) -> None:
    """After a first build the same units are known to take far less than 1.2 GiB, so both fit."""
    bench = Bench(tmp_path, {f"{n}.cu": "sleep 0.3" for n in range(2)})
    bench.run("0.cu", "1.cu", limits=Limits(1, GIB))
    (tmp_path / "log").write_text("", encoding="utf-8")
    bench.run("0.cu", "1.cu", limits=Limits(2, GIB), fresh=True)
    assert most_at_once(tmp_path) == 2


def test_peak_memory_is_measured(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.cu": "alloc 200"})
    assert 200 << 20 < bench.run("a.cu")["a.cu"].cost.peak_bytes < 400 << 20


@pytest.mark.parametrize(
    ("text", "reason"),
    [("die", "killed by signal 9"), ("full", "the machine failed")],
)
def test_what_the_machine_did_is_not_remembered(tmp_path: Path, text: str, reason: str) -> None:
    bench = Bench(tmp_path, {"a.cu": text})
    assert reason in bench.run("a.cu")["a.cu"].messages
    bench.run("a.cu")
    assert bench.started() == 2


def test_timeout(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.cu": "sleep 30"})
    begin = time.monotonic()
    outcome = bench.run("a.cu", limits=Limits(1, GIB, timeout_s=0.3))["a.cu"]
    assert time.monotonic() - begin < 10
    assert "stopped after 0 s" in outcome.messages
    bench.run("a.cu", limits=Limits(1, GIB, timeout_s=0.3))
    assert bench.started() == 2


def test_a_compiler_that_does_not_start(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.cu": ""})
    bench.compiler = tmp_path / "absent"
    with pytest.raises(HipportError, match="cannot start"):
        bench.run("a.cu")


def test_a_result_that_cannot_be_written_stops_the_build(tmp_path: Path) -> None:
    bench = Bench(tmp_path, {"a.cu": ""})
    (tmp_path / "cache").write_text("a file where the cache's folder should be", encoding="utf-8")
    with pytest.raises(HipportError, match="cannot write"):
        bench.run("a.cu")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_stops_compilers_and_their_children_and_the_next_run_goes_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    bench = Bench(tmp_path, {"a.cu": "", "b.cu": "child 60 sleep 60"})
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_build_queue import Bench, Limits
bench = Bench.__new__(Bench)
bench.folder = Path({str(tmp_path)!r})
bench.root, bench.compiler = bench.folder / "tree", bench.folder / "clang++"
try:
    bench.run("a.cu", "b.cu", limits=Limits(1, 1 << 40))
except KeyboardInterrupt:
    sys.exit(7)
"""
    process = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 30
    while bench.started() < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    (group,) = children_of(process.pid)
    while len(alive_in(group)) < 2 and time.monotonic() < deadline:  # the compiler and its child
        time.sleep(0.05)
    process.send_signal(number)
    assert process.wait(30) == 7
    assert alive_in(group) == []
    (bench.root / "b.cu").write_text("", encoding="utf-8")
    outcomes = bench.run("a.cu", "b.cu")
    assert outcomes["a.cu"].cached
    assert not outcomes["b.cu"].cached


def children_of(pid: int) -> list[int]:
    """Process ids of the children; each compiler leads a group of its own."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(word) for word in text.split()]


def alive_in(group: int) -> list[int]:
    """Processes of a group that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, process_group = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:3]
        except OSError:  # ended meanwhile
            continue
        if int(process_group) == group and state not in "ZX":
            found.append(int(stat.parent.name))
    return found


def test_available_memory_is_plausible() -> None:
    assert 1 << 26 < available_memory() < 1 << 46


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def kernel_jobs(tmp_path: Path, names: str, opt: str, compiler: str) -> dict[str, Compiled]:
    """Run jobs of pass ``kernel`` for one-letter kernels with stand-ins for both tools."""
    root = tmp_path / "tree"
    root.mkdir(exist_ok=True)
    (root / "a.cu").write_text("", encoding="utf-8")
    outcomes: dict[str, Compiled] = {}

    def done(job: Job, compiled: Compiled) -> None:
        assert job.cut is not None
        outcomes[job.cut.symbol] = compiled

    jobs = [replace(job("a.cu", flags=()), kind=Pass.KERNEL, cut=Cut(name, name, "hash", ("table",))) for name in names]
    cache = BuildCache(Tree.read(root), "fake", tmp_path / "cache")
    bitcode = Bitcode(script(tmp_path / "opt", opt), lambda job: b"bitcode of the unit")
    run_jobs(jobs, script(tmp_path / "clang", compiler), root, cache, Limits(1, GIB), done, bitcode=bitcode)
    return outcomes


# opt -passes=... -internalize-public-api-file=FILE IN -o OUT; clang IN -o OUT
CUT = 'echo cut >> ../log; (cat "$3"; echo; cat "${2#*=}") > "$5"'
COMPILE = 'echo compile >> ../log; (echo object; cat "$1") > "$3"'


def test_a_kernel_is_cut_out_and_compiled_once(tmp_path: Path) -> None:
    outcomes = kernel_jobs(tmp_path, "kl", CUT, COMPILE)
    assert outcomes["k"].output == b"object\nbitcode of the unit\nk\ntable\n"
    assert outcomes["l"].output == b"object\nbitcode of the unit\nl\ntable\n"
    assert kernel_jobs(tmp_path, "k", CUT, COMPILE)["k"].cached
    assert (tmp_path / "log").read_text(encoding="utf-8").split() == ["cut", "compile"] * 2


def test_a_kernel_fails_with_what_either_tool_said(tmp_path: Path) -> None:
    outcomes = kernel_jobs(tmp_path, "k", "echo error: no such pass >&2; exit 1", COMPILE)
    assert not outcomes["k"].ok
    assert outcomes["k"].messages == "error: no such pass\n"
    outcomes = kernel_jobs(tmp_path, "l", CUT, "echo error: ran out of registers >&2; exit 1")
    assert not outcomes["l"].ok
    assert "ran out of registers" in outcomes["l"].messages
    outcomes = kernel_jobs(tmp_path, "m", CUT, "kill -9 $$")
    assert "killed by signal 9" in outcomes["m"].messages
    assert kernel_jobs(tmp_path, "m", CUT, COMPILE)["m"].ok  # what the machine caused is not kept
