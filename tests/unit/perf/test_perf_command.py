"""`hipport perf` on assembled code objects whose contents are known instruction by instruction."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from hipport.cli.perf import command
from hipport.core import HipportError
from hipport.sdk import find_sdk

pytestmark = pytest.mark.sdk

SOURCE = """
	.amdgcn_target "amdgcn-amd-amdhsa--{target}"
	.amdhsa_code_object_version 5
	.text
	.globl {name}
	.p2align 8
	.type {name},@function
{name}:
	s_mov_b32 s0, 0
.Ltop:
{body}
	s_add_i32 s0, s0, 1
	s_cmp_lt_i32 s0, 10
	s_cbranch_scc1 .Ltop
	s_endpgm
.Lend:
	.size {name}, .Lend-{name}
	.rodata
	.p2align 6
	.amdhsa_kernel {name}
		.amdhsa_group_segment_fixed_size 16384
		.amdhsa_next_free_vgpr 128
		.amdhsa_next_free_sgpr 16
		{extra}
	.end_amdhsa_kernel
	.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--{target}
amdhsa.kernels:
  - .name: {name}
    .symbol: {name}.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 16384
    .private_segment_fixed_size: 0
    .wavefront_size: {wave}
    .sgpr_count: 16
    .vgpr_count: 128
    .agpr_count: 0
    .max_flat_workgroup_size: 256
...
	.end_amdgpu_metadata
"""
BODY = """
	ds_read_b128 v[0:3], v10
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[64:79], v[0:1], v[2:3], v[64:79]
	v_exp_f32_e32 v5, v5
	v_add_f32_e32 v6, v6, v5
"""


def assemble(folder: Path, target: str = "gfx942", body: str = BODY, name: str = "k") -> Path:
    sdk = find_sdk()
    wave = 32 if target.startswith("gfx1") else 64
    extra = ".amdhsa_accum_offset 128" if wave == 64 else ".amdhsa_wavefront_size32 1"
    text = SOURCE.format(target=target, name=name, body=body, wave=wave, extra=extra)
    (folder / "k.s").write_text(text, encoding="utf-8")
    flags = ["-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-filetype=obj"]
    subprocess.run([str(sdk.tool("llvm-mc")), *flags, "k.s", "-o", "k.o"], cwd=folder, check=True)
    subprocess.run([str(sdk.tool("ld.lld")), "-shared", "k.o", "-o", f"{target}.hsaco"], cwd=folder, check=True)
    return folder / f"{target}.hsaco"


def perf(*arguments: str) -> Result:
    return CliRunner().invoke(command, list(arguments), standalone_mode=False)


def perf_json(*arguments: str) -> dict[str, Any]:
    result = perf(*arguments, "--json")
    if result.exception:
        raise result.exception
    found = json.loads(result.output)
    assert isinstance(found, dict)
    return found


def test_figures_of_a_known_kernel(tmp_path: Path) -> None:
    """Matrix 32; VALU 4 + 16; SALU wait, add, compare, branch 16; one LDS read 4: issue 72."""
    report = perf_json(str(assemble(tmp_path)))
    cost = report["loop"]["always_executed"]
    assert cost["matrix_clk"] == 32
    assert cost["valu_clk"] == 20
    assert cost["salu_clk"] == 16
    assert cost["issue_clk"] == 72
    assert cost["lds_bytes"] == 1024
    assert cost["utilisation_serial"] == round(32 / 72, 4)
    assert report["loop"]["n_loops"] == 1
    assert "does not predict time" in report["model"]
    # 128 VGPRs leave 4 waves per SIMD; 16 KiB of LDS leave 4 workgroups of 4 waves: 4 per SIMD as well
    (kernel,) = report["kernels"]
    assert kernel["matrix_instructions"] == 1
    assert kernel["occupancy"]["waves_per_simd"] == 4.0
    assert cost["utilisation_estimate"] == 1.0  # four waves of 0.44, the matrix pipe is the busiest


def test_tile_lds_and_waves(tmp_path: Path) -> None:
    path = str(assemble(tmp_path))
    report = perf_json(path, "--tile", "64,32,16,8", "--lds", "40000")
    assert report["loop"]["always_executed"]["useful_flops"] == 4 * 64 * 32 * 16 / 8
    assert (
        report["loop"]["always_executed"]["valu_per_score"] == 0.25
    )  # 1 full-rate VALU, 64 * 32 / (8 * 64) = 4 scores
    assert report["kernels"][0]["occupancy"]["waves_per_simd"] == 1.0
    assert report["kernels"][0]["occupancy"]["limit"] == "lds"
    report = perf_json(path, "--waves", "1")
    assert report["kernels"][0]["occupancy"]["workgroups"] == 4


def test_the_text_says_that_it_is_a_model(tmp_path: Path) -> None:
    result = perf(str(assemble(tmp_path)))
    assert result.return_value == 0
    assert "This is a static model" in result.output
    assert "does not predict time" in result.output
    assert "issue clk" in result.output


def test_targets_without_a_model_print_occupancy_only(tmp_path: Path) -> None:
    path = str(assemble(tmp_path, "gfx1100", "\tv_add_f32_e32 v6, v6, v5\n"))
    report = perf_json(path)
    assert "loop" not in report
    assert report["kernels"][0]["occupancy"]["waves_per_simd"] == 10.0  # 1536 / 144 registers
    assert "does not cover gfx1100" in perf(path).output
    result = perf(path, "--tile", "64,32,16,8")
    assert isinstance(result.exception, HipportError)


def test_a_kernel_without_a_loop(tmp_path: Path) -> None:
    straight = "\ts_endpgm\n"
    result = perf(str(assemble(tmp_path, body=straight)))
    assert result.return_value == 0
    assert "has no loop" in result.output


def test_bad_input(tmp_path: Path) -> None:
    path = str(assemble(tmp_path))
    (tmp_path / "text.o").write_text("no object", encoding="utf-8")
    (tmp_path / "cut.hsaco").write_bytes(Path(path).read_bytes()[:200])
    for arguments, message in (
        ((str(tmp_path / "absent"),), "cannot read"),
        ((str(tmp_path / "text.o"),), "is no code object"),
        ((str(tmp_path / "cut.hsaco"),), "cut.hsaco: "),
        ((path, "nope"), "no kernel of gfx942.hsaco is named like 'nope'"),
        ((path, "--loop", "0x1"), "no loop starts at 0x1"),
    ):
        result = perf(*arguments)
        assert isinstance(result.exception, HipportError), arguments
        assert message in str(result.exception)
        assert result.exception.next_step
    for option, value in (("--tile", "1,2,3"), ("--tile", "a,b,c,d"), ("--tile", "0,1,1,1"), ("--loop", "xyz")):
        assert isinstance(perf(path, option, value).exception, click.BadParameter)


def test_a_host_object_is_refused(tmp_path: Path) -> None:
    sdk = find_sdk()
    (tmp_path / "h.c").write_text("int x;\n", encoding="utf-8")
    subprocess.run([str(sdk.clang), "-x", "c", "-c", "h.c", "-o", "h.o"], cwd=tmp_path, check=True)
    result = perf(str(tmp_path / "h.o"))
    assert isinstance(result.exception, HipportError)
    assert "no device code" in str(result.exception)


def test_a_bundle_of_two_targets_needs_a_choice(tmp_path: Path) -> None:
    sdk = find_sdk()
    assemble(tmp_path)
    assemble(tmp_path, "gfx90a", BODY.replace("32x32x8_f16", "32x32x8f16"))
    command = [str(sdk.tool("clang-offload-bundler")), "-type=o", "-bundle-align=4096", "-output=both.hipfb"]
    names = "host-x86_64-unknown-linux-gnu-,hipv4-amdgcn-amd-amdhsa--gfx942,hipv4-amdgcn-amd-amdhsa--gfx90a"
    inputs = ["-input=/dev/null", "-input=gfx942.hsaco", "-input=gfx90a.hsaco"]
    subprocess.run([*command, f"-targets={names}", *inputs], cwd=tmp_path, check=True)
    path = str(tmp_path / "both.hipfb")
    result = perf(path)
    assert isinstance(result.exception, HipportError)
    assert "gfx90a, gfx942" in str(result.exception)
    assert perf_json(path, "-t", "gfx90a")["loop"]["always_executed"]["matrix_clk"] == 64
    assert perf_json(path, "-t", "gfx942")["loop"]["always_executed"]["matrix_clk"] == 32
