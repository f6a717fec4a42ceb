"""The tree follows the pin, and a person's changes survive."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_index import FILES, publish

from hipport.cli.main import main
from hipport.core import HipportError
from hipport.upstream import Pin, read_pins, sync
from hipport.upstream.sync import add, changed_files, read_state

NEW = {**FILES, "csrc/a.cu": "// version 2\n", "csrc/new.cu": "// new\n"}
del NEW["csrc/deep/b.h"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "upstream_cuda"


def files_in(root: Path) -> set[str]:
    found = (p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
    return {path for path in found if not path.startswith(".hipport/")}


def snapshot(root: Path) -> dict[str, tuple[int, bytes]]:
    return {p.as_posix(): (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(root.rglob("*")) if p.is_file()}


def test_first_sync_then_nothing_to_do(root: Path, published: Pin) -> None:
    result = sync(root, published)
    assert (result.n_files, result.written, result.groups) == (3, 3, ("main",))
    assert files_in(root) == {"LICENSE", "csrc/a.cu", "csrc/deep/b.h"}
    before = snapshot(root)
    again = sync(root, published)
    assert (again.written, again.removed) == (0, 0)
    assert snapshot(root) == before


def test_groups_add_up_and_stay(root: Path, published: Pin) -> None:
    sync(root, published)
    assert sync(root, published, ("tests",)).written == 1
    assert "tests/t.py" in files_in(root)
    assert sync(root, published).groups == ("main", "tests")
    with pytest.raises(HipportError, match="no group 'anchors'"):
        sync(root, published, ("anchors",))


def test_missing_files_come_back(root: Path, published: Pin) -> None:
    sync(root, published)
    (root / "csrc/a.cu").unlink()
    assert sync(root, published, offline=True).written == 1
    assert (root / "csrc/a.cu").read_text() == FILES["csrc/a.cu"]


def test_changed_files_are_kept_unless_forced(root: Path, published: Pin) -> None:
    sync(root, published)
    (root / "csrc/a.cu").write_text("mine")
    (root / "LICENSE").unlink()
    for groups in ((), ("tests",)):
        result = sync(root, published, groups)
        assert result.kept == ("csrc/a.cu",)
        assert (root / "csrc/a.cu").read_text() == "mine"
    assert (root / "LICENSE").exists()
    state = read_state(root, published)
    assert state is not None
    assert changed_files(root, state) == ["csrc/a.cu"]
    sync(root, published, force=True)
    assert (root / "csrc/a.cu").read_text() == FILES["csrc/a.cu"]


def test_new_version_replaces_and_removes_what_was_not_changed(
    root: Path, published: Pin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(root, published)
    (root / "csrc/notes.txt").write_text("a file of my own")
    newer = publish(tmp_path, monkeypatch, "2.0", NEW)
    result = sync(root, newer)
    assert (result.written, result.removed) == (2, 1)
    assert files_in(root) == {"LICENSE", "csrc/a.cu", "csrc/new.cu", "csrc/notes.txt"}
    assert not (root / "csrc/deep").exists()


def test_new_version_is_refused_while_changed_files_are_in_the_way(
    root: Path, published: Pin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(root, published)
    (root / "csrc/a.cu").write_text("mine")
    newer = publish(tmp_path, monkeypatch, "2.0", NEW)
    before = snapshot(root)
    with pytest.raises(HipportError, match=r"1 changed files .* csrc/a\.cu") as caught:
        sync(root, newer)
    assert "--force" in caught.value.next_step
    assert snapshot(root) == before
    sync(root, newer, force=True)
    assert (root / "csrc/a.cu").read_text() == NEW["csrc/a.cu"]


def test_a_file_that_was_there_before_is_not_overwritten(root: Path, published: Pin) -> None:
    (root / "csrc").mkdir(parents=True)
    (root / "csrc/a.cu").write_text("here before")
    with pytest.raises(HipportError, match=r"csrc/a\.cu"):
        sync(root, published)
    assert (root / "csrc/a.cu").read_text() == "here before"
    assert files_in(root) == {"csrc/a.cu"}


def test_a_linked_folder_does_not_lead_the_files_elsewhere(root: Path, published: Pin, tmp_path: Path) -> None:
    root.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (root / "csrc").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(HipportError, match="in the way"):
        sync(root, published)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_an_interrupted_sync_is_completed_by_the_next(
    root: Path, published: Pin, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    real, moved = os.replace, []

    def stop_after_two(source: str, target: str) -> None:
        if str(target).startswith(str(root)):
            moved.append(target)
            if len(moved) == 3:
                raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "replace", stop_after_two)
    with pytest.raises(KeyboardInterrupt):
        sync(root, published)
    monkeypatch.setattr(os, "replace", real)
    assert len(files_in(root)) == 2
    sync(root, published)
    assert len(files_in(root)) == 3
    assert not list((root / ".hipport/upstream").glob("staging-*"))


def test_damaged_state_is_taken_as_none(root: Path, published: Pin) -> None:
    sync(root, published)
    (root / ".hipport/upstream/kernels.json").write_text("{")
    assert sync(root, published).written == 0  # the files are right; the record is written anew
    assert read_state(root, published) is not None


def test_unwritable_tree(root: Path, published: Pin, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    (root / ".hipport").write_text("a file where the folder must be")
    with pytest.raises(HipportError, match="cannot write"):
        sync(root, published)


def test_add_pins_what_it_fetched(root: Path, published: Pin) -> None:
    result = add(root, "Kernels", "1.0")
    assert result.pin.folder == "kernels-1.0"
    assert (root / "kernels-1.0/other/unlisted.txt").exists()
    (pin,) = read_pins(root)
    assert (pin.name, pin.sha256, pin.license) == ("Kernels", published.sha256, "BSD-3-Clause")
    assert sync(root, pin, offline=True).written == 0
    with pytest.raises(HipportError, match="pinned already"):
        add(root, "kernels", "1.0.0")


def test_add_pins_nothing_when_it_fails(root: Path, published: Pin) -> None:
    with pytest.raises(HipportError, match="kernels 9 is not on the configured index"):
        add(root, "kernels", "9")
    assert not (root / "upstream.toml").exists()


def pin_file(root: Path, published: Pin, extra: str = "") -> None:
    root.mkdir(exist_ok=True)
    (root / "upstream.toml").write_text(
        f'[[source]]\nname = "kernels"\nversion = "1.0"\nsha256 = "{published.sha256}"\nlicense = "MIT"\nfolder = "."\n'
        f'{extra}[source.groups]\nmain = ["csrc"]\ntests = ["tests/"]\n'
    )


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["upstream", *arguments])
    code = caught.value.code
    assert isinstance(code, int)
    return code


def test_commands(root: Path, published: Pin, capsys: pytest.CaptureFixture[str]) -> None:
    pin_file(root, published)
    assert run("sync", "--root", str(root), "--group", "tests") == 0
    assert "3 files" in capsys.readouterr().out
    assert run("show", "--root", str(root), "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["n_files"], row["unpacked_groups"], row["changed_files"]) == (3, ["main", "tests"], [])
    assert run("sync", "--root", str(root), "-q") == 0
    assert capsys.readouterr().out == ""
    assert run("show", "--root", str(root)) == 0
    assert "unpacked 3 files of main, tests" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("sync", "--group", "nope"), "no group 'nope'"),
        (("sync", "numpy"), "pins no numpy"),
        (("add", "numpy"), "no exact version"),
        (("add", "numpy==1.*"), "no exact version"),
        (("add", "numpy>=1,<2"), "no exact version"),
        (("add", "not a name"), "is not NAME==VERSION"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], message: str, root: Path, published: Pin, capsys: pytest.CaptureFixture[str]
) -> None:
    pin_file(root, published)
    assert run(*arguments, "--root", str(root)) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) <= 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no [[source]]"),
        ("[[source]\n", "upstream.toml: "),
        ('[[source]]\nname = "x"\n', "version is missing"),
        ("SHA", "sha256 is not 64 hexadecimal digits"),
        ("FOLDER", "leaves the tree"),
        ("GROUP", "no group 'main'"),
        ("PATH", "is not a list of relative paths"),
    ],
)
def test_bad_pin_files(text: str, message: str, root: Path, published: Pin) -> None:
    pin_file(root, published)
    path = root / "upstream.toml"
    good = path.read_text()
    replaced = {
        "SHA": good.replace(published.sha256, "abc"),
        "FOLDER": good.replace('folder = "."', 'folder = "../x"'),
        "GROUP": good.replace("main =", "other ="),
        "PATH": good.replace('["csrc"]', '["/etc"]'),
    }
    path.write_text(replaced.get(text, text))
    with pytest.raises(HipportError) as caught:
        read_pins(root)
    assert message in caught.value.message


def test_committed_pins_are_well_formed() -> None:
    root = Path(__file__).parents[3] / "upstream_cuda"
    pin = next(pin for pin in read_pins(root) if pin.name == "flash-attn")
    assert set(pin.groups) == {"main", "tests", "anchors"}
    assert {"csrc/flash_attn", "csrc/layer_norm", "csrc/fused_dense_lib", "csrc/cutlass/include", "LICENSE"} <= set(
        pin.groups["main"]
    )
    assert pin.folder == "."
