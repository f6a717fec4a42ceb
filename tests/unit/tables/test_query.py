"""``hipport query``: rows, suggestions, reverse look-up, lists; JSON for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.cli.query import command
from hipport.core import HipportError


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(command, list(arguments), standalone_mode=False, catch_exceptions=False)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_row_with_both_declarations() -> None:
    text = run("cudaMalloc")
    assert "cudaMalloc -> hipMalloc" in text
    assert "cuda_runtime_api.h of 11.8, 12.9, 13.0, 2 parameters" in text
    assert "hip/hip_runtime_api.h of 6.4, 7.2, 2 parameters" in text


def test_refused_name_says_why_and_what_is_reported() -> None:
    text = run("cuTensorMapEncodeTiled")
    assert "none: no counterpart" in text
    assert "hipport explain HP101" in text


def test_json() -> None:
    found = json.loads(run("cudaMemcpyBatchAsync", "--json"))
    (row,) = found["rows"]
    assert (row["hip"], row["state"], row["rocm_min"]) == ("hipMemcpyBatchAsync", "review", "7.2")
    assert row["declared"]["cuda_versions"] == ["12.9", "13.0"]
    assert row["declared"]["hip_versions"] == ["7.2"]
    assert found["from"] == []


def test_reverse_lookup() -> None:
    text = run("hipHostMalloc")
    assert "hipHostMalloc is what these become" in text
    assert "cudaMallocHost" in text


def test_header_with_or_without_brackets() -> None:
    assert run("<cuda_runtime.h>") == run("cuda_runtime.h")
    assert "hip/hip_runtime.h" in run("cuda_runtime.h")


def test_last_component_of_a_qualified_name() -> None:
    assert "c10::cuda::CUDAGuard" in run("CUDAGuard")


def test_misspelled_name_gets_a_suggestion() -> None:
    with pytest.raises(HipportError) as caught:
        run("cudaMalocAsync")
    assert "cudaMallocAsync" in caught.value.next_step


def test_nothing_like_it() -> None:
    with pytest.raises(HipportError) as caught:
        run("zzzzzzzz")
    assert "--prefix" in caught.value.next_step


def test_no_question() -> None:
    with pytest.raises(HipportError, match="nothing to look for"):
        run()


def test_prefix_and_state_list() -> None:
    lines = run("cufftXt", "--prefix", "--state", "ok").splitlines()
    assert len(lines) > 10
    assert all(line.split()[1] == "ok" and line.split()[0].startswith("cufftXt") for line in lines)


def test_table_and_state_list() -> None:
    lines = run("--table", "libraries/nvrtc.tsv", "--state", "review").splitlines()
    assert any(line.startswith("nvrtcGetPTX ") for line in lines)
    assert all(" review " in line for line in lines)


def test_users_rules_come_along(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    header = "cuda\thip\tkind\tstate\tdiag\trocm_min\trocm_max\tsource\tnote\n"
    (tmp_path / "r" / "own.tsv").write_text(header + "myCudaThing\tmyHipThing\tfunction\tok\t\t\t\tus\t\n")
    assert "myCudaThing -> myHipThing" in run("myCudaThing", "--rules", str(tmp_path / "r"))


@pytest.mark.sdk
def test_place_in_a_translated_file(tmp_path: Path) -> None:
    """Overload resolution decides: the program's max for (int, char), HIP's for (int, int)."""
    file = tmp_path / "a.hip"
    text = (
        "#include <hip/hip_runtime.h>\n"
        "__device__ int max(int a, char b) { return a > b ? a : b; }\n"
        "__global__ void k(int* p, char c) { p[0] = max(p[1], c) + max(p[1], p[2]); }\n"
    )
    file.write_text(text)
    third = text.splitlines()[2]
    mine = json.loads(run("--at", f"{file}:3:{third.index('max') + 1}", "--json"))
    vendors = json.loads(run("--at", f"{file}:3:{third.rindex('max') + 1}", "--json"))
    assert (mine["whose"], mine["side"], mine["refers to"]) == ("the program's", "kernel", "function max")
    assert (vendors["whose"], vendors["errors"]) == ("the vendor's", [])


@pytest.mark.parametrize("place", ["a.hip", "a.hip:1", "a.hip:0:1", "none.hip:1:1"])
def test_bad_place(place: str) -> None:
    with pytest.raises(HipportError):
        run("--at", place)
