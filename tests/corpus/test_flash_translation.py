"""The packs of rules/cute against the pristine upstream tree: every place found, and nearly every line left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipport.core import TARGETS, SourceFile, TranslateOptions
from hipport.rewrite import translate_source
from hipport.rulebook import load_rulebook

pytestmark = pytest.mark.corpus
UPSTREAM = Path(__file__).parents[2] / "upstream_cuda"


def test_forward_kernels_keep_their_lines() -> None:
    source = UPSTREAM / "csrc/flash_attn/src"
    if not source.is_dir():
        pytest.skip("the upstream sources are not here: hipport upstream sync")
    book = load_rulebook()
    options = TranslateOptions(targets=tuple(TARGETS))
    packs = {rule.id: rule for rule in book.rules if rule.transform == "sites:replace"}
    lines = kept = 0
    applied: dict[str, int] = {}
    for path in sorted(source.iterdir()):
        done = translate_source(SourceFile(path.relative_to(UPSTREAM).as_posix(), path.read_bytes()), book, options)
        assert not {"HP904", "HP641"} & {d.id for d in done.diagnostics}, path.name
        output = set(done.output.decode().splitlines())
        before = path.read_text().splitlines()
        lines += len(before)
        kept += sum(line in output for line in before)
        for edit in done.edits:
            applied[edit.edit.rule] = applied.get(edit.edit.rule, 0) + 1
    for name in ("HP620", "HP621", "HP622", "HP623", "HP624", "HP626"):
        assert applied[name] >= sum(int(site["expect"]) for site in packs[name].variants), name
    assert kept / lines > 0.95, f"{kept} of {lines}"
