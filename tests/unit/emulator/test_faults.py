"""Each planted fault is found, with its place; the correct form of the same kernel raises no alarm."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from conftest import Compile

from hipport.core.files import include_root
from hipport.emulator import Checks, Device, LaunchResult, Module, Options
from hipport.emulator.testing import assemble

pytestmark = pytest.mark.sdk

SOURCE = Path(__file__).with_name("faults.hip")
MASKS = Path(__file__).with_name("masks.hip")
SRC = np.arange(256, dtype=np.int32)
TARGETS = ("gfx942", "gfx1100", "gfx1201")  # wave64; wave32; wave32 with split barriers and waits


def load(image: bytes, target: str) -> Module:
    return Device(target, Options(checks=Checks.ALL, max_instructions=50_000_000)).load(image)


@pytest.fixture(scope="module", params=TARGETS)
def assembly(compile_kernel: Compile, request: pytest.FixtureRequest) -> str:
    return compile_kernel(SOURCE, request.param, "-O1", "-g", "-S").decode()


@pytest.fixture(scope="module")
def module(assembly: str) -> Module:
    return load_text(assembly)


def load_text(assembly: str) -> Module:
    target = assembly.split("amdhsa--", 1)[1].split('"', 1)[0]
    return load(assemble(target, assembly), target)


def launch(module: Module, kernel: str) -> LaunchResult:
    out, small = np.zeros(256, np.int32), np.zeros(200, np.float32)
    match kernel:
        case "store_past_end" | "store_inside":
            return module.try_launch(kernel, 4, 64, [small, np.int32(200)])
        case "load_before_start":
            return module.try_launch(kernel, 1, 64, [small, small.copy()])
        case "wild_store" | "traps" | "store_to_arguments" | "store_to_packet":
            return module.try_launch(kernel, 1, 64, [small])
        case "stores_everywhere":
            return module.try_launch(kernel, 4, 64, [out, np.int32(200)])
        case "uninitialised_register":
            return module.try_launch(kernel, 1, 64, [out, np.int32(0)])
        case "lds_past_end" | "lds_load_past_end":
            return module.try_launch(kernel, 1, 64, [out, np.int32(20)], dynamic_lds_bytes=256)
        case "scratch_past_end":
            return module.try_launch(kernel, 1, 64, [out, np.int32(4096)])
        case "scratch_inside":
            return module.try_launch(kernel, 1, 64, [out, np.int32(3)])
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
        ("lds_load_past_end", "HP852"),
        ("scratch_past_end", "HP853"),
        ("uninitialised_lds", "HP854"),
        ("uninitialised_register", "HP854"),
        ("missing_barrier", "HP855"),
        ("overwrite_too_early", "HP855"),
        ("divergent_barrier", "HP856"),
        ("traps", "HP861"),
        ("wild_store", "HP862"),
        ("stores_everywhere", "HP850"),
        ("store_to_arguments", "HP862"),
        ("store_to_packet", "HP862"),
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
    assert found[0].instruction.startswith("s_barrier")  # its line is in the header that __syncthreads comes from


def test_finding_names_lane_workgroup_and_address(module: Module) -> None:
    out = module.device.upload(np.zeros(200, np.float32))
    (found,) = module.try_launch("store_past_end", 4, 64, [out, np.int32(200)]).findings
    # 200 floats: work-item 200 is lane 8 of workgroup 3, and 56 work-items are beyond the end
    assert (found.workgroup, found.lane, found.occurrences) == ((3, 0, 0), 8, 56)
    assert found.address == out.address + 800


@pytest.mark.parametrize("kernel", ["store_inside", "scratch_inside", "with_barrier", "masked_lds", "packed_lds"])
def test_correct_kernel_has_no_finding(module: Module, kernel: str) -> None:
    result = launch(module, kernel)
    assert result.error is None
    assert not result.findings


def test_results_survive_findings(module: Module) -> None:
    out = np.zeros(200, np.float32)
    module.try_launch("store_past_end", 4, 64, [out, np.int32(200)])
    assert (out == np.arange(200)).all()


@pytest.mark.parametrize("kernel", ["endless", "sleeps_for_ever", "lds_flag_never_set", "barrier_in_half"])
def test_spinning_for_ever_is_a_deadlock(module: Module, kernel: str) -> None:
    result = module.try_launch(kernel, 1, 128, [np.zeros(128, np.int32)])
    assert result.error is not None
    assert "deadlock" in str(result.error)
    assert [f.id for f in result.findings] == ["HP859"]
    assert result.findings[0].kernel == kernel


def test_spinning_until_released_is_no_deadlock(module: Module) -> None:
    out = np.zeros(256, np.int32)
    found = module.launch("lds_flag_set_late", 1, 256, [out]).findings
    assert {f.id for f in found} == {"HP855"}  # a flag in LDS is a race in CUDA's memory model, but no deadlock
    assert (out == 1).all()
    for kernel, start in (("waits_for_later_block", 0), ("blocks_take_turns", 39)):
        out = np.zeros(40, np.int32)
        assert module.launch(kernel, 40, 64, [np.full(1, start, np.int32), out]).findings == ()
        assert (out == (7 if start == 0 else np.arange(40))).all()


WAITS = re.compile(r"^\s*s_wait(cnt|_loadcnt|_dscnt|_kmcnt|_loadcnt_dscnt)\b.*$", re.MULTILINE)


def test_each_deleted_wait_is_found(assembly: str) -> None:
    text = assembly
    begin = text.index("needs_waits:")
    end = text.index("s_endpgm", begin)
    waits = list(WAITS.finditer(text, begin, end))
    assert len(waits) >= 3  # arguments, global load, LDS load
    found = 0
    for wait in (None, *waits):
        changed = text if wait is None else text[: wait.start()] + text[wait.end() :]
        module = load_text(changed)
        result = module.try_launch("needs_waits", 1, 256, [SRC, np.zeros(256, np.int32), SRC.copy()])
        early = [f for f in result.findings if f.id == "HP857"]
        if wait is None:
            assert not result.findings
        elif "vscnt" not in wait[0] and early:
            found += 1
            assert early[0].instruction
            assert Path(early[0].source_file).name in (SOURCE.name, "amd_device_functions.h")
    assert found >= 3


@pytest.mark.parametrize(("immediate", "early"), [("0x0", False), ("0x3f00", False), ("0x3f", True)])
def test_wait_for_stores_and_lds_together(compile_kernel: Compile, immediate: str, early: bool) -> None:
    """Bits 5:0 count LDS operations, bits 13:8 stores (RDNA4 ISA, S_WAIT_STORECNT_DSCNT)."""
    text = compile_kernel(SOURCE, "gfx1201", "-O1", "-g", "-S").decode()
    begin = text.index("needs_waits:")
    kernel = text[begin : text.index("s_endpgm", begin)]
    changed = re.sub(r"s_wait_(loadcnt_)?dscnt 0x0", f"s_wait_loadcnt 0x0\n\ts_wait_storecnt_dscnt {immediate}", kernel)
    assert changed != kernel
    result = load_text(text.replace(kernel, changed)).try_launch(
        "needs_waits", 1, 256, [SRC, np.zeros(256, np.int32), SRC.copy()]
    )
    assert {f.id for f in result.findings} == ({"HP857"} if early else set())


@pytest.mark.parametrize(
    ("target", "debug"), [("gfx942", "-g"), ("gfx942", "-g0"), ("gfx1100", "-g"), ("gfx1201", "-g0")]
)
@pytest.mark.parametrize(
    ("kernel", "fault"),
    [
        ("hip_full_mask_in_branch", True),
        ("hip_exact_mask_in_branch", False),
        ("hip_mask_from_memory", True),
        ("warp_full_mask_in_branch", True),
        ("warp_mask_without_caller", True),
        ("warp_exact_mask_in_branch", False),
        ("warp_full_mask_last_partial_warp", False),
        ("trap_of_its_own", None),
    ],
)
def test_masks_of_sync_calls(compile_kernel: Compile, target: str, debug: str, kernel: str, fault: bool | None) -> None:
    flags = ("-DHIPPORT_CHECK_MASKS", "-DHIP_ENABLE_WARP_SYNC_BUILTINS", f"-I{include_root()}")
    module = load(compile_kernel(MASKS, target, "-O2", debug, *flags), target)
    out = np.zeros(48, np.int32)
    result = module.try_launch(kernel, 1, 48, [SRC, out, np.full(2, 0xFFFFFFFF, np.uint64)])
    if fault is None:
        assert [f.id for f in result.findings] == ["HP861"]
        return
    assert [f.id for f in result.findings] == (["HP858"] if fault else [])
    if fault:
        assert "0xffff" in result.findings[0].message  # the lanes that are there: 16 of them
        assert result.findings[0].kernel == kernel


def test_instruction_limit(compile_kernel: Compile) -> None:
    device = Device("gfx942", Options(max_instructions=10_000))
    module = device.load(assemble("gfx942", compile_kernel(SOURCE, "gfx942", "-O1", "-g", "-S").decode()))
    result = module.try_launch("endless", 1, 64, [np.zeros(1, np.int32)])
    assert result.error is not None
    assert "limit of 10000" in str(result.error)


def test_wild_access_without_checks_ends_the_launch_only(compile_kernel: Compile) -> None:
    module = Device("gfx942").load(assemble("gfx942", compile_kernel(SOURCE, "gfx942", "-O1", "-g", "-S").decode()))
    result = module.try_launch("wild_store", 1, 64, [np.zeros(64, np.float32)])
    assert result.error is not None
    assert "0x1234567800" in str(result.error)
    assert module.launch("store_inside", 1, 64, [np.zeros(64, np.float32), np.int32(64)]).findings == ()


def test_stray_stores_reach_no_other_workgroup(assembly: str) -> None:
    """Not even through their arguments: what the first of 40 workgroups stores everywhere changes nothing."""
    target = load_text(assembly).device.target.name
    image = assemble(target, assembly)
    for checks in (Checks.ALL, Checks.BOUNDS):
        out = np.zeros(2500, np.int32)
        device = Device(target, Options(checks=checks, threads=1))  # in order: it runs before all others
        result = device.load(image).try_launch("stores_everywhere", 40, 64, [out, np.int32(2500)])
        assert result.error is None
        assert {finding.id for finding in result.findings} == {"HP850"}
        assert np.array_equal(out, np.arange(2500)), checks


@pytest.mark.parametrize("checks", [Checks.ALL, Checks.NONE])
def test_arguments_can_be_read_and_not_written(assembly: str, checks: Checks) -> None:
    target = load_text(assembly).device.target.name
    device = Device(target, Options(checks=checks))
    module, out = device.load(assemble(target, assembly)), device.upload(np.zeros(128, np.int32))
    assert module.launch("loads_of_arguments", 1, 64, [out, np.int32(7)]).findings == ()
    arguments = [out.address & 0xFFFFFFFF, out.address >> 32, 7]
    got = out.download(np.int32).reshape(64, 2)
    assert np.array_equal(got[:, 0], np.array(arguments, np.uint32).view(np.int32)[np.arange(64) % 3])
    assert np.array_equal(got[:, 1], np.array([64 + 7, 1 + 7, 1 + 7])[np.arange(64) % 3])
    for kernel in ("store_to_arguments", "store_to_packet"):
        refused = module.try_launch(kernel, 1, 64, [out])
        assert "arguments of the launch" in str(refused.error)


def test_finding_names_the_first_workgroup_whatever_the_threads(assembly: str) -> None:
    """Workgroups 3 to 39 store outside the array; threads run them in any order."""
    target = load_text(assembly).device.target.name
    image, small = assemble(target, assembly), np.zeros(200, np.float32)
    for threads in (1, 2, 5):
        device = Device(target, Options(checks=Checks.ALL, threads=threads))
        result = device.load(image).try_launch("store_past_end", 40, 64, [small, np.int32(200)])
        places = {(finding.workgroup, finding.wave) for finding in result.findings if finding.id == "HP850"}
        assert places == {((3, 0, 0), 0)}, threads


@pytest.mark.parametrize("target", ["gfx1100", "gfx1201"])
@pytest.mark.parametrize("missing", [0, 5, 8, 15])
def test_row_of_a_matrix_that_was_never_written(compile_kernel: Compile, target: str, missing: int) -> None:
    """Only its own row of the product is not initialised: what leaves that row alone raises no alarm."""
    image = compile_kernel(SOURCE.with_name("wmma_rows.hip"), target, "-O2")
    ones, out = np.ones((16, 16), np.float16), np.zeros((16, 16), np.float32)

    def found(skipped: int) -> set[str]:
        result = load(image, target).try_launch("product", 1, 32, [ones, out, np.int32(missing), np.int32(skipped)])
        return {finding.id for finding in result.findings}

    assert found(missing) == set()
    rows = np.arange(16)
    assert (out[rows != missing] == 16.0 * rows[rows != missing, None]).all()
    assert found(-1) == found((missing + 1) % 16) == {"HP854"}
