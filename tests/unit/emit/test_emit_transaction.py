"""All of a tree or none of it."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from hipport.core import HipportError
from hipport.emit import transaction
from hipport.emit.transaction import Transaction, back_up, locked


def lay(out: Path) -> None:
    (out / "lib").mkdir(parents=True)
    (out / "a").write_bytes(b"old a")
    (out / "lib/b").write_bytes(b"old b")


def files(out: Path) -> dict[str, bytes]:
    return {p.relative_to(out).as_posix(): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}


def change(out: Path) -> None:
    with locked(out), Transaction(out) as t:
        t.write("a", b"new a")
        t.write("deep/er/c", b"new c")
        t.remove("lib/b")
        t.commit()


AFTER = {"a": b"new a", "deep/er/c": b"new c"}
BEFORE = {"a": b"old a", "lib/b": b"old b"}


def visible(out: Path) -> dict[str, bytes]:
    return {p: d for p, d in files(out).items() if not p.startswith(".hipport/lock")}


def test_commit(tmp_path: Path) -> None:
    lay(tmp_path / "out")
    change(tmp_path / "out")
    assert visible(tmp_path / "out") == AFTER
    assert not (tmp_path / "out/lib").exists()


def stop_half_way(out: Path) -> None:
    with locked(out), Transaction(out) as t:
        t.write("a", b"new a")
        t.write("deep/er/c", b"new c")
        raise KeyboardInterrupt


def test_an_error_before_commit_leaves_nothing(tmp_path: Path) -> None:
    lay(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt):
        stop_half_way(tmp_path / "out")
    assert visible(tmp_path / "out") == BEFORE
    assert not (tmp_path / "out/deep").exists()


def test_a_tree_that_was_not_there_is_not_there_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        stop_half_way(tmp_path / "x/out")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_while_staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path / "out")
    write_bytes = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if b"new c" in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_bytes(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(HipportError, match="No space left on device"):
        change(tmp_path / "out")
    assert visible(tmp_path / "out") == BEFORE


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_an_error_while_renaming_rolls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int) -> None:
    lay(tmp_path / "out")
    apply = transaction._apply
    calls = []

    def fail(final: Path, staging: Path, operation: object) -> None:
        calls.append(final)
        if len(calls) == failing:
            raise OSError(errno.EROFS, "Read-only file system")
        apply(final, staging, operation)  # type: ignore[arg-type]

    monkeypatch.setattr(transaction, "_apply", fail)
    with pytest.raises(HipportError, match="Read-only file system"):
        change(tmp_path / "out")
    assert visible(tmp_path / "out") == BEFORE


@pytest.mark.parametrize("done", [0, 1, 2, 3])
def test_a_killed_run_is_finished_by_the_next(tmp_path: Path, done: int) -> None:
    """A process is killed (not stopped) after ``done`` of three operations."""
    out = tmp_path / "out"
    lay(out)
    script = textwrap.dedent(f"""
        import os, signal
        from pathlib import Path
        from hipport.emit import transaction
        apply, n = transaction._apply, [0]
        def fatal(*arguments):
            if n[0] == {done}:
                os.kill(os.getpid(), signal.SIGKILL)
            n[0] += 1
            apply(*arguments)
        transaction._apply = fatal
        out = Path({str(out)!r})
        with transaction.locked(out), transaction.Transaction(out) as t:
            t.write("a", b"new a")
            t.write("deep/er/c", b"new c")
            t.remove("lib/b")
            t.write("d", b"new d")
            t.commit()
    """)
    run = subprocess.run([sys.executable, "-c", script], check=False)
    assert run.returncode == -signal.SIGKILL
    with locked(out):
        pass
    assert visible(out) == {**AFTER, "d": b"new d"}


def test_a_run_killed_while_staging_changed_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    lay(out)
    staging = out / ".hipport/staging"
    staging.mkdir(parents=True)
    (staging / "0").write_bytes(b"new a")
    with locked(out):
        pass
    assert visible(out) == BEFORE


def test_edits_between_a_kill_and_recovery_are_backed_up(tmp_path: Path) -> None:
    out = tmp_path / "out"
    lay(out)
    staging = out / ".hipport/staging"
    staging.mkdir(parents=True)
    (staging / "0").write_bytes(b"new a")
    rows = [["a", "0", transaction.sha256(b"old a"), transaction.sha256(b"new a")]]
    (out / ".hipport/journal.json").write_text(json.dumps(rows))
    (out / "a").write_bytes(b"edited since")
    with locked(out):
        pass
    assert (out / "a").read_bytes() == b"new a"
    (backup,) = (out / ".hipport/backup").iterdir()
    assert backup.read_bytes() == b"edited since"


def test_a_damaged_journal_is_a_clear_error(tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / ".hipport").mkdir(parents=True)
    (out / ".hipport/journal.json").write_text("{")
    with pytest.raises(HipportError, match="interrupted run"), locked(out):
        pass


def test_two_runs_at_once(tmp_path: Path) -> None:
    with locked(tmp_path / "out"):
        with (
            pytest.raises(HipportError, match=f"another hipport run .*process {os.getpid()}"),
            locked(tmp_path / "out"),
        ):
            pass
        with locked(tmp_path / "other"):
            pass
    with locked(tmp_path / "out"):
        pass


def test_signals_wait_for_the_end_of_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path / "out")
    apply = transaction._apply

    def interrupt(*arguments: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        apply(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(transaction, "_apply", interrupt)
    end = threading.Event()
    # The kernel may hand a process's signal to any thread that does not block it.
    bystander = threading.Thread(target=end.wait)
    bystander.start()
    # A shell's background jobs start with the signal ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            change(tmp_path / "out")
    finally:
        after = signal.signal(signal.SIGINT, before)
        end.set()
        bystander.join()
    assert visible(tmp_path / "out") == AFTER
    assert after is signal.default_int_handler


def test_backups_of_the_same_file_do_not_replace_each_other(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    first = back_up(tmp_path, "a")
    (tmp_path / "a").write_bytes(b"2")
    second = back_up(tmp_path, "a")
    assert [(tmp_path / p).read_bytes() for p in (first, second)] == [b"1", b"2"]


def write_much(out: Path) -> None:
    with locked(out), Transaction(out) as t:
        for n in range(40):
            t.write(f"new/{n}", bytes(8192))
        t.commit()


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/proc/self/ns/mnt").exists(), reason="needs root to mount a tmpfs")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    out = tmp_path / "small"
    out.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(out)], check=False, capture_output=True
    )
    if mount.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        lay(out / "tree")
        with pytest.raises(HipportError, match="No space left"):
            write_much(out / "tree")
        assert visible(out / "tree") == BEFORE
        assert not (out / "tree/new").exists()
    finally:
        subprocess.run(["umount", str(out)], check=True)
