from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hipport.core import HipportError
from hipport.emit.merge import merge
from hipport.emit.patches import apply_patch, dump_patch, find_patches, make_patch, parse_patch, patch_path

LINES = st.lists(
    st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"@@ -1 +1 @@\n", b"--- x\n", b"\\ No newline\n", b"\r"])
)
TEXT = st.tuples(LINES, st.sampled_from([b"", b"end", b"\r"])).map(lambda p: b"".join(p[0]) + p[1])


@given(TEXT, TEXT)
def test_a_patch_applied_to_its_base_gives_the_edit(base: bytes, edited: bytes) -> None:
    patch = parse_patch(dump_patch(make_patch("dir/a b.cu", base, edited)), "p")
    assert apply_patch(patch, base, "p") == edited


def test_other_bytes_are_refused() -> None:
    patch = make_patch("a", b"1\n2\n", b"1\n3\n")
    with pytest.raises(HipportError, match="other bytes"):
        apply_patch(patch, b"0\n2\n", "a.patch")


def test_without_header_is_refused() -> None:
    with pytest.raises(HipportError, match="not a hand edit"):
        parse_patch(b"--- a\n+++ b\n@@ -1 +1 @@\n-1\n+2\n", "a.patch")


@pytest.mark.parametrize(
    ("base", "edited"),
    [
        (b"a\nb\nc\n", b"a\nB\nc\nd\n"),
        (b"a\nb", b"a\nb\n"),
        (b"a\nb\n", b"a\nb"),
        (b"a\r\nb\r\n", b"a\r\nB\r\n"),
        (b"x\n" * 40, b"x\n" * 20 + b"y\n" + b"x\n" * 20),
        (b"\xe9\n", b"\xe8\n"),
    ],
)
@pytest.mark.parametrize("tool", ["git", "patch"])
def test_other_tools_read_our_patches(tmp_path: Path, base: bytes, edited: bytes, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    (tmp_path / "dir").mkdir()
    target = tmp_path / "dir/a b.cu"
    target.write_bytes(base)
    file = tmp_path / "edit.patch"
    file.write_bytes(dump_patch(make_patch("dir/a b.cu", base, edited)))
    command = ["git", "apply", str(file)] if tool == "git" else ["patch", "--binary", "-p1", "-i", str(file)]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert target.read_bytes() == edited


def test_patches_are_found_by_output_path(tmp_path: Path) -> None:
    file = patch_path(tmp_path, "csrc/a.cu")
    file.parent.mkdir()
    file.write_bytes(b"")
    (tmp_path / "note.md").write_bytes(b"")
    assert find_patches(tmp_path) == {"csrc/a.cu": tmp_path / "csrc/a.cu.patch"}
    assert find_patches(tmp_path / "absent") == {}


BASE = b"1\n2\n3\n4\n5\n6\n7\n"


def test_merge_of_changes_apart() -> None:
    found = merge(BASE, BASE.replace(b"2", b"two"), BASE.replace(b"6", b"six"))
    assert found is not None
    assert (found.conflicts, found.data) == (0, b"1\ntwo\n3\n4\n5\nsix\n7\n")


def test_merge_of_the_same_change_is_clean() -> None:
    both = BASE.replace(b"2", b"two")
    found = merge(BASE, both, both)
    assert found is not None
    assert (found.conflicts, found.data) == (0, both)


def test_merge_of_two_changes_of_a_line_is_a_conflict() -> None:
    found = merge(BASE, BASE.replace(b"2", b"two"), BASE.replace(b"2", b"zwei"))
    assert found is not None
    assert found.conflicts == 1
    assert b"<<<<<<< your edit\ntwo\n" in found.data
    assert b"zwei\n>>>>>>> new translation\n" in found.data


def test_binary_content_is_not_merged() -> None:
    assert merge(b"a\0b", b"a\0c", b"a\0d") is None


def test_merge_keeps_carriage_returns() -> None:
    base = BASE.replace(b"\n", b"\r\n")
    found = merge(base, base.replace(b"2", b"two"), base.replace(b"6", b"six"))
    assert found is not None
    assert found.data == b"1\r\ntwo\r\n3\r\n4\r\n5\r\nsix\r\n7\r\n"


def test_merge_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(HipportError, match="needs git"):
        merge(b"1\n", b"2\n", b"3\n")
