"""The derivation: on small made-up headers, and the committed tables against the headers of the installed SDKs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hipport.core import HipportError
from hipport.core.files import rules_root
from hipport.rulebook.tables import read_table
from hipport.sdk import Sdk, find_sdk

pytestmark = pytest.mark.sdk

CUDA_HEADER = """
extern "C" {
typedef struct CUstream_st *cudaStream_t;
typedef enum cudaError { cudaSuccess = 0, cudaErrorOld = 7, cudaErrorUnheard = 8 } cudaError_t;
enum cudaKind { cudaKindA = 0, cudaKindB = 1 };
struct cudaProp { int a; };
cudaError_t cudaSame(void *p, cudaStream_t s);
cudaError_t cudaFewer(int a, int b);
cudaError_t cudaPointer(long long *p);
cudaError_t cudaConst(const char *p);
cudaError_t cudaDefault(int a);
cudaError_t cudaGone(int a);
cudaError_t cudaAlias_v2(int a, int b);
cudaError_t cudaLate(int a);
#define cudaAlias cudaAlias_v2
#define CUDA_INTERNAL_H
}
"""
HIP_HEADER = """
extern "C" {
typedef struct ihipStream_t *hipStream_t;
typedef enum hipError_t { hipSuccess = 0, hipErrorNew = 7 } hipError_t;
enum hipKind { hipKindA = 0, hipKindB = 5 };
typedef struct hipProp { int a; } hipProp_t;
#define CUDA_SUCCESS hipSuccess
hipError_t hipSame(void *p, hipStream_t s);
hipError_t hipFewer(int a);
hipError_t hipPointer(int *p);
hipError_t hipConst(char *p);
hipError_t hipAlias(int a, int b);
}
#define __dparm(x) = x
hipError_t hipDefault(int a, int b __dparm(3));
"""
LATER = 'extern "C" hipError_t hipLate(int a);\n'


@pytest.fixture(scope="module")
def sdk() -> Sdk:
    return find_sdk()


@pytest.fixture
def derived(tmp_path: Path, sdk: Sdk, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Rows of the made-up headers by CUDA name, for two HIP versions."""
    from derive import tables
    from derive.families import Family
    from derive.sources import HeaderSet

    for folder, name, text in (
        ("cuda", "cuda_runtime.h", CUDA_HEADER),
        ("hip6", "hip/hip_runtime_api.h", HIP_HEADER),
        ("hip7", "hip/hip_runtime_api.h", HIP_HEADER + LATER),
    ):
        path = tmp_path / folder / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    family = Family(
        "api/x.tsv", "X", ("cuda_runtime.h",), ("hip/hip_runtime_api.h",), r"cuda_runtime\.h$", "cuda|CUDA", "HP100",
        "HP102", skip=r".*_H$",
    )  # fmt: skip
    monkeypatch.setattr(tables, "FAMILIES", (family,))
    monkeypatch.setattr(tables, "LIBRARIES", ())
    monkeypatch.setattr(tables, "EXCEPTIONS", tmp_path)
    (tmp_path / "reasons.tsv").write_text("pattern\tsource\treason\nGone\ta book\tit left\n")
    tables._reasons.cache_clear()
    clang = str(sdk.clang)
    cuda = [HeaderSet("1.0", (tmp_path / "cuda",), clang=clang)]
    hip = [HeaderSet(label, (tmp_path / folder,), clang=clang) for label, folder in (("6.4", "hip6"), ("7.2", "hip7"))]
    try:
        rows = tables.derive(tables.read_all(cuda, hip))["api/x.tsv"]
    finally:
        tables._reasons.cache_clear()
    return {row.cuda: row for row in rows}


def test_pairs_and_differences(derived: dict[str, object]) -> None:
    found = {name: (row.hip, row.state) for name, row in derived.items()}  # type: ignore[attr-defined]
    assert found == {
        "cudaStream_t": ("hipStream_t", "ok"),
        "cudaError": ("hipError_t", "ok"),
        "cudaError_t": ("hipError_t", "ok"),
        "cudaSuccess": ("hipSuccess", "ok"),  # not CUDA_SUCCESS, which HIP defines for old sources
        "cudaErrorOld": ("hipErrorNew", "ok"),  # by its number: error numbers agree by design
        "cudaErrorUnheard": ("", "none"),
        "cudaKind": ("hipKind", "ok"),
        "cudaKindA": ("hipKindA", "ok"),
        "cudaKindB": ("hipKindB", "ok"),
        "cudaProp": ("hipProp", "ok"),
        "cudaSame": ("hipSame", "ok"),
        "cudaFewer": ("hipFewer", "review"),
        "cudaPointer": ("hipPointer", "review"),
        "cudaConst": ("hipConst", "ok"),
        "cudaDefault": ("hipDefault", "ok"),  # the second parameter has a default behind a macro
        "cudaGone": ("", "none"),
        "cudaAlias": ("hipAlias", "ok"),
        "cudaAlias_v2": ("hipAlias", "ok"),
        "cudaLate": ("hipLate", "ok"),
    }


def test_notes_and_versions(derived: dict[str, object]) -> None:
    notes = {name: row.note for name, row in derived.items()}  # type: ignore[attr-defined]
    assert notes["cudaFewer"] == "2 parameters in CUDA, 1 in HIP"
    assert notes["cudaPointer"] == "parameter 1: long long* in CUDA, int* in HIP"
    assert "const char* in CUDA, char* in HIP" in notes["cudaConst"]
    assert notes["cudaKindB"] == "number 1 in CUDA, 5 in HIP"
    assert notes["cudaGone"] == "it left"
    late = derived["cudaLate"]
    assert (late.rocm_min, late.rocm_max) == ("7.2", "")  # type: ignore[attr-defined]


def installed(profile: str) -> Sdk:
    try:
        return find_sdk(profile)
    except HipportError as error:
        pytest.skip(str(error))


def _includes(sdk: Sdk) -> tuple[Path, ...]:
    return sdk.include_dirs or (Path("/opt/rocm/include"),)


def _covers(row: object, version: tuple[int, int]) -> bool:
    return row.covers(version)  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("profile", ["6.4", "7.2"])
def test_every_hip_name_is_declared(profile: str) -> None:
    """What the tables rename to exists in the headers of that version (hipport's own names have their own tests)."""
    sdk = installed(profile)
    from derive.families import FAMILIES, LIBRARIES
    from derive.sources import HeaderSet

    skip = {"6.4": {"rccl/rccl.h", "hipblaslt/hipblaslt.h"}}.get(profile, set())  # of another version in Debian's set
    headers = HeaderSet(profile, _includes(sdk), frozenset(skip), str(sdk.clang))
    version = tuple(int(part) for part in profile.split("."))
    missing = []
    for family in (*FAMILIES, *LIBRARIES):
        declared = headers.read_hip(family)
        if not declared:
            continue
        members = {name for entry in declared.values() for name in entry.fields}
        for row in read_table(rules_root() / family.table, family.table):
            known = members if row.kind == "field" else declared
            ours = row.source.startswith("hipport/") or row.hip in ("", "int") or row.kind == "header"
            if not ours and _covers(row, version) and row.hip not in known:  # type: ignore[arg-type]
                missing.append(f"{row.table}: {row.cuda} -> {row.hip}")
    assert missing == []


@pytest.mark.parametrize("profile", ["6.4", "7.2"])
def test_every_hip_header_is_there(profile: str) -> None:
    roots = _includes(installed(profile))
    version = tuple(int(part) for part in profile.split("."))
    missing = [
        row.hip
        for table in ("api/headers.tsv", "libraries/cccl.tsv")
        for row in read_table(rules_root() / table, table)
        if row.kind == "header" and row.hip and not row.hip.startswith(("hipport/", "rccl/"))
        and _covers(row, version)  # type: ignore[arg-type]
        and row.cuda != f"cuda/std/{row.hip}"  # the C++ standard library's
        and not any((root / row.hip).is_file() for root in roots)
    ]  # fmt: skip
    assert missing == []


def test_parameter_counts_agree_or_are_reported() -> None:
    """Counted with the toolkit's headers where there are any: a renamed call has as many arguments as HIP takes."""
    toolkit = Path(os.environ.get("CUDA_PATH", "/usr/local/cuda")) / "include"
    if not (toolkit / "cuda_runtime_api.h").is_file():
        pytest.skip("no CUDA headers (CUDA_PATH)")
    sdk = installed("7.2")
    from derive.families import FAMILIES
    from derive.sources import HeaderSet

    cuda, hip = HeaderSet("x", (toolkit,), clang=str(sdk.clang)), HeaderSet("7.2", _includes(sdk), clang=str(sdk.clang))
    wrong = []
    checked = 0
    for family in FAMILIES[:2]:
        theirs, ours = cuda.read_cuda(family), hip.read_hip(family)
        for row in read_table(rules_root() / family.table, family.table):
            if row.kind != "function" or row.state != "ok" or row.source.startswith("hipport/"):
                continue
            if row.cuda in theirs and row.hip in ours:
                given = {len(s.parameters) for s in theirs[row.cuda].signatures}
                taken = {n for s in ours[row.hip].signatures for n in range(s.required, len(s.parameters) + 1)}
                checked += 1
                if not given & taken:
                    wrong.append(row.cuda)
    assert wrong == []
    assert checked > 300
