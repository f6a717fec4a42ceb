"""Write a whole tree or leave it alone.

New bytes are staged inside the output folder (``.hipport/staging``: same file system, so a full disk or a missing
permission shows before anything is touched). Then a journal is written and every staged file is renamed into place,
with signals held back. An error while renaming rolls back; a killed process leaves the journal, and the next run
finishes the renames first. This protects against crashes of the process, not of the machine (nothing is fsynced).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from hipport.core import HipportError
from hipport.core.files import write_atomic
from hipport.emit.manifest import sha256

STATE_DIR = ".hipport"
_JOURNAL = "journal.json"
_STAGING = "staging"


@dataclass(frozen=True, slots=True)
class _Operation:
    """One rename (``staged`` is a file name in the staging folder) or, with an empty ``staged``, one removal.

    ``before`` is the hash of what it replaces ('' for nothing); ``after`` of what it puts there.
    """

    path: str
    staged: str
    before: str = ""
    after: str = ""


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the output tree for this process; finish or clear what a killed run left behind.

    Raises:
        HipportError: another run holds it, or the folder cannot be written.
    """
    state = out / STATE_DIR
    created = _make_folders(state)
    try:
        handle = os.open(state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        _remove_folders(created)
        raise _cannot_write(state / "lock", error) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(handle, 32).decode("ascii", "replace").strip()
            raise HipportError(
                f"another hipport run is writing {out}" + (f" (process {owner})" if owner else ""),
                "wait until it ends, or choose another --out",
            ) from error
        with contextlib.suppress(OSError):  # the number is a courtesy; a full disk shows at staging, with the reason
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
        _recover(out)
        yield
    finally:
        os.close(handle)
        if created:  # leave no empty folders behind when nothing was written
            _remove_if_unused(out, created)


def _remove_if_unused(out: Path, created: list[Path]) -> None:
    if any(entry.name != STATE_DIR for entry in out.iterdir()):
        return
    if any(entry.name != "lock" for entry in (out / STATE_DIR).iterdir()):
        return
    with contextlib.suppress(OSError):
        (out / STATE_DIR / "lock").unlink()
    _remove_folders(created)


class Transaction:
    """Changes to one output tree that happen together; use as a context manager, inside `locked`.

    Leaving the block without `commit` (an error, Ctrl-C) removes everything staged.
    """

    def __init__(self, out: Path) -> None:
        self.out = out
        self._operations: list[_Operation] = []
        self._created: list[Path] = []
        self._staging = out / STATE_DIR / _STAGING

    def __enter__(self) -> Transaction:
        self._created += _make_folders(self._staging)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not (self.out / STATE_DIR / _JOURNAL).exists():  # with a journal, the next run goes on from here
            shutil.rmtree(self._staging, ignore_errors=True)
            _remove_folders(self._created)

    def write(self, path: str, data: bytes | Path, executable: bool = False) -> None:
        """Stage the new content of ``path`` (relative, forward slashes): bytes, or a file to copy.

        Raises:
            HipportError: no space, no permission, or a folder is in the way.
        """
        final = self.out / path
        staged = self._staging / str(len(self._operations))
        try:
            if final.is_dir():
                raise IsADirectoryError(0, "a folder is in the way")
            self._created += _make_folders(final.parent)
            if isinstance(data, bytes):
                staged.write_bytes(data)
                after = sha256(data)
            else:
                shutil.copyfile(data, staged)
                after = hash_file(staged)
            if executable:
                staged.chmod(0o755 & ~_umask())
            before = hash_file(final) if os.path.lexists(final) else ""
        except OSError as error:
            raise _cannot_write(final, error) from error
        self._operations.append(_Operation(path, staged.name, before, after))

    def remove(self, path: str) -> None:
        """Stage the removal of ``path``; folders left empty go too."""
        final = self.out / path
        if os.path.lexists(final):
            self._operations.append(_Operation(path, "", hash_file(final)))

    def commit(self) -> None:
        """Make it so: all of it, or none of it and the reason.

        Raises:
            HipportError: a rename failed; everything is as it was.
        """
        if not self._operations:
            return
        journal = self.out / STATE_DIR / _JOURNAL
        rows = [[o.path, o.staged, o.before, o.after] for o in self._operations]
        with _signals_held():
            write_atomic(journal, json.dumps(rows).encode("ascii"))
            done: list[_Operation] = []
            try:
                for number, operation in enumerate(self._operations):
                    final = self.out / operation.path
                    if operation.before:
                        _keep(final, self._staging / f"{number}.old")
                    done.append(operation)
                    _apply(final, self._staging, operation)
            except OSError as error:
                for number, operation in reversed(list(enumerate(done))):
                    self._undo(number, operation)
                journal.unlink()
                raise _cannot_write(self.out / operation.path, error) from error
            self._created = []
            journal.unlink()
            for operation in self._operations:
                if not operation.staged:
                    _prune_empty(self.out, (self.out / operation.path).parent)

    def _undo(self, number: int, operation: _Operation) -> None:
        final = self.out / operation.path
        with contextlib.suppress(OSError):
            if operation.before:
                os.replace(self._staging / f"{number}.old", final)  # noqa: PTH105
            else:
                final.unlink(missing_ok=True)


def _apply(final: Path, staging: Path, operation: _Operation) -> None:
    if operation.staged:
        os.replace(staging / operation.staged, final)  # noqa: PTH105
    else:
        final.unlink(missing_ok=True)


def _recover(out: Path) -> None:
    """Finish the renames of a run that was killed between its journal and its end; drop what never got that far."""
    staging = out / STATE_DIR / _STAGING
    journal = out / STATE_DIR / _JOURNAL
    try:
        if journal.exists():
            with _signals_held():
                for row in json.loads(journal.read_bytes()):
                    operation = _Operation(*row)
                    final = out / operation.path
                    if operation.staged and not (staging / operation.staged).exists():
                        continue  # was done
                    if os.path.lexists(final) and hash_file(final) not in (operation.before, operation.after):
                        back_up(out, operation.path)  # somebody edited it since
                    final.parent.mkdir(parents=True, exist_ok=True)
                    _apply(final, staging, operation)
                journal.unlink()
        if staging.exists():
            shutil.rmtree(staging)
    except (OSError, ValueError, TypeError) as error:
        raise HipportError(
            f"cannot finish the interrupted run recorded in {journal}: {error}",
            f"check permissions and free space, or remove {out} and translate again",
        ) from error


def back_up(out: Path, path: str) -> str:
    """Copy an output file into ``.hipport/backup`` before it is discarded; returns where, relative to ``out``.

    Raises:
        HipportError: the copy failed; nothing was discarded.
    """
    source = out / path
    try:
        data = source.read_bytes()
    except OSError as error:
        raise HipportError(f"cannot back up {source}: {error.strerror}") from error
    name = f"{STATE_DIR}/backup/{path}.{sha256(data)[:12]}"
    write_atomic(out / name, data)
    return name


def hash_file(path: Path) -> str:
    """Hex SHA-256 of a file, read in pieces; of the target's text for a link that leads nowhere."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except FileNotFoundError:
        if path.is_symlink():
            return sha256(os.fsencode(os.readlink(path)))  # noqa: PTH115
        raise


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Deliver Ctrl-C and termination after the block: it takes milliseconds and must not be cut in half.

    In the main thread the signals' handlers note them: a blocked signal mask holds for one thread only, and libraries
    start threads that would take the signal in its stead. In other threads, where Python sets no handlers, the mask
    is all there is; Python runs handlers in the main thread only, so Ctrl-C does not cut those either.
    """
    held = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if threading.current_thread() is not threading.main_thread():
        previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, held)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
        return
    noted: list[int] = []
    previous = {number: signal.signal(number, lambda received, _: noted.append(received)) for number in held}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for received in dict.fromkeys(noted):
            signal.raise_signal(received)


def _keep(final: Path, saved: Path) -> None:
    """A second name for what is about to be replaced; a copy where the file system has no hard links."""
    try:
        os.link(final, saved, follow_symlinks=False)
    except OSError:
        shutil.copy2(final, saved, follow_symlinks=False)


def _make_folders(path: Path) -> list[Path]:
    """Make a folder and its parents; returns those that were made, outermost first."""
    missing = []
    at = path
    while not at.exists():
        missing.append(at)
        at = at.parent
    made: list[Path] = []
    try:
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            made.append(folder)
        if not path.is_dir():
            raise NotADirectoryError(0, "a file is in the way")
    except OSError as error:
        _remove_folders(made)
        raise _cannot_write(path, error) from error
    return made


def _remove_folders(made: list[Path]) -> None:
    for folder in reversed(made):
        with contextlib.suppress(OSError):
            folder.rmdir()


def _prune_empty(out: Path, folder: Path) -> None:
    while folder != out and out in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def _cannot_write(path: Path, error: OSError) -> HipportError:
    reason = error.strerror or str(error)
    return HipportError(f"cannot write {path}: {reason}", "nothing was changed; check permissions and free space")
