"""Unmodified HIP programs on the drop-in library: each checks itself and prints ok."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

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
]


@pytest.mark.parametrize(("name", "options"), SELF_CHECKING, ids=[name for name, _ in SELF_CHECKING])
def test_program_passes_its_own_checks(run_program: Run, name: str, options: dict[str, object]) -> None:
    done = run_program(name, **options)
    assert done.stdout.splitlines()[-1:] == ["ok"], done.stdout + done.stderr
    assert done.returncode == 0


def test_faults_are_sticky_and_named(run_program: Run) -> None:
    done = run_program("faults.hip")
    assert done.stdout.endswith("ok\n"), done.stdout + done.stderr
    assert "store to 0x1000" in done.stderr
    assert "wild_store" in done.stderr
    assert "Device-side assertion `x > 0' failed" in done.stderr
    assert "(hipErrorAssert)" in done.stderr


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
