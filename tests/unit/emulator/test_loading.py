"""Broken and unsuitable input: a clear error, never a crash of this process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from conftest import Compile

from hipport.cli.emulate import command
from hipport.core import HipportError
from hipport.emulator import Buffer, Device, EmulatorError, Options
from hipport.emulator.testing import assemble

pytestmark = pytest.mark.sdk

FEATURES = Path(__file__).with_name("features.hip")


@pytest.fixture(scope="module")
def image(compile_kernel: Compile) -> bytes:
    return compile_kernel(FEATURES, "gfx942", "-O3")


def test_truncated_elf(image: bytes) -> None:
    device = Device("gfx942")
    for keep in (0, 1, 16, 63, 64, 500, 5000, len(image) // 2, len(image) - 1):
        with pytest.raises(HipportError):
            device.load(image[:keep])


def test_corrupt_elf_never_takes_the_process_down(
    image: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hipport.emulator.device.cache_root", lambda: tmp_path)  # decoded garbage is not worth keeping
    device = Device("gfx942", Options(max_instructions=100_000))
    rng = np.random.default_rng(1)
    for _ in range(80):
        broken = bytearray(image)
        for at in rng.integers(0, 4096 if rng.random() < 0.7 else len(image), 3):
            broken[at] = int(rng.integers(0, 256))
        try:
            module = device.load(bytes(broken))
        except HipportError:
            continue
        name = "geometry"
        if name in module.kernels:
            try:
                module.try_launch(name, 1, 64, [np.zeros(64, np.uint32)])
            except HipportError:
                continue


def test_wrong_target(image: bytes) -> None:
    with pytest.raises(EmulatorError, match="wrong target"):
        Device("gfx90a").load(image)
    with pytest.raises(HipportError, match="unknown target"):
        Device("gfx906")


def test_unknown_kernel(image: bytes) -> None:
    with pytest.raises(HipportError, match="no kernel named 'nothing'"):
        Device("gfx942").load(image).launch("nothing", 1, 1)


def test_wrong_arguments(image: bytes) -> None:
    module = Device("gfx942").load(image)
    out = np.zeros(64, np.uint32)
    with pytest.raises(HipportError, match="takes 1 arguments, got 2"):
        module.launch("geometry", 1, 64, [out, out])
    with pytest.raises(HipportError, match="has 8 bytes, the value 4"):
        module.launch("geometry", 1, 64, [np.int32(5)])
    with pytest.raises(HipportError, match="has no size"):
        module.launch("geometry", 1, 64, [5])  # type: ignore[list-item]
    with pytest.raises(HipportError, match="not contiguous"):
        module.launch("geometry", 1, 64, [out[::2]])
    with pytest.raises(HipportError, match="Python objects"):
        module.launch("geometry", 1, 64, [np.array([{}], dtype=object)])


@pytest.mark.parametrize(
    ("grid", "block"),
    [(0, 64), ((1, 0), 64), (1, (64, 64)), (1, 0), ((1, 1, 1, 1), 64), (1 << 31, 64), ("x", 64), (1, 64.5)],
)
def test_impossible_geometry(image: bytes, grid: int, block: int) -> None:
    with pytest.raises(HipportError):
        Device("gfx942").load(image).launch("geometry", grid, block, [np.zeros(64, np.uint32)])


def test_too_much_lds(image: bytes) -> None:
    args = [np.zeros(64, np.float32), np.zeros(1, np.float32), np.int32(64)]
    with pytest.raises(EmulatorError, match="65540 bytes of LDS, gfx942 has 65536"):
        Device("gfx942").load(image).launch("block_reduce", 1, 64, args, dynamic_lds_bytes=65540)


def test_enormous_scratch() -> None:
    text = (Path(__file__).parent.parent / "codeobject" / "test_codeobject.py").read_text()
    source = text.split('SOURCE = """')[1].split('"""')[0].format(target="gfx942")
    source = source.replace(".private_segment_fixed_size: 0", ".private_segment_fixed_size: 1073741824")
    module = Device("gfx942").load(assemble("gfx942", source))
    with pytest.raises(EmulatorError, match="1073741824 bytes of scratch"):
        module.launch("scale", 1, 64, [np.zeros(64, np.float32)])


def test_memory_runs_out() -> None:
    with pytest.raises(EmulatorError, match="out of memory"):
        Device("gfx942").allocate(1 << 50)


def test_buffers_are_guest_memory(image: bytes) -> None:
    device = Device("gfx942")
    buffer = device.upload(np.zeros(256, np.uint32))
    assert isinstance(buffer, Buffer)
    device.load(image).launch("geometry", 4, 64, [buffer])
    assert buffer.download(np.uint32)[65] == 1 | 1 << 12


def invoke(*arguments: str) -> tuple[int, str]:
    try:
        result = CliRunner().invoke(command, list(arguments), standalone_mode=False, catch_exceptions=False)
    except HipportError as error:
        return error.exit_code, str(error)
    return int(result.return_value or 0), result.output


@pytest.fixture
def file(image: bytes, tmp_path: Path) -> str:
    path = tmp_path / "features.co"
    path.write_bytes(image)
    return str(path)


def test_command_runs_a_kernel(file: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(1000, np.float32))
    out = tmp_path / "y.npy"
    code, text = invoke(
        *(file, "-k", "block_reduce", "--grid", "2", "--block", "128", "--lds", "512", "--stats", "--checks", "all"),
        *("--args", str(tmp_path / "x.npy"), f"zeros:f32:2:{out}", "i32:1000"),
    )
    assert code == 0, text
    assert np.load(out).sum() == 1000
    assert "4 waves" in text
    assert "findings: none" in text


def test_command_reports_findings(file: str) -> None:
    code, text = invoke(
        file, "-k", "geometry", "--grid", "2", "--checks", "bounds", "--json", "--args", "zeros:u32:100"
    )
    assert code == 1
    assert [f["id"] for f in json.loads(text)["findings"]] == ["HP850"]


def test_command_lists_and_covers(file: str) -> None:
    code, text = invoke(file, "--list", "--json")
    assert code == 0
    assert "transpose" in {k["name"] for k in json.loads(text)["kernels"]}
    code, text = invoke(file, "--coverage", "-k", "transcendental")
    assert code == 0
    assert "1 ulp" in next(line for line in text.splitlines() if "v_exp_f32" in line)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kernel", "nothing"], "no kernel named"),
        ([], "no kernel named"),
        (["-k", "geometry"], "takes 1 arguments, got 0"),
        (["-k", "geometry", "--args", "f99:1"], "is not understood"),
        (["-k", "geometry", "--args", "missing.npy"], "cannot read array"),
        (["-k", "geometry", "--args", "zeros:f32:axb"], "bad shape"),
        (["-k", "geometry", "--grid", "x", "--args", "zeros:u32:64"], "not a list of numbers"),
        (["-k", "geometry", "--checks", "spelling", "--args", "zeros:u32:64"], "unknown check"),
        (["-k", "geometry", "zeros:u32:64"], "unexpected argument"),
        (["-k", "geometry", "-t", "gfx90a", "--args", "zeros:u32:64"], "wrong target"),
    ],
)
def test_command_says_what_is_wrong(file: str, arguments: list[str], message: str) -> None:
    code, text = invoke(file, *arguments)
    assert code == 2
    assert message in text


def test_command_needs_a_file(tmp_path: Path) -> None:
    assert invoke(str(tmp_path / "none.co"), "--list")[0] == 2
    (tmp_path / "text.co").write_text("hello")
    code, text = invoke(str(tmp_path / "text.co"), "--list")
    assert code == 2
    assert "is no code object" in text


@pytest.fixture
def faults(compile_kernel: Compile, tmp_path: Path) -> str:
    path = tmp_path / "faults.co"
    assembly = compile_kernel(FEATURES.with_name("faults.hip"), "gfx942", "-O1", "-g", "-S").decode()
    path.write_bytes(assemble("gfx942", assembly))
    return str(path)


def test_command_stops_endless_loops(faults: str) -> None:
    code, text = invoke(faults, "-k", "endless", "--max-instructions", "5000", "--args", "zeros:i32:1")
    assert code == 2
    assert "limit of 5000" in text


@pytest.mark.parametrize(
    ("kernel", "rule"), [("wild_store", "HP862"), ("traps", "HP861"), ("endless", "HP859"), ("store_past_end", "HP850")]
)
def test_command_ends_with_1_for_what_the_kernel_did_wrong(faults: str, kernel: str, rule: str) -> None:
    size = ["i32:20"] if kernel == "store_past_end" else []
    code, text = invoke(faults, "-k", kernel, "--checks", "--args", "zeros:i32:20", *size)
    assert code == 1
    assert f": {rule}: " in text
    assert text.startswith("faults.hip:")
