"""Hand edits survive translations, and nothing that a person wrote is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fake_engine import FakeEngine

from hipport.core import HipportError, TranslateOptions
from hipport.pipeline.edits import EditedTree
from hipport.pipeline.run import Outcome, Request, translate_tree

SOURCE = b"""\
int one;
cudaMalloc(&p, 1);
int two;
int three;
int four;
cudaFree(p);
int five;
"""
TRANSLATED = SOURCE.replace(b"cuda", b"hip")


@dataclass
class Project:
    """A source file, its output, and the commands of a session."""

    folder: Path
    engine: FakeEngine

    @property
    def src(self) -> Path:
        return self.folder / "src/a.cu"

    @property
    def out(self) -> Path:
        return self.folder / "out/a.cu"

    @property
    def patch(self) -> Path:
        return self.folder / "patches/a.cu.patch"

    @property
    def conflict(self) -> Path:
        return self.folder / "out/a.cu.conflict"

    def translate(self, **changes: object) -> Outcome:
        return translate_tree(Request((self.folder / "src",), self.folder / "out", **changes))  # type: ignore[arg-type]

    def tree(self) -> EditedTree:
        return EditedTree(self.folder / "out")

    def edit(self, before: bytes, after: bytes) -> None:
        data = self.out.read_bytes()
        assert before in data
        self.out.write_bytes(data.replace(before, after))

    def states(self) -> list[tuple[str, str]]:
        return [(e.path, e.state) for e in self.tree().edits()]

    def lose_cache(self) -> None:
        shutil.rmtree(self.folder / "cache")


@pytest.fixture
def project(engine: FakeEngine, tmp_path: Path) -> Project:
    found = Project(tmp_path, engine)
    found.src.parent.mkdir()
    found.src.write_bytes(SOURCE)
    found.translate()
    return found


def ids(outcome: Outcome) -> list[str]:
    return [f"{d.severity} {d.id}" for d in outcome.manifest.diagnostics]


def test_an_unsaved_edit_is_left_alone(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    outcome = project.translate()
    assert ids(outcome) == ["note HP937"]
    assert b"int 3" in project.out.read_bytes()
    assert project.states() == [("a.cu", "unsaved")]


def test_an_unsaved_edit_of_a_file_that_changed_is_left_alone_loudly(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    edited = project.out.read_bytes()
    project.src.write_bytes(SOURCE.replace(b"five", b"FIVE"))
    outcome = project.translate()
    assert ids(outcome) == ["error HP937"]
    assert project.out.read_bytes() == edited
    project.tree().save()  # against the translation that it was made for
    outcome = project.translate()
    assert ids(outcome) == []
    assert project.out.read_bytes() == TRANSLATED.replace(b"int three", b"int 3").replace(b"five", b"FIVE")


def test_saved_edits_are_replayed_on_a_fresh_output(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    edited = project.out.read_bytes()
    assert project.tree().save() == ["a.cu"]
    assert project.states() == [("a.cu", "saved")]
    assert project.translate().changes == ()
    shutil.rmtree(project.folder / "out")
    project.lose_cache()  # a fresh clone: sources and patches are all there is
    outcome = project.translate()
    assert project.out.read_bytes() == edited
    assert ids(outcome) == []
    (record,) = outcome.manifest.files
    assert record.patch_sha256
    assert record.pristine_sha256 != record.output_sha256


def test_an_edit_is_carried_over_to_a_new_translation(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    project.engine.replacement = b"HIP"
    outcome = project.translate()
    expected = SOURCE.replace(b"cuda", b"HIP").replace(b"int three", b"int 3")
    assert project.out.read_bytes() == expected
    assert outcome.refreshed == ("a.cu",)
    assert ids(outcome) == []
    assert project.translate().changes == ()
    shutil.rmtree(project.folder / "out")  # the refreshed patch fits the new translation, without any cache
    project.lose_cache()
    project.translate()
    assert project.out.read_bytes() == expected


def test_planning_does_not_touch_patches(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    patch = project.patch.read_bytes()
    project.engine.replacement = b"HIP"
    assert project.translate(write=False).refreshed == ("a.cu",)
    assert project.patch.read_bytes() == patch
    assert b"hipMalloc" in project.out.read_bytes()


def conflicting(project: Project) -> Outcome:
    project.edit(b"hipMalloc(&p, 1)", b"hipMalloc(&p, 99)")
    project.tree().save()
    project.engine.replacement = b"HIP"
    return project.translate()


def test_a_conflict_is_written_beside_the_file(project: Project) -> None:
    outcome = conflicting(project)
    assert ids(outcome) == ["error HP938"]
    assert project.out.read_bytes() == SOURCE.replace(b"cuda", b"HIP")
    marked = project.conflict.read_bytes()
    for text in (b"<<<<<<< your edit", b"hipMalloc(&p, 99)", b"HIPMalloc(&p, 1)", b">>>>>>> new translation"):
        assert text in marked
    assert project.states() == [("a.cu", "conflict")]
    assert project.patch.exists()


def test_a_pending_conflict_is_not_overwritten_or_saved(project: Project) -> None:
    conflicting(project)
    project.conflict.write_bytes(b"half resolved")
    assert ids(project.translate()) == ["error HP938"]
    assert project.conflict.read_bytes() == b"half resolved"
    assert project.tree().save() == []
    assert project.patch.exists()


def test_a_conflict_is_resolved(project: Project) -> None:
    conflicting(project)
    resolved = SOURCE.replace(b"cuda", b"HIP").replace(b"HIPMalloc(&p, 1)", b"HIPMalloc(&p, 99)")
    project.conflict.write_bytes(resolved)
    project.conflict.replace(project.out)
    assert project.tree().save() == ["a.cu"]
    outcome = project.translate()
    assert ids(outcome) == []
    assert project.out.read_bytes() == resolved
    assert project.states() == [("a.cu", "saved")]


def test_a_conflict_comes_back_when_its_file_was_deleted(project: Project) -> None:
    conflicting(project)
    marked = project.conflict.read_bytes()
    project.conflict.unlink()
    assert ids(project.translate()) == ["error HP938"]
    assert project.conflict.read_bytes() == marked


def test_conflict_markers_are_not_saved(project: Project) -> None:
    conflicting(project)
    project.conflict.replace(project.out)
    with pytest.raises(HipportError, match="conflict markers"):
        project.tree().save()


def test_without_its_base_an_edit_is_refused_not_guessed(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    project.lose_cache()
    project.engine.replacement = b"HIP"  # other rules: the base cannot be made again
    outcome = project.translate()
    assert ids(outcome) == ["error HP939"]
    assert project.out.read_bytes() == SOURCE.replace(b"cuda", b"HIP")
    assert project.patch.exists()


def test_the_base_is_made_again_by_the_same_rules(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.lose_cache()
    project.tree().save()
    assert b"-int three" in project.patch.read_bytes()


def test_the_base_is_made_again_with_the_old_options(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    project.lose_cache()
    outcome = project.translate(options=TranslateOptions(targets=("gfx1100",)))
    assert ids(outcome) == []
    assert b"int 3" in project.out.read_bytes()


def test_save_refuses_when_the_base_is_gone(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.lose_cache()
    project.src.write_bytes(b"other\n")
    with pytest.raises(HipportError, match="neither in the cache nor"):
        project.tree().save()
    assert b"int 3" in project.out.read_bytes()


def test_force_discards_with_a_backup(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    edited = project.out.read_bytes()
    outcome = project.translate(force=True)
    assert project.out.read_bytes() == TRANSLATED
    assert (project.folder / "out" / outcome.backups[0]).read_bytes() == edited


def test_drop_gives_the_translation_back(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    project.tree().drop(["a.cu"])
    assert project.out.read_bytes() == TRANSLATED
    assert not project.patch.exists()
    assert project.translate().changes == ()


def test_drop_of_unsaved_edits_needs_force(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    with pytest.raises(HipportError, match="not saved"):
        project.tree().drop(["a.cu"])
    project.tree().drop(["a.cu"], force=True)
    assert project.out.read_bytes() == TRANSLATED
    assert len(list((project.folder / "out/.hipport/backup").iterdir())) == 1


def test_undoing_an_edit_and_saving_removes_the_patch(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    project.edit(b"int 3", b"int three")
    assert project.tree().save() == ["a.cu"]
    assert not project.patch.exists()
    assert project.states() == []


def test_drop_ends_a_conflict(project: Project) -> None:
    conflicting(project)
    project.tree().drop(["a.cu"])
    assert not project.conflict.exists()
    assert project.states() == []


def test_apply_replays_without_translating(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    patch = project.patch.read_bytes()
    project.tree().drop(["a.cu"])
    project.patch.write_bytes(patch)  # as if pulled from a colleague
    project.engine.calls.clear()
    plan = project.tree().apply()
    assert plan.changes() == ["a.cu"]
    assert b"int 3" in project.out.read_bytes()
    assert project.engine.calls == []
    assert project.translate().changes == ()


def test_edited_outputs_of_removed_inputs_stay(project: Project) -> None:
    (project.src.parent / "b.cu").write_bytes(b"cudaFree(p);\n")
    project.translate()
    other = project.folder / "out/b.cu"
    other.write_bytes(b"mine\n")
    (project.src.parent / "b.cu").unlink()
    outcome = project.translate()
    assert ids(outcome) == ["warning HP940"]
    assert other.read_bytes() == b"mine\n"
    outcome = project.translate(force=True)
    assert outcome.removed == ("b.cu",)


def test_patches_of_files_that_are_gone_are_named(project: Project) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    (project.patch.parent / "old.cu.patch").write_bytes(project.patch.read_bytes())
    assert ids(project.translate()) == ["warning HP941"]
    assert project.states() == [("a.cu", "saved"), ("old.cu", "lost")]
    project.tree().drop(["old.cu"])
    assert ids(project.translate()) == []


def test_an_edit_that_the_translator_learned_is_said(project: Project) -> None:
    project.out.write_bytes(SOURCE.replace(b"cuda", b"HIP"))
    project.tree().save()
    project.engine.replacement = b"HIP"
    outcome = project.translate()
    assert ids(outcome) == ["warning HP941"]
    assert project.out.read_bytes() == SOURCE.replace(b"cuda", b"HIP")


@pytest.mark.parametrize(
    "damage", [lambda p: p[:-8], lambda p: b"--- a\n+++ b\n", lambda p: p.replace(b"+int 3", b"+int 4")]
)
def test_damaged_patches_are_refused(project: Project, damage: Callable[[bytes], bytes]) -> None:
    project.edit(b"int three", b"int 3")
    project.tree().save()
    project.patch.write_bytes(damage(project.patch.read_bytes()))
    shutil.rmtree(project.folder / "out")
    outcome = project.translate()
    assert ids(outcome) == ["error HP939"]
    assert project.out.read_bytes() == TRANSLATED


def test_binary_edits_are_refused_when_they_would_need_a_merge(project: Project) -> None:
    project.edit(b"int three", b"int \0")
    project.tree().save()
    project.engine.replacement = b"HIP"
    assert ids(project.translate()) == ["error HP939"]


def test_unknown_paths(project: Project) -> None:
    with pytest.raises(HipportError, match=r"nope\.cu is not a file"):
        project.tree().save(["nope.cu"])
    with pytest.raises(HipportError, match=r"no hand edit of nope\.cu"):
        project.tree().drop(["nope.cu"])


def test_edits_of_names_with_spaces_and_crlf(project: Project) -> None:
    (project.src.parent / "my file.cu").write_bytes(b"a\r\ncudaFree(p);\r\nno newline")
    project.translate()
    out = project.folder / "out/my file.cu"
    out.write_bytes(out.read_bytes().replace(b"a\r\n", b"b\r\n").replace(b"no newline", b"none"))
    edited = out.read_bytes()
    project.tree().save()
    shutil.rmtree(project.folder / "out")
    project.translate()
    assert out.read_bytes() == edited
