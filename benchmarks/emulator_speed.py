"""Speed of the emulator: wave-instructions per second of CPU time with the speed set of real kernels.

    python benchmarks/emulator_speed.py [--rounds 5] [--json FILE] [--check] [--build]
        [--layer-norm OBJECT] [--conformance DIR] [--flash TREE]

The speed set: upstream's layer norm forward (an object that ``hipport build --preset sample`` makes), hipcub's radix
sort of 1 M keys, FlashAttention forward (head dimension 64, causal, 4 heads of 1024 x 1024), a04_block_reduce. A kernel
whose input is missing is left out and named. All figures are medians of CPU time of the emulator's threads, so that
other processes on the machine do not show. ``--check`` exits with 1 when a limit below is missed, ``--build`` also
times the build of the core.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hipport.core import HipportError
from hipport.emulator import Checks, Device, Options
from hipport.hiprt import RunOptions, build_runtime, runtime_environment
from hipport.pipeline.program import Compilation, build_from
from hipport.sdk import find_sdk

TARGET = "gfx942"
AT_LEAST = {
    "median_off": 20.0,  # million wave-instructions per second, checks off
    "median_on": 10.0,  # the same with every check on
    "two_threads": 1.7,  # times one thread, if each has a processor
}
AT_MOST = {
    "load_seconds": 0.3,  # load and decode of 5,000 instructions, disassembly cached
    "radix_sort_seconds": 5.0,  # 1 M keys, one thread
    "peak_megabytes": 500.0,  # of the radix sort's process, its buffers left out
    "build_seconds": 60.0,  # of the core
}

RADIX_SORT = r"""
#include <cstdio>
#include <vector>
#include <hip/hip_runtime.h>
#include <hipcub/hipcub.hpp>
int main() {
  const int n = 1 << 20;
  std::vector<unsigned> keys(n);
  unsigned x = 12345;
  for (unsigned& key : keys) key = x = x * 1664525u + 1013904223u;
  unsigned *in, *out;
  void* scratch = nullptr;
  size_t bytes = 0;
  (void)hipMalloc(&in, n * 4);
  (void)hipMalloc(&out, n * 4);
  (void)hipMemcpy(in, keys.data(), n * 4, hipMemcpyHostToDevice);
  (void)hipcub::DeviceRadixSort::SortKeys(scratch, bytes, in, out, n);
  (void)hipMalloc(&scratch, bytes);
  (void)hipcub::DeviceRadixSort::SortKeys(scratch, bytes, in, out, n);
  (void)hipMemcpy(keys.data(), out, n * 4, hipMemcpyDeviceToHost);
  for (int i = 1; i < n; ++i) if (keys[i - 1] > keys[i]) return 1;
  std::puts("sorted");
}
"""
SORT_BUFFERS = 2 * (4 << 20) + (4 << 20)  # keys, result, the host's copy
LONG_CODE = r"""
#include <hip/hip_runtime.h>
extern "C" __global__ void long_code(float* x) {
  float v = x[threadIdx.x];
#pragma unroll
  for (int k = 0; k < 5000; ++k) v = v * v + 0.25f * (k + 1);
  x[threadIdx.x] = v;
}
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One execution: wave-instructions, findings, CPU seconds of the emulator's threads, peak resident bytes or 0."""

    instructions: int
    findings: int
    seconds: float
    peak: int = 0


Start = Callable[[Checks, int], Run]  # checks, threads


def run_options(checks: Checks, threads: int, report: Path) -> RunOptions:
    """Two threads only work side by side where the order of workgroups may show."""
    return RunOptions(TARGET, 1, threads, threads == 1, "all" if checks else "", statistics=report)


def program(path: Path, arguments: bytes = b"") -> Start:
    """Runs an executable on the emulator; ``arguments`` is its standard input."""
    runtime = build_runtime(find_sdk())

    def start(checks: Checks, threads: int) -> Run:
        with tempfile.TemporaryDirectory() as folder:
            report, request = Path(folder) / "report.json", Path(folder) / "request"
            request.write_bytes(arguments)
            options = run_options(checks, threads, report)
            with request.open("rb") as stream:
                child = subprocess.Popen(
                    [str(path)],
                    stdin=stream,
                    stdout=subprocess.DEVNULL,
                    env=runtime_environment(runtime, options),
                )
                _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
            if status:
                raise HipportError(f"{path} ended with status {status}", "run it by hand")
            s = json.loads(report.read_text(encoding="utf-8"))
            return Run(s["instructions"], len(s["findings"]), s["cpu_nanoseconds"] / 1e9, usage.ru_maxrss * 1024)

    return start


def compiled(source: Path) -> Path:
    sdk = find_sdk()
    return build_from(source, Compilation(TARGET, flags=("-O3",)), sdk, build_runtime(sdk)).executable


def radix_sort(folder: Path) -> Start:
    source = folder / "radix_sort.hip"
    source.write_text(RADIX_SORT)
    return program(compiled(source))


def layer_norm(path: Path) -> Start:
    """Upstream's kernel for 256 columns of f32, 4096 rows (`FwdParams` of csrc/layer_norm/ln.h by value)."""
    rows, columns, blocks = 4096, 256, 256
    name = "ELb0ELb0ELb0ELb1EEEvNS_9FwdParamsE"
    image = path.read_bytes()

    def start(checks: Checks, threads: int) -> Run:
        device = Device(TARGET, Options(threads, deterministic=threads == 1, checks=checks))
        module = device.load(image)
        kernel = next(k for k in module.kernels if k.endswith(name) and "Kernel_traitsIfffff" in k)
        rng = np.random.default_rng(1)
        x = rng.standard_normal((rows, columns)).astype(np.float32)
        out = device.allocate(x.nbytes)
        each = [device.upload(np.ones(rows, np.float32)) for _ in range(2)]  # mean, 1 / deviation
        gamma, beta = (device.upload(np.full(columns, v, np.float32)) for v in (1, 0))
        pointers = [0] * 14
        for place, buffer in ((0, device.upload(x)), (6, each[0]), (7, each[1]), (8, gamma)):
            pointers[place] = buffer.address
            each.append(buffer)
        parameters = struct.pack("<3i4x14Q4f?7x2Q", blocks, rows, columns, *pointers, 1 / columns, 1, 1, 1, False, 0, 0)
        parameters += struct.pack("<4Qf4x", out.address, 0, beta.address, 0, 1e-5)
        parameters = parameters.ljust(module.kernels[kernel].explicit_arguments[0].bytes, b"\0")
        result = module.launch(kernel, blocks, 128, [parameters])
        expected = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
        assert np.abs(out.view(np.float32).reshape(x.shape) - expected).max() < 1e-4
        s = result.statistics
        return Run(s.instructions, len(result.findings), s.cpu_nanoseconds / 1e9)

    return start


def flash_forward(tree: Path) -> Start:
    """Records what `hipport.flash` asks of its kernel program, and asks it again."""
    import torch

    from hipport.flash import FlashAttention
    from hipport.flash.launch import run

    requests: list[tuple[Path, Any, Any]] = []

    def record(path: Path, environment: Any, buffers: Any, launches: Any) -> Any:
        requests.append((path, buffers, launches))
        return run(path, environment, buffers, launches)

    with unittest.mock.patch("hipport.flash.attention.run", record):
        q, k, v = (torch.randn(1, 1024, 4, 64).half() for _ in range(3))
        FlashAttention(tree, TARGET, compute_units=1).interface.flash_attn_func(q, k, v, causal=True)
    path, buffers, launches = requests[-1]

    def start(checks: Checks, threads: int) -> Run:
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            options = run_options(checks, threads, report)
            run(path, runtime_environment(build_runtime(find_sdk()), options), buffers, launches)
            s = json.loads(report.read_text(encoding="utf-8"))
        return Run(s["instructions"], len(s["findings"]), s["cpu_nanoseconds"] / 1e9)

    return start


def numpy_rate() -> float:
    """Million instructions per second when each is a handful of numpy calls: v_fma_f32 on rows of 64 under EXEC."""
    rows = np.zeros((16, 64), np.float32)
    on = np.ones(64, bool)
    n = 20000
    start = time.process_time()
    for k in range(n):
        np.copyto(rows[k & 15], rows[(k + 1) & 15] * np.float32(0.5) + rows[(k + 2) & 15], where=on)
    return n / (time.process_time() - start) / 1e6


def load_seconds(folder: Path) -> float:
    """CPU time from nothing to the end of a kernel of 5,000 instructions, its disassembly cached."""
    sdk = find_sdk()
    source, out = folder / "long.hip", folder / "long.co"
    source.write_text(LONG_CODE)
    subprocess.run([str(sdk.clang), *sdk.device_flags(TARGET), "-O3", "-c", str(source), "-o", str(out)], check=True)
    times = []
    for _ in range(4):
        start = time.process_time()
        device = Device(TARGET, Options(threads=1))
        count = device.load(out.read_bytes()).launch("long_code", 1, 64, [np.zeros(64, np.float32)])
        times.append(time.process_time() - start)
        assert count.statistics.instructions > 5000
    return min(times)


def build_seconds() -> float:
    """CPU time of a build of the core from nothing, spread over the processors as an idle machine does."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, "-c", "from hipport.emulator.build import library_path; library_path()"]
        child = subprocess.Popen(command, env=os.environ | {"HIPPORT_CACHE": cache})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        return (usage.ru_utime + usage.ru_stime) / (os.cpu_count() or 1)


def median_rate(start: Start, checks: Checks, threads: int, rounds: int) -> tuple[float, Run]:
    """(million wave-instructions per CPU second, the last run)."""
    runs = [start(checks, threads) for _ in range(rounds)]
    return statistics.median(r.instructions / r.seconds / 1e6 for r in runs), runs[-1]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--layer-norm", type=Path, default=Path("build/gfx942/csrc/layer_norm/ln_fwd_256.cu.hsaco"))
    parser.add_argument("--conformance", type=Path, default=Path("../shared/conformance"))
    parser.add_argument("--flash", type=Path, default=Path("generated_hip"))
    arguments = parser.parse_args()
    figures: dict[str, float] = {"numpy_rate": round(numpy_rate(), 2)}
    rows: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures["load_seconds"] = round(load_seconds(folder), 3)
        speed_set: dict[str, Callable[[], Start]] = {
            "layer_norm_forward": lambda: layer_norm(arguments.layer_norm),
            "hipcub_radix_sort": lambda: radix_sort(folder),
            "flash_forward_hd64": lambda: flash_forward(arguments.flash),
            "a04_block_reduce": lambda: program(compiled(arguments.conformance / "a04_block_reduce.cu")),
        }
        for kernel, prepare in speed_set.items():
            try:
                start = prepare()
            except (HipportError, OSError, ImportError) as error:
                print(f"{kernel}: left out, {error}", file=sys.stderr)
                continue
            off, run = median_rate(start, Checks.NONE, 1, arguments.rounds)
            on, checked = median_rate(start, Checks.ALL, 1, arguments.rounds)
            two, _ = median_rate(start, Checks.NONE, 2, arguments.rounds)
            rows[kernel] = {"off": round(off, 1), "on": round(on, 1), "two_threads": round(2 * two / off, 2)}
            print(
                f"{kernel:20} {run.instructions:11,} instructions  {run.seconds:6.3f} s  {off:6.1f} M/s  checks on "
                f"{on:6.1f} M/s, {checked.findings} findings  two threads {2 * two / off:4.2f}x"
            )
            if kernel == "hipcub_radix_sort":
                figures["radix_sort_seconds"] = round(run.seconds, 2)
                figures["peak_megabytes"] = round((run.peak - SORT_BUFFERS) / 1e6)
        if arguments.build:
            figures["build_seconds"] = round(build_seconds(), 1)
    if rows:
        figures["median_off"] = statistics.median(r["off"] for r in rows.values())
        figures["median_on"] = statistics.median(r["on"] for r in rows.values())
        figures["two_threads"] = statistics.median(r["two_threads"] for r in rows.values())
        figures["times_numpy"] = round(figures["median_off"] / figures["numpy_rate"], 1)
    print(", ".join(f"{k} {v}" for k, v in figures.items()))
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "figures": figures}, indent=1))
    missed = [k for k, v in AT_LEAST.items() if figures.get(k, v) < v] + [
        k for k, v in AT_MOST.items() if figures.get(k, v) > v
    ]
    for k in missed:
        print(f"limit missed: {k} {figures[k]}, want {AT_LEAST.get(k, AT_MOST.get(k))}", file=sys.stderr)
    return 1 if arguments.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
