"""The manuals' pseudocode by opcode, for each target, and the reviewed exceptions."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

MANUAL = {"gfx90a": "cdna", "gfx942": "cdna", "gfx950": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4"}


@cache
def pseudocode(target: str) -> dict[str, tuple[str, str]]:
    """(encoding, program) by mnemonic; the first encoding that has one wins."""
    module = importlib.import_module(f"tinygrad.runtime.autogen.amd.{MANUAL[target]}.str_pcode")
    table: dict[str, tuple[str, str]] = {}
    for key, text in module.PCODE.items():
        name = key.name.lower().removesuffix("_e32").removesuffix("_e64")
        # "x == -0.0" means that zero, not any zero.
        text = re.sub(r"\(((?:64'F\()?S\d\.f\d+\)?) == \+0\.0\)", r"((\1 == 0.0) && !sign(\1))", text)
        text = re.sub(r"\(((?:64'F\()?S\d\.f\d+\)?) == -0\.0\)", r"((\1 == 0.0) && sign(\1))", text)
        table.setdefault(name, (type(key).__name__.removesuffix("Op"), text))
    for name, (text, _) in corrections().items():
        if name in table:
            table[name] = (table[name][0], text)
    return table


@cache
def corrections() -> dict[str, tuple[str, str]]:
    """(program, reason) by mnemonic: where the manual's text is wrong or incomplete and a right one can be written."""
    rows = (Path(__file__).parent / "corrections.tsv").read_text().splitlines()
    table = {}
    for row in rows:
        if row and not row.startswith("#"):
            name, text, reason = row.split("\t")
            table[name] = (text, reason)
    return table


@cache
def library(target: str) -> dict[str, str]:
    own = {name: text for name, (_, text) in pseudocode(target).items()}
    return {name: text for name, (_, text) in pseudocode("gfx1201").items()} | own  # CDNA names v_maximum_f32


@cache
def exceptions() -> dict[str, str]:
    """Reason by mnemonic: where the pseudocode is not the truth, or not a program."""
    rows = (Path(__file__).parent / "exceptions.tsv").read_text().splitlines()
    return dict(row.split("\t", 1) for row in rows if row and not row.startswith("#"))


@cache
def other_tests() -> dict[str, tuple[str, str]]:
    """(oracle, where or why) by a regular expression for whole names: opcodes decided outside of this folder."""
    rows = (Path(__file__).parent / "other_tests.tsv").read_text().splitlines()
    split = (row.split("\t") for row in rows if row and not row.startswith("#"))
    return {pattern: (oracle, reason) for pattern, oracle, reason in split}


@cache
def excepted(name: str) -> bool:
    """Whether a row of exceptions.tsv (a regular expression for whole names) covers the opcode."""
    return any(re.fullmatch(pattern, name) for pattern in exceptions())
