"""Hand edits as patches: one unified diff per output file, under ``patches/``, made to be committed.

A patch starts with a header that says which bytes it was made against::

    hipport hand edit 1
    base-sha256: <of the pristine translation>
    result-sha256: <of the edited file>

    --- a/csrc/flash_attn/src/utils.h
    +++ b/csrc/flash_attn/src/utils.h

``git apply`` and ``patch -p1`` skip the header and read the rest.
"""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from hipport.core import HipportError
from hipport.emit.manifest import sha256

SUFFIX = ".patch"
_MARK = b"hipport hand edit 1\n"
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = b"\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class Patch:
    """A hand edit: the diff's bytes, and the hashes of what it applies to and what it gives."""

    base_sha256: str
    result_sha256: str
    diff: bytes


def unified_diff(before: bytes, after: bytes, old_name: str, new_name: str, context: int = 3) -> bytes:
    """A unified diff of two texts as bytes; empty when they are equal. Line ends and missing last newlines survive."""
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _split(before),
        _split(after),
        os.fsencode(old_name),
        os.fsencode(new_name),
        n=context,
    )
    out = bytearray()
    for number, line in enumerate(lines):
        if number < 2 and b" " in line[4:]:
            line = line.rstrip(b"\n") + b"\t\n"  # what GNU diff does for names with spaces
        out += line if line.endswith(b"\n") else line + b"\n" + _NO_NEWLINE
    return bytes(out)


def _split(data: bytes) -> list[bytes]:
    """Lines ending in LF only: ``bytes.splitlines`` would also cut at a lone CR, which patch tools do not."""
    lines = data.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])


def make_patch(path: str, base: bytes, edited: bytes) -> Patch:
    """The patch that turns ``base`` into ``edited``."""
    return Patch(sha256(base), sha256(edited), unified_diff(base, edited, f"a/{path}", f"b/{path}"))


def dump_patch(patch: Patch) -> bytes:
    """The patch file's bytes."""
    head = f"base-sha256: {patch.base_sha256}\nresult-sha256: {patch.result_sha256}\n\n"
    return _MARK + head.encode("ascii") + patch.diff


def parse_patch(data: bytes, name: str) -> Patch:
    """Read a patch file.

    Raises:
        HipportError: it lacks the header.
    """
    found = re.match(
        re.escape(_MARK) + rb"base-sha256: ([0-9a-f]{64})\r?\nresult-sha256: ([0-9a-f]{64})\r?\n\r?\n", data
    )
    if found is None:
        raise HipportError(
            f"{name} is not a hand edit of hipport",
            "apply it with patch -p1 in the output tree, then run hipport edits save",
        )
    return Patch(found[1].decode(), found[2].decode(), data[found.end() :])


def apply_patch(patch: Patch, base: bytes, name: str) -> bytes:
    """Apply a patch to exactly the bytes it was made for.

    Raises:
        HipportError: the base differs, or the patch was damaged (the result's hash is checked).
    """
    if sha256(base) != patch.base_sha256:
        raise HipportError(f"{name} was made for other bytes")
    source = _split(base)
    lines = _split(patch.diff)
    out: list[bytes] = []
    at = 0
    number = 0
    while number < len(lines):
        hunk = _HUNK.match(lines[number])
        number += 1
        if hunk is None:
            continue
        start, length = int(hunk[1]), int(hunk[2] or b"1")
        begin = start - 1 if length else start
        out += source[at:begin]
        at = begin
        while number < len(lines) and lines[number][:1] in (b" ", b"-", b"+"):
            kind, text = lines[number][:1], lines[number][1:]
            if lines[number + 1 : number + 2] == [_NO_NEWLINE]:
                text = text[:-1]
                number += 1
            number += 1
            if kind != b"-":
                out.append(text)
            if kind != b"+":
                at += 1
    result = b"".join([*out, *source[at:]])
    if sha256(result) != patch.result_sha256:
        raise HipportError(
            f"{name} is damaged: it does not give the recorded result", "restore it from version control"
        )
    return result


def patch_path(folder: Path, output_path: str) -> Path:
    """The patch file of an output file."""
    return folder / f"{output_path}{SUFFIX}"


def find_patches(folder: Path) -> dict[str, Path]:
    """All patch files by output path."""
    if not folder.is_dir():
        return {}
    found = sorted(folder.rglob(f"*{SUFFIX}"))
    return {p.relative_to(folder).as_posix().removesuffix(SUFFIX): p for p in found if p.is_file()}
