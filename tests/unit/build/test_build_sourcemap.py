"""Output lines to input lines."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from hipport.build.sourcemap import LineMap, SourceMap


def test_identity() -> None:
    assert [LineMap.identity().input_line(n) for n in (1, 2, 1000)] == [1, 2, 1000]


def test_inserted_lines_map_to_the_line_before_them() -> None:
    # two lines inserted in front of line 3 of the input
    before, after = b"a\nb\nc\nd\n", b"a\nb\nX\nY\nc\nd\n"
    line_map = LineMap.from_texts(before, after)
    assert [line_map.input_line(n) for n in range(1, 7)] == [1, 2, 2, 2, 3, 4]


def test_removed_lines_shift_what_follows() -> None:
    line_map = LineMap.from_texts(b"a\nb\nc\nd\ne\n", b"a\nd\ne\n")
    assert [line_map.input_line(n) for n in (1, 2, 3)] == [1, 4, 5]


def test_a_replaced_run_maps_line_by_line_and_its_surplus_to_its_end() -> None:
    line_map = LineMap.from_texts(b"a\nb\nc\nz\n", b"a\nB\nC\nD\nE\nz\n")
    assert [line_map.input_line(n) for n in range(1, 7)] == [1, 2, 3, 3, 3, 4]


def test_text_inserted_at_the_top() -> None:
    line_map = LineMap.from_texts(b"a\nb\n", b"#include <x>\na\nb\n")
    assert [line_map.input_line(n) for n in (1, 2, 3)] == [1, 1, 2]


def test_from_edits_follows_added_and_removed_lines() -> None:
    # line 1: an include line put in front (0 breaks before, 1 after); line 5: three lines became one (2 breaks -> 0)
    line_map = LineMap.from_edits([(1, 0, 1), (5, 2, 0)])
    assert line_map.input_line(4) == 3  # between both edits everything is one line later
    assert line_map.input_line(6) == 5  # the edited statement itself
    assert line_map.input_line(7) == 8  # lines 6 and 7 of the input are gone
    assert line_map.input_line(10) == 11


def test_edits_within_a_line_change_nothing() -> None:
    line_map = LineMap.from_edits([(3, 0, 0), (9, 1, 1)])
    assert [line_map.input_line(n) for n in range(1, 30)] == list(range(1, 30))


_LINES = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"x y"]), max_size=12)


@settings(deadline=None)
@given(_LINES, _LINES)
def test_every_output_line_has_an_input_line_and_order_is_kept(before: list[bytes], after: list[bytes]) -> None:
    line_map = LineMap.from_texts(b"\n".join(before), b"\n".join(after))
    lines = [line_map.input_line(n) for n in range(1, len(after) + 1)]
    assert lines == sorted(lines)
    assert all(1 <= line <= max(len(before), 1) for line in lines)


@settings(deadline=None)
@given(st.lists(st.text("abcdef", min_size=1, max_size=3), max_size=12, unique=True), st.data())
def test_untouched_lines_map_to_themselves(lines: list[str], data: st.DataObject) -> None:
    """With distinct lines and insertions only, the right answer is known: the line with the same text."""
    after: list[str] = []
    for line in lines:
        after += [f"+{n}" for n in range(data.draw(st.integers(0, 2)))]
        after.append(line)
    line_map = LineMap.from_texts("\n".join(lines).encode(), "\n".join(after).encode())
    for number, line in enumerate(after, start=1):
        if not line.startswith("+"):
            assert line_map.input_line(number) == lines.index(line) + 1


def test_a_source_map_renames_and_maps_and_keeps_unknown_lines_unknown() -> None:
    asked: list[str] = []

    def line_map(path: str) -> LineMap:
        asked.append(path)
        return LineMap.from_edits([(1, 0, 1)])

    sources = SourceMap({"a.hip": "a.cu"}, line_map)
    assert sources.source("a.hip", 5) == ("a.cu", 4)
    assert sources.source("a.hip", 0) == ("a.cu", 0)
    assert sources.source("other.h", 5) == ("other.h", 4)
    assert asked == ["a.hip", "other.h"]  # once for each file
