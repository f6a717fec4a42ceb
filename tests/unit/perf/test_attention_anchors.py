"""`benchmarks/attention_anchors.py`: everything but the compilers."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from hipport.core import HipportError
from hipport.flash.kernels import Forward
from hipport.flash.tiles import Tile as Shape
from hipport.perf.model import Tile
from hipport.upstream.pins import Pin

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "attention_anchors.py"
PIN = Pin("flash-attn", "1.2", "ab" * 32, "BSD-3-Clause", ".", {"main": ("setup.py",)})
BATCH = "fmha_fwd_d{}_{}_batch_b{}_r4x1x1_r4x1x1_w32x32x16_w32x32x16_qr_async_vr_psddv_nlogits_nbias_{}_lse_ndropout"
INSTANCE = BATCH + "_nskip_nsquant.cpp"


@pytest.fixture(name="anchors", scope="module")
def _anchors() -> Iterator[Any]:
    spec = importlib.util.spec_from_file_location("attention_anchors", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def row(anchors: Any, family: str, **changes: Any) -> Any:
    kernel = {"head_dim": 64, "type": "fp16", "causal": False, "how": ""}
    kernel |= {key: changes.pop(key) for key in list(changes) if key in kernel}
    figures = {
        "vgprs": 144,
        "lds_bytes": 13824,
        "spills_in_loop": 0,
        "valu_per_score": 4.5,
        "clk_per_mflop": 4859.9,
        "clk_per_mflop_all": 5050.7,
        "waves": 3.0,
        "utilisation": 0.82,
        "redundancy": 1.0,
    }
    made = anchors.Kernel(family=family, tile=Tile(128, 64, 64, 4), **kernel)
    return anchors.Row(made, **(figures | changes))


def test_names_of_the_generator_are_read(anchors: Any) -> None:
    found = anchors.ck_instance(INSTANCE.format(128, "bf16", "128x128x32x128x32x128", "mask"))
    assert found == anchors.Kernel("ck", 128, "bf16", True, Tile(128, 128, 128, 4))
    found = anchors.ck_instance(INSTANCE.format(64, "fp16", "128x64x32x64x32x64", "nmask"))
    assert found == anchors.Kernel("ck", 64, "fp16", False, Tile(128, 64, 64, 4))


@pytest.mark.parametrize(
    "name",
    [
        INSTANCE.format(256, "fp16", "128x128x32x256x32x256", "mask"),
        INSTANCE.format(64, "fp8", "128x64x32x64x32x64", "mask"),
        INSTANCE.format(64, "fp16", "128x64x32x64x32x64", "mask").replace("_batch_", "_group_"),
        INSTANCE.format(64, "fp16", "128x64x32x64x32x64", "mask").replace("psddv", "psskddv"),
        INSTANCE.format(64, "fp16", "128x64x32x64x32x64", "mask").replace("_ndropout", "_dropout"),
        INSTANCE.format(64, "fp16", "128x64x32x64x32x64", "mask").replace("_lse", "_nlse"),
        "fmha_fwd_api.cpp",
    ],
)
def test_other_instances_are_left_out(anchors: Any, name: str) -> None:
    assert anchors.ck_instance(name) is None


def generator(folder: Path, text: str) -> Path:
    place = folder / "csrc/composable_kernel/example/ck_tile/01_fmha/generate.py"
    place.parent.mkdir(parents=True)
    place.write_text(text, encoding="utf-8")
    return folder


def test_each_instance_is_compiled_once_and_head_128_with_both_schedules(anchors: Any, tmp_path: Path) -> None:
    tiles = {64: "128x64x32x64x32x64", 128: "128x128x32x128x32x128"}
    names = [INSTANCE.format(d, t, tiles[d], m) for d in tiles for t in ("fp16", "bf16") for m in ("mask", "nmask")]
    lines = f"import pathlib, sys\nfor n in {names}: (pathlib.Path(sys.argv[-1]) / n).write_text(n)\n"
    recipes = list(anchors.ck_recipes(generator(tmp_path, lines), SimpleNamespace()))
    kernels = [kernel for kernel, _ in recipes]
    assert len(set(kernels)) == len(kernels) == 4 + 2 * 4
    assert all(("minreg" in k.how) <= (k.head_dim == 128) for k in kernels)
    assert sum("minreg" in k.how for k in kernels) == 4
    assert all("early-inline-all" in k.how for k in kernels)
    assert not any("early-inline" in flag for flag in anchors.CK_FLAGS)


def test_a_generator_that_names_its_files_otherwise_is_an_error(anchors: Any, tmp_path: Path) -> None:
    with pytest.raises(HipportError, match="made 0 of the 8 instances"):
        list(anchors.ck_recipes(generator(tmp_path, "pass"), SimpleNamespace()))


def test_a_program_that_fails_or_hangs_is_one_line(anchors: Any) -> None:
    with pytest.raises(HipportError, match=r"step failed: ZeroDivisionError: division by zero"):
        anchors.run([sys.executable, "-c", "1 / 0"], "step", 30)
    with pytest.raises(HipportError, match=r"step did not end in 0\.2 s"):
        anchors.run([sys.executable, "-c", "import time; time.sleep(30)"], "step", 0.2)


def test_lds_of_our_kernels(anchors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """128 x 64 of D = 64: Q is 128 * 64 * 2 = 16384 bytes, K and V 8192 each."""
    monkeypatch.setattr(anchors, "forward_tile", lambda *_: Shape(128, 64, 4, False))
    assert anchors.our_lds_bytes(64) == 32768
    monkeypatch.setattr(anchors, "forward_tile", lambda *_: Shape(128, 64, 4, True))
    assert anchors.our_lds_bytes(64) == 16384


def test_name_of_our_kernel(anchors: Any) -> None:
    """Upstream: Is_dropout, Is_causal, Is_local, Has_alibi, Is_even_MN, Is_even_K, Is_softcap, Return_softmax."""
    name = anchors.our_kernel_name(Forward(64, False, causal=True, even_mn=True))
    assert name == ", false, true, false, false, true, true, false, false>("


def test_arguments_of_a_triton_call(anchors: Any) -> None:
    names = ("Q", "bias", "SM_SCALE", "LSE", "stride_qm", "stride_qk", "stride_descale_q_z", "dropout_p", "IS_CAUSAL")
    signature, constants, attributes = anchors.triton_arguments(names, 64, "bf16", True, True)
    assert [signature[name] for name in names] == [
        "*bf16", "constexpr", "constexpr", "*fp32", "i32", "constexpr", "constexpr", "fp32", "constexpr",
    ]  # fmt: skip
    assert (constants["bias"], constants["stride_qk"], constants["stride_descale_q_z"]) == (None, 1, None)
    assert (constants["SM_SCALE"], constants["IS_CAUSAL"], constants["BLOCK_DMODEL"]) == (0.125, True, 64)
    assert not {"Q", "LSE", "stride_qm", "dropout_p"} & constants.keys()
    assert set(attributes) == {(0,), (3,), (4,)}


def test_the_table_is_sorted_and_has_a_cell_for_each_heading(anchors: Any) -> None:
    rows = [
        row(anchors, "triton", how="waves_per_eu 2"),
        row(anchors, "ck", head_dim=128, spills_in_loop=87),
        row(anchors, "ours", type="bf16"),
        row(anchors, "ours", causal=True, clk_per_mflop=4410.4),
        row(anchors, "ours"),
    ]
    lines = anchors.table(rows).splitlines()
    assert {line.count("|") for line in lines} == {len(anchors.HEADINGS) + 1}
    assert [line.split(" | ")[:3] for line in lines[2:]] == [
        ["| ours, head dim 64", "fp16", "none"],
        ["| Triton, head dim 64", "fp16", "none"],
        ["| ours, head dim 64", "fp16", "causal"],
        ["| ours, head dim 64", "bf16", "none"],
        ["| Composable Kernel, head dim 128", "fp16", "none"],
    ]
    assert " 128x64 | 144 | 13.5 K | 0 | 4.50 | 4860 | 5051 | 3 | 0.82 | 1 | waves_per_eu 2 |" in lines[3]
    assert " 87 " in lines[6]


def test_what_is_behind_is_named(anchors: Any) -> None:
    best = row(anchors, "ck", clk_per_mflop=4860)
    spilling = row(anchors, "ck", clk_per_mflop=4000, spills_in_loop=3)  # no yardstick
    other = row(anchors, "ck", type="bf16", clk_per_mflop=100)
    assert anchors.behind([row(anchors, "ours", clk_per_mflop=4860), best, spilling, other]) == []
    ours = row(anchors, "ours", clk_per_mflop=4861, valu_per_score=4.4, waves=2.0, utilisation=0.9)
    assert anchors.behind([ours, best, spilling]) == [
        "head dim 64, fp16: clk/MFLOP 4861, Composable Kernel 4860",
        "head dim 64, fp16: waves 2, Composable Kernel 3",
    ]
    assert anchors.behind([row(anchors, "ours", causal=True, spills_in_loop=2, redundancy=2.0), best]) == [
        "head dim 64, fp16, causal: 2 spills in the loop",
        "head dim 64, fp16, causal: redundancy 2",
    ]


def test_the_table_goes_between_the_marks(anchors: Any) -> None:
    begin, end = anchors.MARKS
    page = f"before\n{begin}\nold\n{end}\nafter\n"
    once = anchors.replaced(page, "| new |\n")
    assert once == f"before\n{begin}\n\n| new |\n\n{end}\nafter\n"
    assert anchors.replaced(once, "| new |\n") == once
    with pytest.raises(HipportError, match="no marks"):
        anchors.replaced(f"{end}\n{begin}", "x")


def test_the_page_of_the_documentation_has_the_marks(anchors: Any) -> None:
    anchors.replaced((SCRIPT.parents[1] / "docs/perf.md").read_text(encoding="utf-8"), "")


@pytest.mark.sdk
def test_missing_parts_are_one_line_and_exit_code_2(
    anchors: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def said(*arguments: str) -> list[str]:
        assert anchors.main(arguments) == 2
        return capsys.readouterr().err.splitlines()

    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        message, step = said("--only", "triton")
        assert message == "attention_anchors: triton and torch are not installed"
        assert "pip install -e '.[anchors]'" in step
    with monkeypatch.context() as patch:
        patch.setattr(anchors, "read_pins", lambda _: [PIN])
        assert said("--only", "ck")[0] == "attention_anchors: flash-attn has no group 'anchors'"
    message, step = said("--only", "ours", "--tree", str(tmp_path))
    assert message.startswith(f"attention_anchors: {tmp_path} holds no csrc/flash_attn")
    assert "hipport translate" in step
    assert "cannot read" in said("--write", str(tmp_path / "none.md"))[0]
    with pytest.raises(SystemExit) as left:
        anchors.main(["--only", "ck", "--check"])
    assert left.value.code == 2
