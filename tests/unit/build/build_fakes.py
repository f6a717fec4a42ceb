"""A stand-in for clang: a script that obeys the words in its input, and jobs that call it."""

from __future__ import annotations

import stat
import sys
from pathlib import Path

from hipport.build.plan import Job, Pass
from hipport.build.units import Unit

# Options arrive as plan.command_line writes them. Words of the input: "include PATH", "sleep S", "fail", "die", "full",
# "child S", "alloc MIB". Each start and end is logged, so that tests see what ran when.
_SCRIPT = """#!{python}
import os, signal, subprocess, sys, time
arguments = sys.argv[1:]
output = arguments[arguments.index("-o") + 1]
depfile = arguments[arguments.index("-dependency-file") + 2]
source = arguments[arguments.index("-o") - 1]
log = open("{log}", "a", buffering=1)
log.write(f"start {{source}} {{time.monotonic()}}\\n")
words = open(source).read().split()
dependencies = [source]
body = open(source).read()
for word, value in zip(words, [*words[1:], ""]):
    if word == "include":
        dependencies.append(value)
        if not os.path.exists(value):
            print(f"{{source}}:1:1: fatal error: '{{value}}' file not found", file=sys.stderr)
            sys.exit(1)
        body += open(value).read()
    if word == "alloc":
        block = bytearray(int(value) << 20)
        block[::4096] = b"x" * len(block[::4096])
    if word == "child":
        subprocess.Popen(["sleep", value])
    if word == "sleep":
        time.sleep(float(value))
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "full":
        print("fatal error: error in backend: IO failure on output stream: No space left on device", file=sys.stderr)
        sys.exit(1)
open(depfile, "w").write("object: " + " ".join(name.replace(" ", "\\\\ ") for name in dependencies) + "\\n")
if "fail" in words:
    print(f"{{source}}:2:3: error: use of undeclared identifier 'x'", file=sys.stderr)
    sys.exit(1)
open(output, "w").write("object of " + body)
log.write(f"end {{source}} {{time.monotonic()}}\\n")
"""


def fake_compiler(folder: Path) -> Path:
    """Write the script; its log is ``log`` in the same folder."""
    path = folder / "clang++"
    path.write_text(_SCRIPT.format(python=sys.executable, log=folder / "log"), encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (folder / "log").write_text("", encoding="utf-8")
    return path


def log_lines(folder: Path) -> list[list[str]]:
    """What ran: ``[start or end, source, time]``."""
    return [line.split() for line in (folder / "log").read_text(encoding="utf-8").splitlines()]


def job(path: str, target: str = "gfx942", flags: tuple[str, ...] = ("-O3",)) -> Job:
    """A device job for a source of the tree."""
    unit = Unit(path, True, (), (), False, (path,))
    return Job(unit, Pass.DEVICE, target, flags, f"{target}/{path}.hsaco")
