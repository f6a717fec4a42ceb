from __future__ import annotations

import os
from pathlib import Path

import pytest

from hipport.core import HipportError
from hipport.pipeline.globs import matcher
from hipport.pipeline.walk import Inputs, find_inputs, tree_root


def walk(root: Path, *exclude: str, **options: object) -> Inputs:
    return find_inputs((root,), root, matcher(exclude), root / "out", **options)  # type: ignore[arg-type]


def touch(path: Path, data: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_finds_every_file_once_and_sorted(tmp_path: Path) -> None:
    for name in ("b.cu", "a/z.h", "a/b c/ü.cu"):
        touch(tmp_path / name, b"x")
    assert [f.path for f in walk(tmp_path).files] == ["a/b c/ü.cu", "a/z.h", "b.cu"]


def test_name_that_is_not_utf8(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/caf\xe9.cu"
    Path(os.fsdecode(raw)).write_bytes(b"x")
    (found,) = walk(tmp_path).files
    assert os.fsencode(found.path) == b"caf\xe9.cu"


def test_leaves_out_version_control_the_output_and_other_output_trees(tmp_path: Path) -> None:
    touch(tmp_path / ".git/config")
    touch(tmp_path / "out/a.cu")
    touch(tmp_path / "other/manifest.json")
    touch(tmp_path / "other/.hipport/lock")
    touch(tmp_path / "other/b.cu")
    touch(tmp_path / "data/manifest.json")  # only its name is the same
    assert [f.path for f in walk(tmp_path).files] == ["data/manifest.json"]


def test_links_are_followed_but_not_in_circles(tmp_path: Path) -> None:
    touch(tmp_path / "a/x.cu")
    (tmp_path / "a/self").symlink_to(tmp_path / "a")
    (tmp_path / "a/up").symlink_to(tmp_path)
    (tmp_path / "dangling.cu").symlink_to("nowhere.cu")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "good.cu").symlink_to("a/x.cu")
    found = walk(tmp_path)
    assert [f.path for f in found.files] == ["a/x.cu", "good.cu"]
    assert [(d.id, d.path) for d in found.diagnostics] == [
        ("HP932", "a/self"),
        ("HP932", "a/up"),
        ("HP932", "dangling.cu"),
        ("HP932", "one"),
        ("HP932", "two"),
    ]


def test_in_place_follows_no_link(tmp_path: Path) -> None:
    touch(tmp_path / "x.cu")
    (tmp_path / "link.cu").symlink_to("x.cu")
    found = walk(tmp_path, follow_links=False)
    assert [f.path for f in found.files] == ["x.cu"]
    assert [d.severity.value for d in found.diagnostics] == ["note"]


def test_a_pipe_is_reported_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cu")
    found = walk(tmp_path)
    assert not found.files
    assert [(d.id, d.path) for d in found.diagnostics] == [("HP931", "pipe.cu")]


def test_a_folder_named_like_a_source(tmp_path: Path) -> None:
    touch(tmp_path / "x.cu/inner.cu")
    assert [f.path for f in walk(tmp_path).files] == ["x.cu/inner.cu"]


def test_unreadable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path / "a.cu")
    touch(tmp_path / "closed/b.cu")
    listdir = os.listdir

    def refuse(path: str) -> list[str]:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return listdir(path)

    monkeypatch.setattr("os.listdir", refuse)
    found = walk(tmp_path)
    assert [f.path for f in found.files] == ["a.cu"]
    assert [(d.id, d.path) for d in found.diagnostics] == [("HP930", "closed")]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("third_party/**", ["a.cu", "deep/third_party/y.cu"]),
        ("third_party", ["a.cu"]),
        ("third_party/", ["a.cu"]),
        ("/third_party", ["a.cu", "deep/third_party/y.cu"]),
        ("/y.cu", ["a.cu", "deep/third_party/y.cu", "third_party/x.cu"]),
        ("*.cu", []),
        ("deep/*.cu", ["a.cu", "deep/third_party/y.cu", "third_party/x.cu"]),
        ("**/y.cu", ["a.cu", "third_party/x.cu"]),
        ("?.cu", []),
    ],
)
def test_excludes(tmp_path: Path, pattern: str, left: list[str]) -> None:
    for name in ("a.cu", "third_party/x.cu", "deep/third_party/y.cu"):
        touch(tmp_path / name)
    assert [f.path for f in walk(tmp_path, pattern).files] == left


def test_root_of_a_folder_a_file_and_several(tmp_path: Path) -> None:
    one = touch(tmp_path / "p/a/one.cu")
    touch(tmp_path / "p/b/two.cu")
    assert tree_root((tmp_path / "p",), None) == tmp_path / "p"
    assert tree_root((one,), None) == tmp_path / "p/a"
    assert tree_root((tmp_path / "p/a", tmp_path / "p/b"), None) == tmp_path / "p"
    assert tree_root((one,), tmp_path) == tmp_path


def test_root_errors(tmp_path: Path) -> None:
    with pytest.raises(HipportError, match="no such file"):
        tree_root((tmp_path / "absent",), None)
    (tmp_path / "r").mkdir()
    with pytest.raises(HipportError, match="not below"):
        tree_root((tmp_path,), tmp_path / "r")
