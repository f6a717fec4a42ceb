"""Run the translator over many files: one bad file never stops a tree."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from hipport.core import Diagnostic, FileResult, FileState, HipportError, Severity, SourceFile, TranslateOptions
from hipport.core.facts import UnitFacts
from hipport.core.files import rules_root
from hipport.emit.licences import notices

Engine = Callable[[SourceFile, TranslateOptions], FileResult]
Progress = Callable[[int, int], None]

# Below this much source a pool costs more than it gives; see benchmarks/.
_POOL_PAYS_BYTES = 1_500_000
_CHUNK_BYTES = 128_000
_MAX_JOBS = 16

# Workers are forked: they inherit the loaded rulebook and the sources, and send back only results.
_shared: tuple[Engine, Sequence[SourceFile], TranslateOptions] | None = None


def load_engine(
    rule_folders: Sequence[Path],
    files: Iterable[str],
    macros: Iterable[str],
    names: Iterable[str],
    above: str = "",
    bare: Iterable[str] = (),
    facts: Mapping[str, UnitFacts] | None = None,
) -> Engine:
    """The translator with hipport's rules and those of the given folders, and what is known about the tree.

    ``files`` to ``bare`` come from `hipport.pipeline.project`, ``facts`` (by path) from `hipport.pipeline.facts`.

    Raises:
        RuleError: a rule or a table is wrong.
    """
    from hipport.rewrite import Project, translate_source
    from hipport.rulebook import load_rulebook

    book = load_rulebook((rules_root(), *rule_folders))
    project = Project(
        frozenset(files),
        frozenset(m.encode("ascii") for m in macros),
        frozenset(n.encode("ascii") for n in names),
        above,
        frozenset(bare),
    )
    known = facts or {}
    return lambda source, options: translate_source(source, book, options, project, known.get(source.path))


def translate_one(engine: Engine, source: SourceFile, options: TranslateOptions) -> FileResult:
    """Translate a file; a defect of the translator becomes a finding and the file stays as it is.

    Raises:
        HipportError: the rules are wrong (not the file).
    """
    try:
        result = engine(source, options)
    except HipportError:
        raise
    except Exception as error:  # the one place that must survive a defect anywhere in the engine
        if os.environ.get("HIPPORT_DEBUG"):
            traceback.print_exc()
        return failed(source, f"the translator failed on this file: {type(error).__name__}: {error}")
    lost = [line for line in notices(source.data) if line not in notices(result.output)]
    if lost:
        finding = Diagnostic(
            "HP945",
            Severity.ERROR,
            f"a licence notice of the input is missing in the output: {lost[0]}",
            path=source.path,
            next_step="report this: a rule removed it",
        )
        result = replace(result, diagnostics=(*result.diagnostics, finding))
    return result


def failed(source: SourceFile, message: str) -> FileResult:
    """The result for a file that the translator could not treat: copied as it is."""
    finding = Diagnostic(
        "HP934",
        Severity.ERROR,
        " ".join(message.split()),
        path=source.path,
        next_step="the file was copied unchanged; report it with the file (HIPPORT_DEBUG=1 shows where)",
    )
    return FileResult(source.path, source.path, FileState.FAILED, source.sha256, source.data, diagnostics=(finding,))


def worker_count(jobs: int, sources: Sequence[SourceFile]) -> int:
    """Processes to use: as asked, or for 0 as many as pay off."""
    if jobs > 0:
        return min(jobs, max(len(sources), 1))
    if sum(len(s.data) for s in sources) < _POOL_PAYS_BYTES:
        return 1
    return min(len(os.sched_getaffinity(0)), _MAX_JOBS)


def translate_all(
    engine: Engine,
    sources: Sequence[SourceFile],
    options: TranslateOptions,
    jobs: int = 0,
    progress: Progress | None = None,
) -> list[FileResult]:
    """Translate every source; results in the same order, the same for any number of jobs."""
    report = progress or (lambda done, total: None)
    if worker_count(jobs, sources) == 1:
        results = []
        for number, source in enumerate(sources, 1):
            results.append(translate_one(engine, source, options))
            report(number, len(sources))
        return results
    return _in_processes(engine, sources, options, worker_count(jobs, sources), report)


def _in_processes(
    engine: Engine, sources: Sequence[SourceFile], options: TranslateOptions, workers: int, report: Progress
) -> list[FileResult]:
    global _shared
    _shared = (engine, sources, options)
    results: list[FileResult | None] = [None] * len(sources)
    try:
        pool = _pool(workers)
        try:
            pending: dict[Future[list[FileResult]], list[int]] = {
                pool.submit(_work, chunk): chunk for chunk in _chunks(sources)
            }
            done = 0
            for future in as_completed(pending):
                for index, result in zip(pending[future], future.result(), strict=True):
                    results[index] = result
                    done += 1
                report(done, len(sources))
        except BrokenProcessPool:
            pass  # a worker died: below, what is left runs alone, so that we learn which file kills it
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            raise
        finally:
            # Its thread is waited for: at Python's end it would still be woken, through a pipe that it is just closing.
            pool.shutdown(cancel_futures=True)
        for index, source in enumerate(sources):
            if results[index] is None:
                results[index] = _alone(index, source)
                report(sum(r is not None for r in results), len(sources))
        return [r for r in results if r is not None]
    finally:
        _shared = None


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("fork"), initializer=_ignore_interrupt)


def _ignore_interrupt() -> None:
    """Ctrl-C reaches the whole process group; the parent decides."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _work(indexes: list[int]) -> list[FileResult]:
    assert _shared is not None
    engine, sources, options = _shared
    return [translate_one(engine, sources[i], options) for i in indexes]


def _alone(index: int, source: SourceFile) -> FileResult:
    with _pool(1) as pool:
        try:
            return pool.submit(_work, [index]).result()[0]
        except BrokenProcessPool:
            return failed(source, "the translator's process died on this file")


def _chunks(sources: Sequence[SourceFile]) -> list[list[int]]:
    """Groups of files of similar size, the largest files first so that no worker ends long after the others."""
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i].data))
    chunks: list[list[int]] = []
    size = _CHUNK_BYTES
    for index in order:
        if size >= _CHUNK_BYTES:
            chunks.append([])
            size = 0
        chunks[-1].append(index)
        size += len(sources[index].data)
    return chunks
