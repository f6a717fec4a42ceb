"""Whole runs over small trees, through the fake engine of conftest."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fake_engine import FakeEngine

from hipport.core import HipportError, TranslateOptions
from hipport.emit.manifest import load_manifest
from hipport.pipeline.run import Outcome, Request, translate_tree

Tree = dict[str, bytes]
SOURCES: Tree = {
    "a.cu": b"// Copyright 2024 A. Author\ncudaMalloc(&p, 4);\n",
    "lib/b.cuh": b"#pragma once\nint f();\n",
    "lib/c.cpp": b"void g() { cudaFree(p); wgmma; }\n",
    "README.md": b"cudaMalloc in prose stays\n",
    "LICENSE": b"SPDX-License-Identifier: MIT\n",
}


def lay(root: Path, files: Tree) -> Path:
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def read(root: Path) -> Tree:
    """Every file of an output tree besides hipport's own state."""
    return {
        p.relative_to(root).as_posix(): p.read_bytes()
        for p in sorted(root.rglob("*"))
        if p.is_file() and ".hipport" not in p.parts and not p.name.startswith("manifest")
    }


@pytest.fixture
def src(tmp_path: Path) -> Path:
    return lay(tmp_path / "src", SOURCES)


@pytest.fixture
def run(engine: FakeEngine, src: Path, tmp_path: Path) -> Callable[..., Outcome]:
    def translate(*inputs: Path, **changes: object) -> Outcome:
        request = Request(inputs or (src,), tmp_path / "out")
        return translate_tree(replace(request, **changes))  # type: ignore[arg-type]

    return translate


def test_the_output_mirrors_the_input(run: Callable[..., Outcome], tmp_path: Path) -> None:
    outcome = run()
    assert read(tmp_path / "out") == {
        **SOURCES,
        "a.cu": b"// Copyright 2024 A. Author\nhipMalloc(&p, 4);\n",
        "lib/c.cpp": b"void g() { hipFree(p); wgmma; }\n",
    }
    states = {f.path: f.state.value for f in outcome.manifest.files}
    assert states == {
        "LICENSE": "copied",
        "README.md": "copied",
        "a.cu": "translated",
        "lib/b.cuh": "unchanged",
        "lib/c.cpp": "translated",
    }
    assert outcome.manifest.licence_files == ("LICENSE",)
    assert [(d.id, d.path, d.line) for d in outcome.manifest.all_diagnostics()] == [("HP500", "lib/c.cpp", 1)]


def test_a_second_run_changes_nothing_and_asks_nobody(run: Callable[..., Outcome], engine: FakeEngine) -> None:
    run()
    engine.calls.clear()
    again = run()
    assert again.changes == ()
    assert engine.calls == []


def test_only_what_changed_is_translated(run: Callable[..., Outcome], engine: FakeEngine, src: Path) -> None:
    run()
    engine.calls.clear()
    (src / "a.cu").write_bytes(b"cudaFree(q);\n")
    outcome = run()
    assert engine.calls == ["a.cu"]
    assert outcome.changes == ("a.cu", "manifest-summary.json", "manifest.json")


@pytest.mark.parametrize("options", [TranslateOptions(targets=("gfx1100",)), TranslateOptions(rocm=(7, 0))])
def test_other_options_translate_anew(
    run: Callable[..., Outcome], engine: FakeEngine, options: TranslateOptions
) -> None:
    run()
    engine.calls.clear()
    run(options=options)
    assert sorted(engine.calls) == ["a.cu", "lib/b.cuh", "lib/c.cpp"]


def test_other_rules_translate_anew(run: Callable[..., Outcome], engine: FakeEngine, tmp_path: Path) -> None:
    run()
    engine.replacement = b"HIP"
    run()
    assert b"HIPMalloc" in (tmp_path / "out/a.cu").read_bytes()


def test_a_new_macro_of_the_project_translates_anew(run: Callable[..., Outcome], engine: FakeEngine, src: Path) -> None:
    run()
    engine.calls.clear()
    (src / "lib/b.cuh").write_bytes(b"#define CUDA_CHECK(x) x\n")
    run()
    assert sorted(engine.calls) == ["a.cu", "lib/b.cuh", "lib/c.cpp"]


def test_lost_outputs_come_back_from_the_cache(run: Callable[..., Outcome], engine: FakeEngine, tmp_path: Path) -> None:
    run()
    engine.calls.clear()
    before = read(tmp_path / "out")
    (tmp_path / "out/a.cu").unlink()
    run()
    assert read(tmp_path / "out") == before
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            path.unlink()
    run()
    assert read(tmp_path / "out") == before
    assert engine.calls == []


def test_a_damaged_cache_costs_time_only(run: Callable[..., Outcome], engine: FakeEngine, tmp_path: Path) -> None:
    run()
    (pack,) = (tmp_path / "cache/translate").iterdir()
    pack.write_bytes(pack.read_bytes()[:-30])
    (tmp_path / "out/a.cu").unlink()
    (tmp_path / "out/lib/c.cpp").unlink()
    run()
    assert (tmp_path / "out/a.cu").read_bytes() == b"// Copyright 2024 A. Author\nhipMalloc(&p, 4);\n"
    assert (tmp_path / "out/lib/c.cpp").read_bytes() == b"void g() { hipFree(p); wgmma; }\n"


def test_outputs_of_removed_inputs_go(run: Callable[..., Outcome], src: Path, tmp_path: Path) -> None:
    run()
    (src / "lib/b.cuh").unlink()
    (src / "lib/c.cpp").unlink()
    outcome = run()
    assert outcome.removed == ("lib/b.cuh", "lib/c.cpp")
    assert not (tmp_path / "out/lib").exists()


def test_files_of_others_stay(run: Callable[..., Outcome], tmp_path: Path) -> None:
    lay(tmp_path / "out", {"notes.txt": b"mine", "a.cu": b"mine too"})
    outcome = run()
    assert (tmp_path / "out/notes.txt").read_bytes() == b"mine"
    assert (tmp_path / "out/a.cu").read_bytes() == b"mine too"
    assert [(d.id, d.path) for d in outcome.manifest.diagnostics] == [("HP936", "a.cu")]
    outcome = run(force=True)
    assert (tmp_path / "out/a.cu").read_bytes().endswith(b"hipMalloc(&p, 4);\n")
    (backup,) = outcome.backups
    assert (tmp_path / "out" / backup).read_bytes() == b"mine too"


def test_hostile_bytes_survive(run: Callable[..., Outcome], tmp_path: Path) -> None:
    texts = {
        "crlf.cu": b"cudaFree(p);\r\nint x;\r\n",
        "bom.cu": b"\xef\xbb\xbfcudaFree(p);\n",
        "latin1.cu": b"// caf\xe9\ncudaFree(p);\n",
        "tabs.cu": b"\tcudaFree(p);",
        "empty.cu": b"",
    }
    lay(tmp_path / "odd", texts)
    run(tmp_path / "odd")
    expected = {n: t.replace(b"cudaFree", b"hipFree") for n, t in texts.items()}
    assert read(tmp_path / "out") == expected


def test_names_with_spaces_and_bytes_that_are_not_text(run: Callable[..., Outcome], tmp_path: Path) -> None:
    name = os.fsdecode(b"d ir/caf\xe9 \xc3\xbc.cu")
    lay(tmp_path / "odd", {name: b"cudaFree(p);\n"})
    run(tmp_path / "odd")
    assert read(tmp_path / "out") == {name: b"hipFree(p);\n"}
    assert load_manifest(tmp_path / "out").files[0].path == name
    assert run(tmp_path / "odd").changes == ()


def test_the_manifest_is_the_same_wherever_the_tree_lies(engine: FakeEngine, tmp_path: Path) -> None:
    seen = []
    for place in ("one", "elsewhere/two"):
        src = lay(tmp_path / place / "src", SOURCES)
        translate_tree(Request((src,), tmp_path / place / "out"))
        seen.append([(tmp_path / place / "out" / n).read_bytes() for n in ("manifest.json", "manifest-summary.json")])
    assert seen[0] == seen[1]
    assert str(tmp_path).encode() not in b"".join(seen[0])


def test_the_executable_bit_is_kept(run: Callable[..., Outcome], src: Path, tmp_path: Path) -> None:
    (src / "run.sh").write_bytes(b"#!/bin/sh\n")
    (src / "run.sh").chmod(0o755)
    run()
    assert os.access(tmp_path / "out/run.sh", os.X_OK)
    assert not os.access(tmp_path / "out/a.cu", os.X_OK)


def test_one_file_and_then_its_neighbour(run: Callable[..., Outcome], src: Path, tmp_path: Path) -> None:
    run(src / "a.cu")
    outcome = run(src / "README.md")
    assert set(read(tmp_path / "out")) == {"a.cu", "README.md"}
    assert [f.path for f in outcome.manifest.files] == ["README.md", "a.cu"]


def test_part_of_a_tree_leaves_the_rest(run: Callable[..., Outcome], engine: FakeEngine, src: Path) -> None:
    run()
    engine.calls.clear()
    (src / "a.cu").unlink()
    outcome = run(src / "lib", root=src)
    assert outcome.removed == ()
    assert "a.cu" in {f.path for f in outcome.manifest.files}


def test_hipport_headers_are_copied_and_leave_again(
    run: Callable[..., Outcome], src: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = lay(
        tmp_path / "headers",
        {"hipport/warp.h": b'#include "lane.h"\n', "hipport/lane.h": b"// lanes\n", "hipport/other.h": b"// other\n"},
    )
    monkeypatch.setattr("hipport.emit.support.include_root", lambda: headers)
    (src / "w.cu").write_bytes(b"#include <hipport/warp.h>\n#include <hipport/absent.h>\ncudaFree(p);\n")
    outcome = run()
    assert (tmp_path / "out/include/hipport/warp.h").read_bytes() == b'#include "lane.h"\n'
    assert (tmp_path / "out/include/hipport/lane.h").exists()
    assert not (tmp_path / "out/include/hipport/other.h").exists()
    assert [(d.id, d.subject) for d in outcome.manifest.diagnostics] == [("HP944", "hipport/absent.h")]
    (src / "w.cu").unlink()
    run()
    assert not (tmp_path / "out/include").exists()


def test_rename(run: Callable[..., Outcome], tmp_path: Path) -> None:
    run()
    run(options=TranslateOptions(rename=True))
    assert sorted(read(tmp_path / "out")) == ["LICENSE", "README.md", "a.hip", "lib/b.cuh", "lib/c.cpp"]


def test_renames_that_collide_are_refused(run: Callable[..., Outcome], src: Path, tmp_path: Path) -> None:
    (src / "a.hip").write_bytes(b"\n")
    with pytest.raises(HipportError, match=r"a\.hip"):
        run(options=TranslateOptions(rename=True))
    assert not (tmp_path / "out").exists()


def test_planning_only_writes_nothing(run: Callable[..., Outcome], src: Path, tmp_path: Path) -> None:
    outcome = run(write=False)
    assert "a.cu" in outcome.changes
    assert outcome.content("a.cu") == b"// Copyright 2024 A. Author\nhipMalloc(&p, 4);\n"
    assert [p.name for p in tmp_path.iterdir()] == ["src"]
    run()
    assert run(write=False).changes == ()
    (src / "lib/c.cpp").write_bytes(b"int x;\n")
    assert "lib/c.cpp" in run(write=False).changes


# --- bad input ----------------------------------------------------------------------------------------------------


def test_unreadable_file(
    run: Callable[..., Outcome], src: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    before = read(tmp_path / "out")
    read_bytes = Path.read_bytes

    def refuse(path: Path) -> bytes:
        if path == src / "a.cu":
            raise PermissionError(errno.EACCES, "Permission denied")
        return read_bytes(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", refuse)
        outcome = run()
    assert [(d.id, d.path) for d in outcome.manifest.diagnostics] == [("HP930", "a.cu")]
    assert read(tmp_path / "out") == before  # not removed as if the input were gone


def test_large_files_are_copied_and_said(run: Callable[..., Outcome], tmp_path: Path, engine: FakeEngine) -> None:
    big = b"// data\n" * 6_500_000 + b"cudaFree(p);\n"  # 52 MB
    lay(tmp_path / "odd", {"big.cu": big, "big.bin": big, "small.cu": b"cudaFree(p);\n"})
    outcome = run(tmp_path / "odd")
    assert engine.calls == ["small.cu"]
    assert (tmp_path / "out/big.cu").read_bytes() == big
    assert (tmp_path / "out/big.bin").read_bytes() == big
    assert [(d.id, d.path) for d in outcome.manifest.all_diagnostics()] == [("HP933", "big.cu")]
    states = {f.path: f.state.value for f in outcome.manifest.files}
    assert states == {"big.bin": "copied", "big.cu": "failed", "small.cu": "translated"}
    assert run(tmp_path / "odd").changes == ()


def test_a_larger_limit_translates_a_large_file_after_all(run: Callable[..., Outcome], tmp_path: Path) -> None:
    lay(tmp_path / "odd", {"big.cu": b"// data\n" * 1000 + b"cudaFree(p);\n"})
    states = [run(tmp_path / "odd", max_bytes=n).manifest.files[0].state.value for n in (4000, 1 << 20)]
    assert states == ["failed", "translated"]


def test_missing_input(run: Callable[..., Outcome], tmp_path: Path) -> None:
    with pytest.raises(HipportError, match="no such file"):
        run(tmp_path / "absent")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("out", [".", "src", "src/../src"])
def test_output_around_or_on_the_input_is_refused(run: Callable[..., Outcome], tmp_path: Path, out: str) -> None:
    with pytest.raises(HipportError, match="the output"):
        run(out=tmp_path / out)
    assert sorted(p.name for p in (tmp_path / "src").iterdir()) == ["LICENSE", "README.md", "a.cu", "lib"]


def test_output_inside_the_input_is_not_translated_again(run: Callable[..., Outcome], src: Path) -> None:
    run(out=src / "hip")
    again = run(out=src / "hip")
    assert again.changes == ()
    assert not (src / "hip/hip").exists()


def test_another_tree_does_not_replace_this_one(run: Callable[..., Outcome], tmp_path: Path) -> None:
    run()
    lay(tmp_path / "other", {"z.cu": b"\n"})
    with pytest.raises(HipportError, match="holds the translation of 'src'"):
        run(tmp_path / "other")
    assert "a.cu" in read(tmp_path / "out")
    run(tmp_path / "other", force=True)
    assert read(tmp_path / "out") == {"z.cu": b"\n"}


def test_a_tree_elsewhere_does_not_mix_with_this_one(
    run: Callable[..., Outcome], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run()
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    lay(elsewhere, {"z.cu": b"cudaFree(p);\n"})
    with pytest.raises(HipportError, match="holds the translation of 'src'"):
        run(inputs=(elsewhere / "z.cu",))
    looked = run(inputs=(elsewhere / "z.cu",), write=False)
    assert [record.path for record in looked.manifest.files if record.kind == "source"] == ["z.cu"]


def test_output_is_a_file(run: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(HipportError, match="is a file"):
        run()


def test_a_folder_in_the_way_of_an_output(run: Callable[..., Outcome], tmp_path: Path) -> None:
    (tmp_path / "out/a.cu").mkdir(parents=True)
    with pytest.raises(HipportError, match="a folder is in the way"):
        run()
    assert not list((tmp_path / "out/a.cu").iterdir())
    assert not (tmp_path / "out/LICENSE").exists()


def test_a_file_in_the_way_of_a_folder(run: Callable[..., Outcome], tmp_path: Path) -> None:
    lay(tmp_path / "out", {"lib": b"a file"})
    with pytest.raises(HipportError, match="cannot write"):
        run()
    assert read(tmp_path / "out") == {"lib": b"a file"}


def test_a_manifest_that_is_not_ours(run: Callable[..., Outcome], tmp_path: Path) -> None:
    lay(tmp_path / "out", {"manifest.json": b'{"name": "web app"}'})
    with pytest.raises(HipportError, match="not a manifest of hipport"):
        run()
    assert (tmp_path / "out/manifest.json").read_bytes() == b'{"name": "web app"}'


def test_an_input_named_like_the_manifest(run: Callable[..., Outcome], src: Path, tmp_path: Path) -> None:
    (src / "manifest.json").write_bytes(b'{"name": "web app"}')
    outcome = run()
    assert [(d.id, d.path) for d in outcome.manifest.diagnostics] == [("HP935", "manifest.json")]
    assert json.loads((tmp_path / "out/manifest.json").read_bytes())["schema"] == 1


def test_a_cache_that_cannot_be_written_costs_time_only(
    run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "file/cache"))
    outcome = run()
    assert "cannot write" in outcome.cache_problem
    assert b"hipMalloc" in (tmp_path / "out/a.cu").read_bytes()
    assert run().cache_problem == ""
