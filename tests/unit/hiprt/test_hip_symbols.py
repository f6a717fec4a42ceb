"""The table of exported symbols: complete, matched by the library, and every claim of a test is true."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerDefSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from hipport.core import HipportError
from hipport.hiprt import RuntimeFolder
from hipport.hiprt.symbols import Symbol, load_symbols, of_major, refused_source, version_script
from hipport.sdk import Sdk

PROGRAMS = Path(__file__).with_name("programs")
# Calls that the compiler writes: a program tests them by having a kernel, a variable, a managed variable.
WRITTEN_BY_COMPILER = re.compile(
    r"__hip(Push|Pop)CallConfiguration|__hip(Un)?[Rr]egister(FatBinary|Function|Var|ManagedVar)|_Z24hip"
)


def exported(library: Path) -> dict[str, tuple[str, bool]]:
    """Defined dynamic symbols: name -> (version node, is a function)."""
    with library.open("rb") as stream:
        elf = ELFFile(stream)
        dynamic = elf.get_section_by_name(".dynsym")
        versions = elf.get_section_by_name(".gnu.version")
        definitions = elf.get_section_by_name(".gnu.version_d")
        assert isinstance(dynamic, SymbolTableSection)
        assert isinstance(versions, GNUVerSymSection)
        assert isinstance(definitions, GNUVerDefSection)
        nodes = {d["vd_ndx"]: next(iter(names)).name for d, names in definitions.iter_versions()}
        found = {}
        for number, symbol in enumerate(dynamic.iter_symbols()):
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol.name:
                index = versions.get_symbol(number)["ndx"]
                assert isinstance(index, int)
                found[symbol.name] = (nodes[index & 0x7FFF], symbol["st_info"]["type"] == "STT_FUNC")
        return found


def as_exported(symbols: tuple[Symbol, ...]) -> dict[str, tuple[str, bool]]:
    return {symbol.name: (symbol.node, symbol.returns != "node") for symbol in symbols}


def test_numbers() -> None:
    six, seven = of_major(6), of_major(7)
    assert len(six) == 516  # dynamic symbols of AMD's libamdhip64.so.6.4.43484, version nodes included
    assert len(seven) == 542  # of libamdhip64.so.7.2.53211
    for symbols in (six, seven):
        implemented = [s for s in symbols if s.state == "implemented" and s.returns != "node"]
        assert len(implemented) >= 390


@pytest.mark.sdk
def test_library_exports_exactly_the_table(runtime: RuntimeFolder) -> None:
    assert exported(runtime.library) == as_exported(of_major(runtime.major))


@pytest.mark.sdk
def test_table_is_what_amds_library_exports(sdk: Sdk, runtime: RuntimeFolder) -> None:
    real = [path for d in sdk.library_dirs if (path := d / f"libamdhip64.so.{runtime.major}").is_file()]
    if not real or sdk.hip_version[:2] not in ((6, 4), (7, 2)):
        pytest.skip("AMD's own library of these versions is not there")
    assert exported(real[0]) == as_exported(of_major(runtime.major))


def test_every_implemented_symbol_is_called_by_its_test() -> None:
    texts = {path.stem: path.read_text() for path in PROGRAMS.iterdir() if path.suffix in (".cpp", ".hip")}
    missing = []
    for symbol in load_symbols():
        if symbol.state == "refused" or symbol.returns == "node":
            continue
        text = texts.get(symbol.evidence, "")
        called = re.search(rf"\b{re.escape(symbol.name)}\b", text) or (text and WRITTEN_BY_COMPILER.match(symbol.name))
        if not called:
            missing.append(symbol.name)
    assert missing == []


def test_refused_symbols_give_a_reason() -> None:
    for symbol in load_symbols():
        if symbol.state == "refused":
            assert " " in symbol.evidence, symbol.name
            assert symbol.returns not in ("value", "node"), symbol.name


@pytest.mark.sdk
def test_refused_calls_answer_and_say_so_once(runtime: RuntimeFolder, capfd: pytest.CaptureFixture[str]) -> None:
    library = ctypes.CDLL(str(runtime.library))
    for _ in range(2):
        assert library.hipIpcGetMemHandle(None, None) == 801  # hipErrorNotSupported
    assert library.hipGetLastError() == 801
    library.hipApiName.restype = ctypes.c_char_p
    assert library.hipApiName(3) == b""
    error = capfd.readouterr().err
    said = "hipIpcGetMemHandle is not implemented: hipErrorNotSupported (emulated memory belongs to one process)"
    assert error.count(said) == 1


def test_version_script_chains_the_nodes() -> None:
    a = Symbol("hipA", "hip_4.2", (6,), "error", "implemented", "x")
    b = Symbol("hipB", "hip_10.0", (6,), "error", "refused", "no such thing")
    node = Symbol("hip_10.0", "hip_10.0", (6,), "node", "implemented", "symbols")
    text = version_script([b, node, a])
    assert text == (
        "hip_4.2 {\n  global:\n    hipA;\n  local:\n    *;\n};\nhip_10.0 {\n  global:\n    hipB;\n} hip_4.2;\n"
    )
    assert 'int hipB() { return hiprt_refuse("hipB", "no such thing"); }' in refused_source([a, b])
    assert "hipA" not in refused_source([a, b])


@pytest.mark.parametrize(
    "row",
    [
        "hipA\thip_4.2\t6\terror\timplemented",  # a column is missing
        "hipA\thip_4.2\t6\tstring\timplemented\tx",  # unknown kind of return value
        "hipA\thip_4.2\t6\terror\tdone\tx",  # unknown state
        "hipA\thip_4.2\t6\terror\timplemented\tx\nhipA\thip_4.2\t6\terror\trefused\ty z",  # twice
    ],
)
def test_bad_rows_are_refused(tmp_path: Path, row: str) -> None:
    table = tmp_path / "symbols.tsv"
    table.write_text(row + "\n")
    with pytest.raises(HipportError, match=r"symbols.tsv:\d: malformed or repeated row 'hipA'"):
        load_symbols(table)
