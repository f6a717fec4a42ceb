from __future__ import annotations

import os
from dataclasses import replace

import pytest

from hipport.core import FileResult, FileState, HipportError, RuleError, SourceFile, TranslateOptions
from hipport.pipeline.engine import translate_all, translate_one, worker_count

OPTIONS = TranslateOptions()


def upper(source: SourceFile, options: TranslateOptions) -> FileResult:
    if b"raise" in source.data:
        raise RecursionError("too deep")
    if b"die" in source.data:
        os._exit(7)
    return FileResult(source.path, source.path, FileState.TRANSLATED, source.sha256, source.data.upper())


def sources(*texts: bytes) -> list[SourceFile]:
    return [SourceFile(f"{n}.cu", text) for n, text in enumerate(texts)]


def test_a_defect_of_the_translator_stops_one_file_only() -> None:
    good, bad, last = translate_all(upper, sources(b"a", b"raise", b"c"), OPTIONS, jobs=1)
    assert (good.output, last.output) == (b"A", b"C")
    assert (bad.state, bad.output) == (FileState.FAILED, b"raise")
    assert [(d.id, d.severity.value) for d in bad.diagnostics] == [("HP934", "error")]
    assert "RecursionError: too deep" in bad.diagnostics[0].message


def test_wrong_rules_stop_the_run() -> None:
    def broken(source: SourceFile, options: TranslateOptions) -> FileResult:
        raise RuleError("bad query", "rules/HP1.toml", 3)

    with pytest.raises(HipportError, match=r"rules/HP1.toml:3"):
        translate_one(broken, SourceFile("a.cu", b""), OPTIONS)


def test_processes_give_the_same_results_in_the_same_order() -> None:
    texts = [b"x" * n for n in range(40)]
    seen: list[tuple[int, int]] = []
    parallel = translate_all(upper, sources(*texts), OPTIONS, jobs=2, progress=lambda *p: seen.append(p))
    assert parallel == translate_all(upper, sources(*texts), OPTIONS, jobs=1)
    assert seen[-1] == (40, 40)


def test_a_file_that_kills_the_process_is_found_out() -> None:
    results = translate_all(upper, sources(b"a", b"die", b"c", b"raise"), OPTIONS, jobs=2)
    assert [r.output for r in results] == [b"A", b"die", b"C", b"raise"]
    assert [r.state.value for r in results] == ["translated", "failed", "translated", "failed"]
    assert "died" in results[1].diagnostics[0].message


def test_a_lost_licence_notice_is_an_error() -> None:
    def strip(source: SourceFile, options: TranslateOptions) -> FileResult:
        return replace(upper(source, options), output=source.data.replace(b"// Copyright 2020 Somebody\n", b""))

    result = translate_one(strip, SourceFile("a.cu", b"// Copyright 2020 Somebody\nint x;\n"), OPTIONS)
    assert [(d.id, d.severity.value) for d in result.diagnostics] == [("HP945", "error")]


def test_small_trees_are_not_worth_a_pool() -> None:
    assert worker_count(0, sources(b"x")) == 1
    assert worker_count(8, sources(b"x", b"y")) == 2
    assert worker_count(0, [SourceFile("a.cu", b"x" * 4_000_000), SourceFile("b.cu", b"")]) >= 1
