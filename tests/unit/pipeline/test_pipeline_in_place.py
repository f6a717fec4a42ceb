from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fake_engine import FakeEngine

from hipport.core import HipportError, TranslateOptions
from hipport.pipeline.run import Outcome, Request, translate_tree


def git(folder: Path, *arguments: str) -> None:
    identity = {
        "GIT_AUTHOR_NAME": "t",
        "GIT_AUTHOR_EMAIL": "t@t",
        "GIT_COMMITTER_NAME": "t",
        "GIT_COMMITTER_EMAIL": "t@t",
    }
    subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, env={**os.environ, **identity}
    )


@pytest.fixture
def repository(engine: FakeEngine, tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.cu").write_bytes(b"cudaFree(p);\n")
    (folder / "sub/b.cu").write_bytes(b"cudaMalloc(p);\n")
    (folder / "plain.h").write_bytes(b"int x;\n")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "start")
    return folder


def in_place(*inputs: Path, **changes: object) -> Outcome:
    return translate_tree(Request(inputs, Path("unused"), in_place=True, **changes))  # type: ignore[arg-type]


def test_only_translated_files_change(repository: Path) -> None:
    outcome = in_place(repository)
    assert (repository / "a.cu").read_bytes() == b"hipFree(p);\n"
    assert [p for p in outcome.changes if not p.startswith(".hipport/")] == ["a.cu", "sub/b.cu"]


def test_again_changes_nothing_and_keeps_the_record(repository: Path) -> None:
    first = in_place(repository)
    second = in_place(repository)
    assert second.changes == ()
    assert second.manifest.files == first.manifest.files
    assert second.manifest.files[0].edits


@pytest.mark.parametrize("state", ["modified", "untracked", "ignored", "no repository"])
def test_what_git_cannot_bring_back_is_refused(repository: Path, state: str) -> None:
    new = repository / "new.cu"
    if state == "modified":
        (repository / "a.cu").write_bytes(b"cudaFree(q);\n")
    elif state == "untracked":
        new.write_bytes(b"cudaFree(q);\n")
    elif state == "ignored":
        (repository / ".git/info/exclude").write_text("new.cu\n")
        new.write_bytes(b"cudaFree(q);\n")
    else:
        (repository / ".git").rename(repository.parent / "elsewhere")
    before = {p: p.read_bytes() for p in repository.rglob("*.cu")}
    with pytest.raises(HipportError, match="in-place"):
        in_place(repository)
    assert {p: p.read_bytes() for p in repository.rglob("*.cu")} == before
    in_place(repository, force=True)
    assert b"cuda" not in (repository / "a.cu").read_bytes()


def test_unrelated_changes_do_not_matter(repository: Path) -> None:
    (repository / "plain.h").write_bytes(b"int y;\n")
    (repository / "note.txt").write_bytes(b"untracked, but nothing to translate\n")
    in_place(repository)
    assert (repository / "a.cu").read_bytes() == b"hipFree(p);\n"


def test_a_subfolder_and_a_single_file(repository: Path) -> None:
    in_place(repository / "sub")
    assert (repository / "sub/b.cu").read_bytes() == b"hipMalloc(p);\n"
    assert (repository / "a.cu").read_bytes() == b"cudaFree(p);\n"
    in_place(repository / "a.cu", root=repository)
    assert (repository / "a.cu").read_bytes() == b"hipFree(p);\n"


def test_rename_leaves_no_old_name(repository: Path) -> None:
    in_place(repository, options=TranslateOptions(rename=True))
    assert sorted(p.name for p in repository.glob("*.*")) == [".git", ".hipport", "a.hip", "plain.h"]
    in_place(repository, options=TranslateOptions(rename=True))
    assert (repository / "a.hip").read_bytes() == b"hipFree(p);\n"


def test_planning_needs_no_git(repository: Path) -> None:
    (repository / ".git").rename(repository.parent / "elsewhere")
    assert "a.cu" in in_place(repository, write=False).changes
