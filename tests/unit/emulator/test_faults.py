"""Each planted fault is found, with its place; the correct form of the same kernel raises no alarm."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import Compile

from hipport.emulator import Checks, Device, LaunchResult, Module, Options

pytestmark = pytest.mark.sdk

SOURCE = Path(__file__).with_name("faults.hip")
SRC = np.arange(256, dtype=np.int32)


@pytest.fixture(scope="module")
def module(compile_kernel: Compile) -> Module:
    device = Device("gfx942", Options(checks=Checks.ALL, max_instructions=50_000_000))
    return device.load(compile_kernel(SOURCE, "gfx942", "-O1", "-g"))


def launch(module: Module, kernel: str) -> LaunchResult:
    out, small = np.zeros(256, np.int32), np.zeros(200, np.float32)
    match kernel:
        case "store_past_end" | "store_inside":
            return module.try_launch(kernel, 4, 64, [small, np.int32(200)])
        case "load_before_start":
            return module.try_launch(kernel, 1, 64, [small, small.copy()])
        case "wild_store" | "traps":
            return module.try_launch(kernel, 1, 64, [small])
        case "uninitialised_register":
            return module.try_launch(kernel, 1, 64, [out, np.int32(0)])
        case "lds_past_end":
            return module.try_launch(kernel, 1, 64, [out, np.int32(20)], dynamic_lds_bytes=256)
        case "use_after_free":
            buffer = module.device.upload(SRC)
            address = np.uint64(buffer.address)
            buffer.free()
            return module.try_launch(kernel, 1, 64, [out, address])
    return module.try_launch(kernel, 1, 256, [SRC, out])


def marked_lines(kernel: str, rule: str) -> set[int]:
    """Lines of the kernel that carry ``// FAULT rule``."""
    lines, inside = set(), False
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        if "__global__" in line:
            inside = f" {kernel}(" in line
        if inside and f"// FAULT {rule}" in line:
            lines.add(number)
    return lines


@pytest.mark.parametrize(
    ("kernel", "rule"),
    [
        ("store_past_end", "HP850"),
        ("load_before_start", "HP850"),
        ("use_after_free", "HP851"),
        ("lds_past_end", "HP852"),
        ("uninitialised_lds", "HP854"),
        ("uninitialised_register", "HP854"),
        ("missing_barrier", "HP855"),
        ("overwrite_too_early", "HP855"),
        ("divergent_barrier", "HP856"),
        ("traps", "HP861"),
        ("wild_store", "HP862"),
    ],
)
def test_fault_is_found(module: Module, kernel: str, rule: str) -> None:
    result = launch(module, kernel)
    found = [f for f in result.findings if f.id == rule]
    assert found, [f.format() for f in result.findings]
    assert {f.source_line for f in found} & marked_lines(kernel, rule)
    assert found[0].kernel == kernel
    assert found[0].instruction
    assert Path(found[0].source_file).name == SOURCE.name


def test_wave_that_ended_before_a_barrier(module: Module) -> None:
    found = launch(module, "early_exit").findings
    assert [f.id for f in found] == ["HP856"]
    assert found[0].instruction == "s_barrier"  # its line is in the header that __syncthreads comes from


def test_finding_names_lane_workgroup_and_address(module: Module) -> None:
    out = module.device.upload(np.zeros(200, np.float32))
    (found,) = module.try_launch("store_past_end", 4, 64, [out, np.int32(200)]).findings
    # 200 floats: work-item 200 is lane 8 of workgroup 3, and 56 work-items are beyond the end
    assert (found.workgroup, found.lane, found.occurrences) == ((3, 0, 0), 8, 56)
    assert found.address == out.address + 800


@pytest.mark.parametrize("kernel", ["store_inside", "with_barrier", "masked_lds", "packed_lds"])
def test_correct_kernel_has_no_finding(module: Module, kernel: str) -> None:
    result = launch(module, kernel)
    assert result.error is None
    assert not result.findings


def test_results_survive_findings(module: Module) -> None:
    out = np.zeros(200, np.float32)
    module.try_launch("store_past_end", 4, 64, [out, np.int32(200)])
    assert (out == np.arange(200)).all()


def test_spinning_for_ever_is_a_deadlock(module: Module) -> None:
    result = module.try_launch("endless", 1, 64, [np.zeros(1, np.int32)])
    assert result.error is not None
    assert "deadlock" in str(result.error)
    assert re.match("HP859", result.findings[0].id)


def test_waves_that_wait_for_each_other(module: Module) -> None:
    result = module.try_launch("barrier_in_half", 1, 128, [np.zeros(1, np.int32)])
    assert result.error is not None
    assert "deadlock" in str(result.error)


def test_instruction_limit(compile_kernel: Compile) -> None:
    device = Device("gfx942", Options(max_instructions=10_000))
    module = device.load(compile_kernel(SOURCE, "gfx942", "-O1", "-g"))
    result = module.try_launch("endless", 1, 64, [np.zeros(1, np.int32)])
    assert result.error is not None
    assert "limit of 10000" in str(result.error)


def test_wild_access_without_checks_ends_the_launch_only(compile_kernel: Compile) -> None:
    module = Device("gfx942").load(compile_kernel(SOURCE, "gfx942", "-O1", "-g"))
    result = module.try_launch("wild_store", 1, 64, [np.zeros(64, np.float32)])
    assert result.error is not None
    assert "0x1234567800" in str(result.error)
    assert module.launch("store_inside", 1, 64, [np.zeros(64, np.float32), np.int32(64)]).findings == ()
