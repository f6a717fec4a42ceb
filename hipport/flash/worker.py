"""A process of its own for launches that may go wrong: ``python -m hipport.flash.worker FOLDER``.

The emulator reads what to be from the environment when its runtime loads, writes its statistics when the process ends,
and a wild kernel must not take the user's Python along. `ask` writes a folder, starts the worker on it and reads the
results; a folder that is kept can be run again by hand.

    request.json  library; memory: [offset, bytes, wanted]; launches: entry, parameters ({"buffer": n} for an address)
    memory        all buffers one behind the other; the worker leaves the wanted ones as the kernels left them
    reply.json    message and next step, where there was an error
"""

from __future__ import annotations

import ctypes
import json
import mmap
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hipport.core import HipportError
from hipport.core.files import package_root
from hipport.flash.library import Launch, Library, Memory, Pointer, run

_ALIGNMENT = 64
_FAILED = 77  # exit code with a reply; no code that Python itself ends with


def ask(
    library: Path,
    environment: Mapping[str, str],
    buffers: Sequence[tuple[memoryview, bool]],
    launches: Sequence[Launch],
) -> list[bytes]:
    """Run launches in a worker; returns the buffers marked True, as they are afterwards.

    Args:
        library: of entry points.
        environment: decides which HIP runtime the worker finds, and what the emulator is.
        buffers: contiguous host memory, and whether it is wanted back.
        launches: in order.

    Raises:
        HipportError: an error of the worker, or its end by a signal; the last of what it said is quoted.
    """
    import subprocess

    with tempfile.TemporaryDirectory(prefix="hipport-flash-") as name:
        folder = Path(name)
        try:
            spans = _write_request(folder, library, buffers, launches)
        except OSError as error:
            raise HipportError(f"cannot write {name}: {error.strerror}", "make room, or set TMPDIR") from error
        path = ":".join(filter(None, (str(package_root().parent), environment.get("PYTHONPATH"))))
        done = subprocess.run(
            [sys.executable, "-P", "-m", "hipport.flash.worker", name],
            env={**environment, "PYTHONPATH": path},
            stderr=subprocess.PIPE,
            check=False,
        )
        said = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
        if done.returncode not in (0, _FAILED):
            how = f"was ended by signal {-done.returncode}" if done.returncode < 0 else f"ended with {done.returncode}"
            raise HipportError(f"the kernel process {how}: {said}", "run it with checks for the place")
        if done.returncode == _FAILED:
            message, next_step = json.loads((folder / "reply.json").read_text(encoding="utf-8"))
            raise HipportError(f"{message}: {said}" if said else message, next_step)
        with (folder / "memory").open("rb") as stream:
            results = []
            for start, n_bytes, wanted in spans:
                if wanted:
                    stream.seek(start)
                    results.append(stream.read(n_bytes))
        return results


def serve(folder: Path) -> None:
    """The worker's side: run the request of a folder.

    Raises:
        HipportError: as `run` and `Library`.
    """
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    launches = [
        Launch(
            one["entry"],
            {key: Pointer(v["buffer"]) if isinstance(v, dict) else v for key, v in one["parameters"].items()},
        )
        for one in request["launches"]
    ]
    library = Library(Path(request["library"]))
    with (folder / "memory").open("r+b") as stream, mmap.mmap(stream.fileno(), 0) as mapped:
        start = (ctypes.c_char * len(mapped)).from_buffer(mapped)
        address = ctypes.addressof(start)
        try:
            run(library, [Memory(address + at, n, wanted) for at, n, wanted in request["memory"]], launches)
        finally:
            del start  # a mapping with a view on it does not close


def _write_request(
    folder: Path, library: Path, buffers: Sequence[tuple[memoryview, bool]], launches: Sequence[Launch]
) -> list[tuple[int, int, bool]]:
    spans: list[tuple[int, int, bool]] = []
    with (folder / "memory").open("wb") as stream:
        for data, wanted in buffers:
            spans.append((stream.tell(), data.nbytes, wanted))
            stream.write(data)
            stream.write(bytes(-stream.tell() % _ALIGNMENT))
        stream.write(bytes(_ALIGNMENT))  # an empty file cannot be mapped
    request: dict[str, Any] = {
        "library": str(library),
        "memory": spans,
        "launches": [
            {
                "entry": one.entry,
                "parameters": {
                    key: {"buffer": v.buffer} if isinstance(v, Pointer) else v for key, v in one.parameters.items()
                },
            }
            for one in launches
        ],
    }
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    return spans


def main(folder: Path) -> int:
    """Serve a folder; returns the exit code."""
    try:
        serve(folder)
    except HipportError as error:
        (folder / "reply.json").write_text(json.dumps([error.message, error.next_step]), encoding="utf-8")
        return _FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
