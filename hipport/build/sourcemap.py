"""Lines of the translated files as lines of the CUDA files they came from."""

from __future__ import annotations

import bisect
import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class LineMap:
    """Where runs of equal lines start: output line ``outputs[i] + k`` is input line ``inputs[i] + k``.

    Attributes:
        outputs: 1-based first output line of each run, increasing.
        inputs: 1-based input line that it stands for.
        lengths: lines of the input that the run covers; a run may be longer in the output (inserted lines), whose
            surplus lines map to the run's last input line.
    """

    outputs: tuple[int, ...]
    inputs: tuple[int, ...]
    lengths: tuple[int, ...]

    def input_line(self, output_line: int) -> int:
        """The input line behind an output line; a line that was inserted maps to the line before it."""
        at = bisect.bisect_right(self.outputs, output_line) - 1
        if at < 0:
            return 1
        return self.inputs[at] + min(output_line - self.outputs[at], max(self.lengths[at] - 1, 0))

    @classmethod
    def identity(cls) -> LineMap:
        """For a file that was not changed."""
        return cls((1,), (1,), (1 << 30,))

    @classmethod
    def from_edits(cls, edits: Iterable[tuple[int, int, int]]) -> LineMap:
        """From (1-based input line, line breaks before, line breaks after) of each edit.

        Only edits that add or remove lines matter. Good to the line as long as edits do not overlap.
        """
        outputs, inputs = [1], [1]
        shift = 0
        for line, before, after in sorted(edits):
            if before != after:
                shift += after - before
                inputs.append(line + before + 1)
                outputs.append(line + before + 1 + shift)
        lengths = [following - start for start, following in pairwise(inputs)] + [1 << 30]
        return cls(tuple(outputs), tuple(inputs), tuple(lengths))

    @classmethod
    def from_texts(cls, before: bytes, after: bytes) -> LineMap:
        """By comparing both texts; exact also where a person edited the output."""
        if before == after:
            return cls.identity()
        matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
        runs = [
            (j1 + 1, i1 + 1, max(i2 - i1, 1)) if tag != "insert" else (j1 + 1, max(i1, 1), 1)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
            if j2 > j1
        ]
        return cls(tuple(r[0] for r in runs), tuple(r[1] for r in runs), tuple(r[2] for r in runs))


@dataclass(frozen=True)
class SourceMap:
    """Places in a translated tree as places in its CUDA source.

    Attributes:
        paths: output path -> input path, for the files that differ in name.
        line_map: makes the map of one output path; called once for each file that a message names.
    """

    paths: Mapping[str, str] = field(default_factory=dict)
    line_map: Callable[[str], LineMap] = lambda path: LineMap.identity()
    _made: dict[str, LineMap] = field(default_factory=dict, repr=False, compare=False)

    def source(self, path: str, line: int) -> tuple[str, int]:
        """Input path and line of an output path and line; line 0 stays 0 (unknown)."""
        if path not in self._made:
            self._made[path] = self.line_map(path)
        return self.paths.get(path, path), self._made[path].input_line(line) if line else 0
