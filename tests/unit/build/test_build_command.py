"""`hipport build` with the real compiler, on small trees."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from hipport.build.resources import read_kernels
from hipport.cli.build import command
from hipport.codeobject import CodeObject
from hipport.core import HipportError, ToolchainError
from hipport.sdk import Sdk, find_sdk

pytestmark = pytest.mark.sdk

HEADER = "#include <hip/hip_runtime.h>\n"
TWO_KERNELS = (
    HEADER
    + """
template <int N> __global__ void __launch_bounds__(256) scale(float* p) {
  __shared__ float s[N];
  s[threadIdx.x % N] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[N - 1 - threadIdx.x % N];
}
__global__ void spill(float* p, int n) {
  float a[100];
  for (int i = 0; i < 100; i++) a[i] = p[i];
  p[0] = a[n];
}
void launch(float* p) { scale<64><<<1, 256>>>(p); scale<128><<<1, 256>>>(p); spill<<<1, 1>>>(p, 3); }
"""
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, but the toolchain that was found before."""
    monkeypatch.setenv("HIPPORT_SDK", str(find_sdk().root))
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def write(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def build(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["--quiet", *arguments], standalone_mode=False)


def build_json(*arguments: str) -> tuple[int, dict[str, Any]]:
    result = build("--json", *arguments)
    if result.exception:
        raise result.exception
    return result.return_value, json.loads(result.output)


def test_objects_figures_and_registration(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"op/a.cu": TWO_KERNELS})
    code, report = build_json("tree", "-t", "gfx942", "-t", "gfx1100", "-j", "1")
    assert code == 0
    assert report["diagnostics"] == []
    rows = {(row["pass"], row.get("target")): row for row in report["outcomes"]}
    for target in ("gfx942", "gfx1100"):
        row = rows["device", target]
        data = (tmp_path / "build_hip" / row["output"]).read_bytes()
        assert data[:4] == b"\x7fELF"
        kernels = {kernel["readable"]: kernel for kernel in row["kernels"]}
        assert len(kernels) == 3
        assert sorted(kernel["name"] for kernel in row["kernels"]) == rows["stubs", None]["registered"]
        assert kernels["void scale<64>(float*)"]["lds_bytes"] == 256
        assert kernels["void scale<128>(float*)"]["lds_bytes"] == 512
        assert kernels["void scale<64>(float*)"]["max_workgroup_size"] == 256
        assert kernels["spill(float*, int)"]["scratch_bytes"] >= 400
        assert all(kernel["code_bytes"] > 16 for kernel in row["kernels"])
    assert report["totals"]["gfx942"]["kernels"] == 3
    assert report["totals"]["gfx942"]["kernels_with_scratch"] == 1
    assert report["totals"]["stubs"]["registered"] == 3


def test_the_record_is_reproducible_and_holds_no_paths(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS})
    assert build("tree", "--out", "one").return_value == 0
    first = (tmp_path / "one" / "build.json").read_bytes()
    assert build("tree", "--out", "two", "--fresh", "-j", "1").return_value == 0
    assert (tmp_path / "two" / "build.json").read_bytes() == first
    assert str(tmp_path).encode() not in first
    assert json.loads(first)["waiting"] == 0


def test_resources_equal_what_clang_reports(tmp_path: Path) -> None:
    """The oracle is clang's own kernel-resource-usage remark."""
    sdk = find_sdk()
    (tmp_path / "a.hip").write_text(TWO_KERNELS, encoding="utf-8")
    for target in ("gfx942", "gfx1201"):
        flags = [*sdk.device_flags(target), "-O3", "-w", "-Rpass-analysis=kernel-resource-usage"]
        done = subprocess.run(
            [str(sdk.clang), *flags, "-c", "a.hip", "-o", "a.o"], capture_output=True, text=True, check=True
        )
        said: dict[str, dict[str, str]] = {}
        for name, value in re.findall(r"remark: +([^:]+): (\S+) \[", done.stderr):
            if name == "Function Name":
                said[value] = {}
                current = said[value]
            else:
                current[name] = value
        kernels = read_kernels(CodeObject.parse((tmp_path / "a.o").read_bytes()))
        assert len(kernels) == len(said) == 3
        for kernel in kernels:
            clang = said[kernel.name]
            assert kernel.vgprs == int(clang["VGPRs"]) + int(clang.get("AGPRs", "0"))
            assert kernel.scratch_bytes == int(clang["ScratchSize [bytes/lane]"])
            assert kernel.lds_bytes == int(clang["LDS Size [bytes/block]"])
            assert kernel.vgpr_spills == int(clang["VGPRs Spill"])
            if kernel.max_workgroup_size == 256:  # clang's figure ignores whole workgroups; these fit evenly
                assert kernel.occupancy.waves_per_simd == int(clang["Occupancy [waves/SIMD]"])


def test_errors_are_shown_at_cuda_lines_and_other_units_are_built(tmp_path: Path) -> None:
    """Two lines were put in front by the translation, so output line 5 is input line 3."""
    source = "\n\n__global__ void k(float* p) { p[0] = nothing_like_it; }\n"
    output = HEADER + "// added\n" + source
    write(tmp_path, {"cuda/a.cu": source, "tree/a.cu": output, "tree/good.cu": TWO_KERNELS})
    manifest(tmp_path, source, output)
    code, report = build_json("tree", "-t", "gfx942", "-j", "1")
    assert code == 1
    (diagnostic,) = report["diagnostics"]  # both passes say the same thing once
    assert (diagnostic["id"], diagnostic["path"], diagnostic["line"]) == ("HP802", "a.cu", 3)
    assert diagnostic["category"] == "undeclared name"
    assert diagnostic["subject"] == "nothing_like_it"
    assert {row["unit"] for row in report["outcomes"] if row["ok"]} == {"good.cu"}
    assert not (tmp_path / "build_hip" / "gfx942" / "a.cu.hsaco").exists()


def manifest(folder: Path, source: str, output: str) -> None:
    import hashlib

    from hipport.core import FileState, TranslateOptions
    from hipport.emit.manifest import FileRecord, Manifest, dump_manifest

    def digest(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    record = FileRecord(
        "a.cu", "a.cu", "cuda", FileState.TRANSLATED, "", digest(source), digest(output), digest(output)
    )
    data = dump_manifest(Manifest("cuda", "", TranslateOptions(), (record,)))
    (folder / "tree" / "manifest.json").write_bytes(data)


def test_code_generation_errors_are_found(tmp_path: Path) -> None:
    """What a syntax check does not see: PTX text, too much LDS, an undefined device function."""
    write(
        tmp_path / "tree",
        {
            "ptx.cu": HEADER
            + '__global__ void k(int* p) { int v; asm("mov.u32 %0, %%laneid;" : "=r"(v)); p[0] = v; }\n',
            "lds.cu": HEADER
            + "__global__ void k(float* p) { __shared__ float s[20000]; s[threadIdx.x] = p[0]; __syncthreads();"
            + " p[threadIdx.x] = s[threadIdx.x ^ 1]; }\n",
            "link.cu": HEADER + "__device__ int far(int);\n__global__ void k(int* p) { p[0] = far(p[0]); }\n",
        },
    )
    code, report = build_json("tree", "-t", "gfx942", "--no-registration")
    assert code == 1
    found = {d["path"]: d["id"] for d in report["diagnostics"]}
    assert found == {"ptx.cu": "HP805", "lds.cu": "HP806", "link.cu": "HP809"}


def test_lds_limits_are_the_targets_own(tmp_path: Path) -> None:
    text = (
        HEADER
        + "__global__ void k(float* p) { __shared__ float s[20000]; s[threadIdx.x] = p[0]; __syncthreads();"
        + " p[threadIdx.x] = s[threadIdx.x ^ 1]; }\n"
    )
    write(tmp_path / "tree", {"a.cu": text})
    code, report = build_json("tree", "-t", "gfx942", "-t", "gfx950", "--no-registration")
    assert code == 1
    assert {row["target"]: row["ok"] for row in report["outcomes"]} == {"gfx942": False, "gfx950": True}


def test_a_kernel_that_one_pass_lacks_is_an_error(tmp_path: Path) -> None:
    text = (
        HEADER
        + """
template <int N> __global__ void k(int* p) { p[0] = N; }
#ifndef __HIP_DEVICE_COMPILE__
void f(int* p) { k<1><<<1, 1>>>(p); }
#endif
void g(int* p) { k<2><<<1, 1>>>(p); }
"""
    )
    write(tmp_path / "tree", {"a.cu": text})
    code, report = build_json("tree", "-t", "gfx942")
    assert code == 1
    (diagnostic,) = report["diagnostics"]
    assert diagnostic["id"] == "HP811"
    assert "void k<1>(int*)" in diagnostic["message"]


def test_a_truncated_ballot_is_a_warning_at_its_line(tmp_path: Path) -> None:
    text = HEADER + "__global__ void k(unsigned* p) {\n  unsigned m = __ballot(p[0]);\n  p[1] = m; }\n"
    write(tmp_path / "tree", {"a.cu": text})
    code, report = build_json("tree", "-t", "gfx942", "--no-registration")
    assert code == 1
    assert [(d["id"], d["severity"], d["line"]) for d in report["diagnostics"]] == [("HP812", "warning", 3)]


def test_a_second_build_comes_from_the_cache_and_restores_objects(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": '#include "h.h"\n' + TWO_KERNELS, "h.h": "#define A 1\n"})
    build_json("tree")
    path = tmp_path / "build_hip" / "gfx942" / "a.cu.hsaco"
    before = path.read_bytes()
    path.unlink()
    _, report = build_json("tree")
    assert all(row["cost"]["cached"] for row in report["outcomes"])
    assert path.read_bytes() == before
    (tmp_path / "tree" / "h.h").write_text("#define A 2\n", encoding="utf-8")
    _, report = build_json("tree")
    assert not any(row["cost"]["cached"] for row in report["outcomes"])


def test_a_broken_build_never_leaves_the_old_object(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS})
    build_json("tree")
    (tmp_path / "tree" / "a.cu").write_text("broken\n", encoding="utf-8")
    code, _ = build_json("tree")
    assert code == 1
    assert not (tmp_path / "build_hip" / "gfx942" / "a.cu.hsaco").exists()


def test_a_damaged_cache_entry_is_noted_and_made_again(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS})
    build_json("tree", "--no-registration")
    (entry,) = (tmp_path / "cache" / "build" / "objects").rglob("*.zst")
    entry.write_bytes(b"damaged")
    code, report = build_json("tree", "--no-registration")
    assert code == 0
    assert [(d["id"], d["severity"]) for d in report["diagnostics"]] == [("HP813", "note")]
    assert not report["outcomes"][0]["cost"]["cached"]


def test_host_objects_and_a_program(tmp_path: Path) -> None:
    main = HEADER + "void launch(float* p);\nint main() { return 0; }\n"
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS, "main.cpp": main})
    code, report = build_json("tree", "-t", "gfx942", "-t", "gfx1100", "--link", "program")
    assert code == 0
    assert report["libraries"] == ["program"]
    objects = [row["output"] for row in report["outcomes"] if row["pass"] == "host"]
    assert objects == ["host/a.cu.o", "host/main.cpp.o"]
    data = (tmp_path / "build_hip" / "program").read_bytes()
    assert b"hipv4-amdgcn-amd-amdhsa--gfx942" in data  # the fat binary of both targets is in the program
    assert b"hipv4-amdgcn-amd-amdhsa--gfx1100" in data
    assert b"__hipRegisterFatBinary" in data


def test_nothing_is_linked_when_a_unit_fails(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS, "b.cpp": "int x = y;\n"})
    result = build("tree", "-t", "gfx942", "--link", "lib.so")
    assert result.return_value == 1
    assert "b.cpp:1:9: error HP802" in result.output
    assert "lib.so was not linked: 1 compilations failed" in result.stderr
    assert not (tmp_path / "build_hip" / "lib.so").exists()


def test_a_linker_error_is_one_line(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cpp": "int far_away();\nint main() { return far_away(); }\n"})
    result = build("tree", "-t", "gfx942", "--link", "program")
    assert isinstance(result.exception, HipportError)
    assert "far_away" in str(result.exception)
    write(tmp_path / "tree", {"a.cpp": "int nearby() { return 1; }\n"})
    assert "--link program.so" in str(build("tree", "-t", "gfx942", "--link", "program").exception)


def test_paths_with_spaces_and_other_letters(tmp_path: Path) -> None:
    write(tmp_path / "my tree", {"op ü/a b.cu": '#include "inc ä/h.h"\n' + TWO_KERNELS, "x/inc ä/h.h": ""})
    code, report = build_json("my tree", "--link", "lib.so")
    assert code == 0, report["diagnostics"]
    assert (tmp_path / "build_hip" / "gfx942" / "op ü" / "a b.cu.hsaco").is_file()
    _, again = build_json("my tree", "--link", "lib.so")
    assert all(row["cost"]["cached"] for row in again["outcomes"])


def test_a_single_file_may_be_named(tmp_path: Path) -> None:
    write(tmp_path, {"dir/a.cu": TWO_KERNELS, "dir/b.cu": "broken"})
    code, report = build_json("dir/a.cu", "--no-registration")
    assert code == 0
    assert [row["unit"] for row in report["outcomes"]] == ["a.cu"]


def test_kernel_choice_and_rows(tmp_path: Path) -> None:
    other = HEADER + "__global__ void other(int* p) { p[0] = 1; }\n"
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS, "b.cu": other})
    result = build("tree", "-k", "scale<64>")
    assert isinstance(result.exception, HipportError)  # patterns name the function, not the instantiation
    result = build("tree", "-k", "scale")
    assert result.return_value == 0
    assert "void scale<64>(float*)" in result.output
    assert "spill(" not in result.output
    assert "other" not in result.output


def test_plan_compiles_nothing_and_compile_commands_are_written(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS})
    result = build("tree", "--plan", "--compile-commands", "cc.json")
    assert result.return_value == 0
    assert "--offload-arch=gfx942" in result.output
    assert "1 units, 2 compilations" in result.output
    assert not (tmp_path / "build_hip").exists()
    rows = json.loads((tmp_path / "cc.json").read_text(encoding="utf-8"))
    assert {row["file"] for row in rows} == {"a.cu"}
    assert rows[0]["directory"] == str(tmp_path / "tree")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("absent",), "not a folder"),
        (("empty",), "no translation units"),
        (("tree", "-t", "sm_80"), "unknown target 'sm_80'"),
        (("tree", "-u", "x*"), "no unit matches"),
        (("tree", "--preset", "x"), "no preset 'x'"),
    ],
)
def test_bad_usage(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS})
    (tmp_path / "empty").mkdir()
    result = build(*arguments)
    assert isinstance(result.exception, HipportError)
    assert result.exception.exit_code == 2
    assert message in str(result.exception)
    assert result.exception.next_step


def test_no_toolchain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS})
    monkeypatch.setenv("HIPPORT_SDK", str(tmp_path / "nowhere"))
    result = build("tree")
    assert isinstance(result.exception, HipportError)
    assert "hipport sdk install" in result.exception.next_step or "ROCm" in result.exception.next_step


def test_a_unit_that_needs_torch_without_torch_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hipport.build.torch_headers.find_torch", lambda: None)
    write(tmp_path / "tree", {"a.cu": "#include <torch/extension.h>\n"})
    result = build("tree")
    assert isinstance(result.exception, HipportError)
    assert "hipport[torch]" in result.exception.next_step


def test_an_output_folder_that_cannot_be_written(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS})
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    result = build("tree", "--out", "taken")
    assert isinstance(result.exception, HipportError)
    assert "cannot write" in str(result.exception)


def test_a_tree_written_for_another_hip_version_is_said(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TWO_KERNELS, "manifest-summary.json": '{"options": {"rocm": [5, 0]}}'})
    assert "the tree is written for HIP 5.0, the toolchain has" in build("tree", "--plan").stderr
    have = ", ".join(find_sdk().profile.split("."))
    write(tmp_path / "tree", {"manifest-summary.json": f'{{"options": {{"rocm": [{have}]}}}}'})
    assert build("tree", "--plan").stderr == ""


def test_the_tree_of_the_settings_from_a_folder_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"hipport.toml": 'out = "hip"\n', "hip/a.cu": TWO_KERNELS, "below/readme": ""})
    monkeypatch.chdir(tmp_path / "below")
    assert "a.cu (device and host)" in build("--plan").stdout


TEMPLATES = (
    HEADER
    + """
__device__ int table[4] = {1, 2, 3, 4};
template <int N, bool Add> __global__ void __launch_bounds__(64) fold(int* p) {
  __shared__ int s[N];
  s[threadIdx.x % N] = p[threadIdx.x] + table[threadIdx.x % 4];
  __syncthreads();
  int sum = 0;
#pragma clang loop unroll(disable)
  for (int i = 0; i < p[0]; i++) sum = Add ? sum + s[i % N] : sum ^ s[i % N];
  p[threadIdx.x] = sum;
}
__global__ void plain(float* p) { p[0] = __expf(p[1]); }
void launch(int* p, float* f) {
  fold<8, true><<<1, 64>>>(p); fold<8, false><<<1, 64>>>(p); fold<16, true><<<1, 64>>>(p); plain<<<1, 1>>>(f);
}
"""
)


def test_kernels_on_their_own_are_those_of_the_whole_unit(tmp_path: Path) -> None:
    """The whole unit's compilation is the reference: same registers, LDS and instructions of each kernel."""
    from hipport.perf.functions import functions_of

    write(tmp_path / "tree", {"a.cu": TEMPLATES})
    for target in ("gfx942", "gfx1201"):
        code, whole = build_json("tree", "-t", target, "-j", "1", "--out", "whole")
        assert code == 0
        code, apart = build_json("tree", "-t", target, "-j", "1", "--out", "apart", "-i", "*")
        assert code == 0
        assert apart["diagnostics"] == []  # registration was compared with the front end's kernels
        reference = {k["name"]: k for row in whole["outcomes"] for k in row.get("kernels", ())}
        rows = [row for row in apart["outcomes"] if row["pass"] == "kernel"]
        assert len(rows) == len(reference) == 4
        object_ = CodeObject.parse((tmp_path / "whole" / target / "a.cu.hsaco").read_bytes())
        expected = functions_of(object_)
        for row in rows:
            (kernel,) = row["kernels"]
            facts = ("vgprs", "sgprs", "lds_bytes", "scratch_bytes", "code_bytes", "occupancy", "hostcall")
            assert {f: kernel[f] for f in facts} == {f: reference[kernel["name"]][f] for f in facts}
            assert bool(kernel["code"]["main_loops"]) is not kernel["readable"].startswith("plain")
            built = CodeObject.parse((tmp_path / "apart" / row["output"]).read_bytes())
            assert list(built.kernels) == [kernel["name"]]
            mine = functions_of(built)[kernel["name"]].instructions
            theirs = expected[kernel["name"]].instructions
            # The address of `table` is relative to the code: the literal differs with what else is in the object.
            assert [i.opcode for i in mine] == [i.opcode for i in theirs]


def test_instantiations_by_pattern(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TEMPLATES})
    options = ("tree", "-t", "gfx942", "-j", "1")
    code, report = build_json(*options, "-i", "fold<Add=true, N=8>", "-i", "plain")
    assert code == 0
    kernels = [k for row in report["outcomes"] for k in row.get("kernels", ())]
    assert sorted(k["readable"] for k in kernels) == ["plain(float*)", "void fold<8, true>(int*)"]
    assert report["totals"]["gfx942"]["instantiations"] == 4
    assert next(k for k in kernels if "fold" in k["name"])["arguments"] == [["N", "8"], ["Add", "true"]]
    listed = build(*options, "--list", "-i", "fold<8, *>")
    assert listed.return_value == 0
    assert listed.output.splitlines() == [
        "a.cu [gfx942]: 2 kernels",
        "  fold<N=8, Add=false>",
        "  fold<N=8, Add=true>",
    ]
    with pytest.raises(HipportError, match="no kernel matches 'fold<N=7>'"):
        build_json(*options, "-i", "fold<N=7>")
    (tmp_path / "hipport.toml").write_text('[build.preset.two]\ninstantiations = ["fold<N=7>", "plain"]\n')
    with pytest.raises(HipportError, match="no kernel matches 'fold<N=7>'"):
        build_json(*options, "--preset", "two")
    code, report = build_json(*options, "--preset", "two", "-u", "a.cu")  # a part of what the preset is about
    assert code == 0
    assert report["totals"]["gfx942"]["kernels"] == 1
    with pytest.raises(HipportError, match="embed whole units"):
        build_json(*options, "-i", "fold", "--host")


def test_an_edit_elsewhere_costs_the_front_end_only(tmp_path: Path) -> None:
    """A comment changes no bitcode, so no kernel is compiled again."""
    tree = write(tmp_path / "tree", {"a.cu": TEMPLATES})
    build_json("tree", "-t", "gfx942", "-j", "1", "-i", "plain")
    write(tree, {"a.cu": TEMPLATES + "// the end\n"})
    _, report = build_json("tree", "-t", "gfx942", "-j", "1", "-i", "plain", "--no-registration")
    assert {row["pass"]: row["cost"]["cached"] for row in report["outcomes"]} == {"front-end": False, "kernel": True}


def test_static_variables_of_kernels_on_their_own_are_reported(tmp_path: Path) -> None:
    """``read`` alone would be compiled to the initial value: nothing is left that writes the variable."""
    kernels = """
static __device__ int calls;
static __device__ const int limit = 5;
__device__ int seen;
__global__ void bump() { calls += limit; seen++; }
__global__ void read(int* p) { __shared__ int s; s = calls; p[0] = s; }
"""
    write(tmp_path / "tree", {"a.cu": HEADER + kernels, "b.cu": TEMPLATES})
    options = ("tree", "-t", "gfx942", "-j", "1", "--no-registration")
    code, report = build_json(*options, "-i", "read", "-i", "plain")
    assert code == 1
    (found,) = report["diagnostics"]
    assert (found["id"], found["severity"], found["path"]) == ("HP814", "warning", "a.cu")
    assert "share calls:" in found["message"]
    code, report = build_json(*options)
    assert (code, report["diagnostics"]) == (0, [])


def test_front_end_alone(tmp_path: Path) -> None:
    """An unknown name fails there; code that no backend takes does not, but its assembly is named."""
    assembly = '__global__ void k(int* p) { int x; asm volatile("mov.u32 %0, %%laneid;" : "=r"(x)); p[0] = x; }\n'
    write(
        tmp_path / "tree",
        {"bad.cu": HEADER + "__global__ void k() { nothing(); }\n", "ptx.cu": HEADER + assembly, "a.cu": TEMPLATES},
    )
    code, report = build_json("tree", "-t", "gfx942", "-j", "1", "--front-end", "--no-registration")
    assert code == 1
    rows = {row["unit"]: row for row in report["outcomes"]}
    assert {unit: row["ok"] for unit, row in rows.items()} == {"bad.cu": False, "ptx.cu": True, "a.cu": True}
    assert rows["ptx.cu"]["bitcode"]["assembly"] == ["mov.u32 $0, %laneid;"]
    assert rows["a.cu"]["bitcode"]["assembly"] == []
    assert len(rows["a.cu"]["bitcode"]["kernels"]) == 4
    assert report["totals"]["gfx942"]["ok"] == 2
    code, report = build_json("tree", "-u", "ptx.cu", "-t", "gfx942", "-j", "1", "-i", "k", "--no-registration")
    assert code == 1
    assert {d["id"] for d in report["diagnostics"]} == {"HP805"}


def test_a_toolchain_without_opt_is_told_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tool(sdk: Sdk, name: str) -> Path:
        raise ToolchainError(f"{name} is not installed", "run: hipport sdk install")

    write(tmp_path / "tree", {"a.cu": TEMPLATES})
    monkeypatch.setattr(Sdk, "tool", tool)
    with pytest.raises(ToolchainError, match="opt is not installed"):
        build_json("tree", "-t", "gfx942", "-i", "plain")
    assert not (tmp_path / "build_hip").exists()


def test_the_plan_of_single_kernels(tmp_path: Path) -> None:
    write(tmp_path / "tree", {"a.cu": TEMPLATES})
    lines = build("tree", "-t", "gfx942", "-i", "fold<N=8>", "-i", "plain", "--plan").output.splitlines()
    assert "-disable-llvm-passes" in lines[1]
    assert lines[-1] == "1 units, 2 compilations, then one for each kernel that matches fold<N=8> or plain"
