"""Three-way merge of a hand edit, through ``git merge-file``."""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from hipport.core import HipportError


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge: the text, and the number of conflicts marked in it."""

    data: bytes
    conflicts: int


def merge(base: bytes, edited: bytes, fresh: bytes) -> Merged | None:
    """Carry the change ``base`` -> ``edited`` over to ``fresh``; None when the content is not text.

    Raises:
        HipportError: git is missing.
    """
    if base == fresh:
        return Merged(edited, 0)
    with tempfile.TemporaryDirectory(prefix="hipport-merge-") as folder:
        paths = [Path(folder) / name for name in ("edited", "base", "fresh")]
        for path, data in zip(paths, (edited, base, fresh), strict=True):
            path.write_bytes(data)
        labels = ("your edit", "translation it was made for", "new translation")
        command = ["git", "merge-file", "-p", "--diff3"]
        for label in labels:
            command += ["-L", label]
        try:
            # A private environment: the user's configuration (merge styles, drivers) must not change the output.
            run = subprocess.run(
                [*command, *map(str, paths)],
                capture_output=True,
                check=False,
                cwd=folder,
                env={"PATH": os.environ.get("PATH", ""), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull},
            )
        except FileNotFoundError as error:
            raise HipportError("merging hand edits needs git, which is not installed", "install git") from error
    if run.returncode < 0 or run.returncode > 127:
        return None
    return Merged(run.stdout, run.returncode)
