"""The warp model native64 changes no output, and saves instructions where it applies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conformance_compare import differences
from test_conformance import SHARED, run

from hipport.core import SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import Rulebook, load_rulebook

HERE = Path(__file__).parent
PROGRAMS = sorted(path for folder in (HERE / "programs", HERE / "warp", HERE / "unseen", SHARED)
                  for path in folder.glob("*.cu"))  # fmt: skip
# Programs with sites that native64 proves.
REWRITTEN = {
    "a01_shuffle", "a04_block_reduce", "block_reductions", "block_sum", "padded_blocks", "sync_protocols",
    "u02_lane_ids",
}  # fmt: skip


def instructions(text: str) -> int:
    found = re.search(r"([\d,]+) wave-instructions", text)
    assert found is not None, text
    return int(found[1].replace(",", ""))


@pytest.fixture(scope="module")
def book() -> Rulebook:
    return load_rulebook()


@pytest.mark.parametrize("source", PROGRAMS, ids=lambda path: path.stem)
def test_which_programs_are_rewritten(book: Rulebook, source: Path) -> None:
    options = TranslateOptions(warp_model="native64")
    output = translate_source(SourceFile(source.name, source.read_bytes()), book, options).output
    rewritten = re.search(rb"hipport::(?:native|warp)_(?:reduce|count)", output) is not None
    assert rewritten == (source.stem in REWRITTEN)


@pytest.mark.sdk
@pytest.mark.slow
@pytest.mark.parametrize("target", ["gfx942", "gfx90a", "gfx1100"])
@pytest.mark.parametrize("source", [p for p in PROGRAMS if p.stem in REWRITTEN], ids=lambda path: path.stem)
def test_outputs_are_those_of_logical32(source: Path, target: str) -> None:
    done = run(source, target, "--warp-model", "native64")
    assert differences(source.stem, done.stdout, source.with_suffix(".out").read_text()) == []
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.sdk
def test_block_reductions_take_fewer_instructions() -> None:
    source = HERE / "warp" / "block_reductions.cu"
    before, after = (run(source, "gfx942", "--stats", "--warp-model", model) for model in ("logical32", "native64"))
    assert before.stdout == after.stdout == source.with_suffix(".out").read_text()
    assert instructions(after.stderr) < 0.9 * instructions(before.stderr)
