"""The files of a translated tree, and what they include."""

from __future__ import annotations

import bisect
import os
import posixpath
import re
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from hipport.core import HipportError

SOURCE_SUFFIXES = frozenset({".cu", ".hip", ".cpp", ".cc", ".cxx"})
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules"})
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\r\n]+)[>"]', re.MULTILINE)
# Not a macro that only stands for the word: #define CUTLASS_GLOBAL __global__ static
_KERNEL = re.compile(rb"^(?![ \t]*#[ \t]*define[ \t]+\w+[ \t]+__global__[\w \t]*$).*?__global__\b", re.MULTILINE)
_LAUNCH = re.compile(rb"<<<|hipLaunchKernelGGL")


@dataclass(frozen=True, slots=True)
class Include:
    """One include directive: the path as written, and whether it is in quotes."""

    path: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What a text scan says about one file. Commented code counts: for a build that is only a little more work."""

    includes: tuple[Include, ...]
    has_kernels: bool
    has_launches: bool


@dataclass(frozen=True)
class Tree:
    """A folder of sources.

    Attributes:
        root: absolute path.
        files: every file, relative to root with forward slashes, sorted.
    """

    root: Path
    files: tuple[str, ...]
    _facts: dict[str, FileFacts] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def read(cls, root: Path) -> Tree:
        """List a folder; hidden folders and links to folders are not followed.

        Raises:
            HipportError: it is not a folder or cannot be read.
        """
        if not root.is_dir():
            raise HipportError(f"{root} is not a folder", "run: hipport translate, or name the translated tree")
        root = root.resolve()
        files: list[str] = []
        for folder, names, leaves in os.walk(root):
            names[:] = sorted(n for n in names if not n.startswith(".") and n not in _SKIPPED_FOLDERS)
            prefix = posixpath.normpath(Path(folder).relative_to(root).as_posix())
            files += [leaf if prefix == "." else f"{prefix}/{leaf}" for leaf in leaves]
        return cls(root, tuple(sorted(files)))

    @cached_property
    def by_name(self) -> dict[str, tuple[str, ...]]:
        """File name -> paths of that name."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in self.files:
            found[posixpath.basename(path)].append(path)
        return {name: tuple(paths) for name, paths in found.items()}

    @cached_property
    def _file_set(self) -> frozenset[str]:
        return frozenset(self.files)

    def __contains__(self, path: str) -> bool:
        return path in self._file_set

    def has_folder(self, folder: str) -> bool:
        """Whether the tree has files below a folder."""
        at = bisect.bisect_left(self.files, folder + "/")
        return at < len(self.files) and self.files[at].startswith(folder + "/")

    def facts(self, path: str) -> FileFacts:
        """Scan a file, once.

        Raises:
            HipportError: it cannot be read.
        """
        known = self._facts.get(path)
        if known is None:
            try:
                data = (self.root / path).read_bytes()
            except OSError as error:
                raise HipportError(f"cannot read {path}: {error.strerror}", "check its permissions") from error
            includes = tuple(
                Include(text.decode("utf-8", "replace"), mark == b'"') for mark, text in _INCLUDE.findall(data)
            )
            known = FileFacts(includes, bool(_KERNEL.search(data)), bool(_LAUNCH.search(data)))
            self._facts[path] = known
        return known

    def in_folder(self, folder: str, include: str) -> str | None:
        """The tree's file that ``include`` names as seen from a folder of the tree, None when there is none."""
        path = posixpath.normpath(posixpath.join(folder, include))
        return path if path in self else None

    def ending_in(self, include: str) -> list[str]:
        """Paths that end in ``/include``."""
        tail = "/" + include
        return [path for path in self.by_name.get(posixpath.basename(include), ()) if path.endswith(tail)]
