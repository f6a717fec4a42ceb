"""Facts of a unit, checked against what the language says about a small program."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipport.core import HipportError, Span
from hipport.sdk import Sdk, find_sdk
from hipport.semantics import Side, UnitFacts, unit_facts

pytestmark = pytest.mark.sdk

PROGRAM = b"""#include <hip/hip_runtime.h>
#include "own.h"
#define LANES 32
namespace mine {
__device__ int max(int a, int b) { return a > b ? a : b; }
__device__ int shadowed(int a) { return max(a, 1); }
}
__device__ int vendors(int a) { return max(a, 2); }
__device__ int count(unsigned long long ballot) { return __popcll(ballot) + LANES; }
__host__ __device__ inline float twice(float x) { return 2 * x; }
template <class T> __device__ T generic(T x) { return x + OWN; }
__global__ void kernel(float *p) {
  int i = threadIdx.x;
  p[i] = twice(p[i]) + own(i);
}
int host(int a) { return a + 1; }
"""


@pytest.fixture(scope="module")
def sdk() -> Sdk:
    return find_sdk()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))


def flags(sdk: Sdk) -> list[str]:
    return [flag for flag in sdk.device_flags("gfx942") if flag != "--no-gpu-bundle-output"]


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory, sdk: Sdk) -> UnitFacts:
    folder = tmp_path_factory.mktemp("unit")
    (folder / "own.h").write_text("#define OWN 7\n__host__ __device__ inline float own(int x) { return x; }\n")
    (folder / "a.hip").write_bytes(PROGRAM)
    return unit_facts(folder / "a.hip", flags(sdk), clang=str(sdk.clang), cache=False)


def at(text: bytes, nth: int = 0) -> int:
    """Offset of the nth occurrence."""
    offset = -1
    for _ in range(nth + 1):
        offset = PROGRAM.index(text, offset + 1)
    return offset


def test_program_is_understood(facts: UnitFacts) -> None:
    assert facts.errors == ()


def test_shadowed_name_is_the_users(facts: UnitFacts) -> None:
    shadowing = facts.reference_at(at(b"max(a, 1)"))
    assert shadowing is not None
    assert (shadowing.name, shadowing.kind, shadowing.file) == ("mine::max", "function", "")
    assert facts.is_users(at(b"max(a, 1)")) is True
    assert facts.is_users(at(b"max(a, 2)")) is False
    assert facts.is_users(at(b"__popcll")) is False


def test_name_from_the_programs_own_header(facts: UnitFacts) -> None:
    found = facts.reference_at(at(b"own(i)"))
    assert found is not None
    assert Path(found.file).name == "own.h"
    assert facts.is_users(at(b"own(i)")) is True


def test_unknown_is_none(facts: UnitFacts) -> None:
    assert facts.reference_at(0) is None
    assert facts.is_users(3) is None
    assert facts.type_at(Span(0, 3)) is None
    assert facts.side_at(0) is None


def test_types(facts: UnitFacts) -> None:
    ballot = at(b"ballot)", 1)
    assert facts.type_at(Span(ballot, ballot + 6)) == "unsigned long long"
    element = at(b"p[i])")
    assert facts.type_at(Span(element, element + 4)) == "float"
    dependent = at(b"x + OWN")
    assert facts.type_at(Span(dependent, dependent + len(b"x + OWN"))) is None


def test_sides(facts: UnitFacts) -> None:
    assert facts.side_at(at(b"a > b")) is Side.DEVICE
    assert facts.side_at(at(b"2 * x")) is Side.BOTH
    assert facts.side_at(at(b"threadIdx")) is Side.KERNEL
    assert facts.side_at(at(b"a + 1")) is Side.HOST
    assert facts.side_at(at(b"x + OWN")) is Side.DEVICE


def test_expansions(facts: UnitFacts) -> None:
    lanes, own = facts.expansion_at(at(b"LANES", 1)), facts.expansion_at(at(b"OWN"))
    assert lanes is not None
    assert own is not None
    assert (lanes.name, lanes.file) == ("LANES", "")
    assert (own.name, Path(own.file).name) == ("OWN", "own.h")
    assert facts.expansion_at(at(b"a + 1")) is None


def test_round_trip(facts: UnitFacts) -> None:
    assert UnitFacts.from_plain(facts.to_plain()) == facts


def test_cache_follows_an_included_file(tmp_path: Path, sdk: Sdk) -> None:
    header, main = tmp_path / "t.h", tmp_path / "m.cpp"
    header.write_text("using T = int;\n")
    main.write_text('#include "t.h"\nT f(T a) { return (a); }\n')
    paren = Span(main.read_bytes().index(b"(a)"), main.read_bytes().index(b"(a)") + 3)

    def type_now() -> str | None:
        return unit_facts(main, ["-x", "c++"], clang=str(sdk.clang)).type_at(paren)

    assert type_now() == "T"
    stored = list((tmp_path / "cache" / "facts").iterdir())
    assert len(stored) == 1
    stamp = stored[0].stat().st_mtime_ns
    assert type_now() == "T"
    assert stored[0].stat().st_mtime_ns == stamp, "the second look was answered from the cache"
    header.write_text("#define T long\n")
    assert type_now() == "long"


def test_errors_are_listed_not_raised(tmp_path: Path, sdk: Sdk) -> None:
    main = tmp_path / "bad.cpp"
    main.write_text('#include "missing.h"\nint f() { return nowhere; }\n')
    found = unit_facts(main, ["-x", "c++"], clang=str(sdk.clang))
    assert any("missing.h" in error for error in found.errors)


def test_memory_limit(tmp_path: Path, sdk: Sdk) -> None:
    main = tmp_path / "a.cpp"
    main.write_text("int f();\n")
    with pytest.raises(HipportError, match="memory limit 48 MiB"):
        unit_facts(main, ["-x", "c++"], clang=str(sdk.clang), memory_bytes=48 << 20)


def test_time_limit(tmp_path: Path, sdk: Sdk) -> None:
    main = tmp_path / "a.cpp"
    main.write_text("int f();\n")
    with pytest.raises(HipportError, match=r"longer than 0\.01 s"):
        unit_facts(main, ["-x", "c++"], clang=str(sdk.clang), timeout_seconds=0.01)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(HipportError, match="cannot read"):
        unit_facts(tmp_path / "none.cu", [])
