"""The content-hash cache."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from build_fakes import job

from hipport.build.cache import BuildCache, Compiled, Cost, parse_depfile
from hipport.build.plan import Cut, Job, Pass
from hipport.build.tree import Tree

COST = Cost(1.5, 1 << 20)
OBJECT = Compiled(True, b"\x7fELF...", "a.cu:1:1: warning: w\n", COST)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "inc").mkdir(parents=True)
    (root / "a.cu").write_text("main", encoding="utf-8")
    (root / "inc" / "h.h").write_text("header", encoding="utf-8")
    (tmp_path / "system.h").write_text("system", encoding="utf-8")
    return root


def cache_of(root: Path, identity: str = "clang") -> BuildCache:
    return BuildCache(Tree.read(root), identity, root.parent / "cache")


def stored(root: Path) -> list[str]:
    dependencies = ["a.cu", "inc/h.h", str(root.parent / "system.h")]
    cache_of(root).store(job("a.cu"), OBJECT, dependencies)
    return dependencies


def test_the_same_compilation_is_found(root: Path) -> None:
    assert cache_of(root).look_up(job("a.cu")) is None
    stored(root)
    found = cache_of(root).look_up(job("a.cu"))
    assert found is not None
    assert (found.ok, found.output, found.messages, found.cost) == (True, OBJECT.output, OBJECT.messages, COST)
    assert found.cached


@pytest.mark.parametrize("changed", ["tree/a.cu", "tree/inc/h.h", "system.h"])
def test_a_changed_file_misses_and_its_old_text_hits_again(root: Path, changed: str) -> None:
    stored(root)
    path = root.parent / changed
    old = path.read_text(encoding="utf-8")
    path.write_text(old + " ", encoding="utf-8")
    assert cache_of(root).look_up(job("a.cu")) is None
    path.write_text(old, encoding="utf-8")
    assert cache_of(root).look_up(job("a.cu")) is not None


def test_compiler_flags_and_target_are_part_of_the_key(root: Path) -> None:
    stored(root)
    assert cache_of(root, "another clang").look_up(job("a.cu")) is None
    assert cache_of(root).look_up(job("a.cu", flags=("-O2",))) is None
    assert cache_of(root).look_up(job("a.cu", target="gfx90a")) is None


def test_a_removed_header_misses(root: Path) -> None:
    stored(root)
    (root / "inc" / "h.h").unlink()
    assert cache_of(root).look_up(job("a.cu")) is None


def test_what_was_read_from_a_header_that_changes_meanwhile_is_not_kept(root: Path) -> None:
    """The hash of the header may be from before the edit, what the compiler read from after it."""
    cache = cache_of(root)
    assert cache.look_up(job("a.cu")) is None
    time.sleep(0.02)  # file times advance with the system's clock tick
    (root / "inc" / "h.h").write_text("edited", encoding="utf-8")
    cache.store(job("a.cu"), OBJECT, ["a.cu", "inc/h.h"])
    assert cache_of(root).look_up(job("a.cu")) is None


def test_a_kernel_depends_on_its_bitcode_and_name_alone(root: Path) -> None:
    def kernel(symbol: str, sha256: str) -> Job:
        return replace(job("a.cu"), kind=Pass.KERNEL, cut=Cut(symbol, symbol, sha256, ()))

    cache_of(root).store(kernel("k", "1"), OBJECT, ())
    (root / "a.cu").write_text("another comment", encoding="utf-8")
    assert cache_of(root).look_up(kernel("k", "1")) is not None
    assert cache_of(root).look_up(kernel("k", "2")) is None
    assert cache_of(root).look_up(kernel("l", "1")) is None
    assert cache_of(root).look_up(job("a.cu")) is None
    assert cache_of(root).expected_cost(kernel("k", "2")) == COST
    assert cache_of(root).expected_cost(kernel("l", "1")) is None


def test_what_is_known_about_bytes_is_found_once(root: Path) -> None:
    found: list[int] = []

    def find() -> dict[str, int]:
        found.append(1)
        return {"kernels": len(found)}

    assert cache_of(root).remembered("facts", "ab12", find) == {"kernels": 1}
    assert cache_of(root).remembered("facts", "ab12", find) == {"kernels": 1}
    assert cache_of(root).remembered("facts", "cd34", find) == {"kernels": 2}


def test_a_new_header_that_may_shadow_another_misses(root: Path) -> None:
    stored(root)
    (root / "h.h").write_text("shadow", encoding="utf-8")
    assert cache_of(root).look_up(job("a.cu")) is None


def test_a_new_file_of_another_name_changes_nothing(root: Path) -> None:
    stored(root)
    (root / "other.h").write_text("", encoding="utf-8")
    assert cache_of(root).look_up(job("a.cu")) is not None


def test_an_equal_tree_elsewhere_shares_results(root: Path, tmp_path: Path) -> None:
    dependencies = ["a.cu", "inc/h.h"]
    cache_of(root).store(job("a.cu"), OBJECT, dependencies)
    copy = tmp_path / "copy"
    (copy / "inc").mkdir(parents=True)
    for name in dependencies:
        (copy / name).write_bytes((root / name).read_bytes())
    assert BuildCache(Tree.read(copy), "clang", tmp_path / "cache").look_up(job("a.cu")) is not None


def test_where_system_headers_lie_does_not_matter(root: Path, tmp_path: Path) -> None:
    for folder in ("old", "new", "changed"):
        (tmp_path / folder / "lib").mkdir(parents=True)
        (tmp_path / folder / "lib" / "s.h").write_text("changed" if folder == "changed" else "same", encoding="utf-8")
    (tmp_path / "other").mkdir()
    flags = ("-isystem", str(tmp_path / "other"), "-isystem", str(tmp_path / "old"))
    moved = ("-isystem", str(tmp_path / "other"), "-isystem", str(tmp_path / "new"))
    swapped = ("-isystem", str(tmp_path / "new"), "-isystem", str(tmp_path / "other"))
    edited = ("-isystem", str(tmp_path / "other"), "-isystem", str(tmp_path / "changed"))
    cache_of(root).store(job("a.cu", flags=flags), OBJECT, ["a.cu", str(tmp_path / "old" / "lib" / "s.h")])
    assert cache_of(root).look_up(job("a.cu", flags=flags)) is not None
    assert cache_of(root).look_up(job("a.cu", flags=moved)) is not None
    assert cache_of(root).look_up(job("a.cu", flags=swapped)) is None
    assert cache_of(root).look_up(job("a.cu", flags=edited)) is None
    assert cache_of(root).look_up(job("a.cu", flags=flags[:2])) is None


def test_several_dependency_lists_of_one_file_are_remembered(root: Path) -> None:
    """The main file is the same, a header decides which other header is read."""
    stored(root)
    (root / "inc" / "h.h").write_text("switch", encoding="utf-8")
    other = Compiled(True, b"other", "", COST)
    cache_of(root).store(job("a.cu"), other, ["a.cu", "inc/h.h"])
    found = cache_of(root).look_up(job("a.cu"))
    assert found is not None
    assert found.output == b"other"
    (root / "inc" / "h.h").write_text("header", encoding="utf-8")
    found = cache_of(root).look_up(job("a.cu"))
    assert found is not None
    assert found.output == OBJECT.output


@pytest.mark.parametrize("suffix", [".zst", ".json"])
@pytest.mark.parametrize("damage", [b"", b"garbage", None])
def test_a_damaged_entry_is_dropped_and_noted(root: Path, suffix: str, damage: bytes | None) -> None:
    stored(root)
    (entry,) = (root.parent / "cache" / "objects").rglob(f"*{suffix}")
    if damage is None:
        entry.write_bytes(entry.read_bytes()[:-1] + b"!")
    else:
        entry.write_bytes(damage)
    cache = cache_of(root)
    assert cache.look_up(job("a.cu")) is None
    assert cache.damaged == ["a.cu [gfx942]"]
    stored(root)
    assert cache_of(root).look_up(job("a.cu")) is not None


def test_a_damaged_dependency_list_is_dropped_and_noted(root: Path) -> None:
    stored(root)
    (entry,) = (root.parent / "cache" / "dependencies").rglob("*.json")
    entry.write_text(json.dumps({"no": "list"}), encoding="utf-8")
    cache = cache_of(root)
    assert cache.look_up(job("a.cu")) is None
    assert cache.damaged == [entry.name]
    assert not entry.exists()


def test_an_entry_that_lost_its_object_is_dropped(root: Path) -> None:
    stored(root)
    (entry,) = (root.parent / "cache" / "objects").rglob("*.zst")
    entry.unlink()
    assert cache_of(root).look_up(job("a.cu")) is None


def test_a_file_that_vanished_while_compiling_stores_nothing(root: Path) -> None:
    cache_of(root).store(job("a.cu"), OBJECT, ["a.cu", "inc/gone.h"])
    assert not (root.parent / "cache" / "objects").exists()


def test_costs_are_remembered_for_any_contents(root: Path) -> None:
    stored(root)
    (root / "a.cu").write_text("changed", encoding="utf-8")
    assert cache_of(root).expected_cost(job("a.cu")) == COST
    assert cache_of(root).expected_cost(job("a.cu", target="gfx90a")) is None


def test_dependency_files(tmp_path: Path) -> None:
    text = "object: a.cu \\\n  dir\\ with\\ space/h.h /sys/x.h \\\r\n sub/../a.cu cash$$.h hash\\#.h\n"
    assert parse_depfile(text, tmp_path) == ("/sys/x.h", "a.cu", "cash$.h", "dir with space/h.h", "hash#.h")
    assert parse_depfile(f"object: {tmp_path}/in/tree.h", tmp_path) == ("in/tree.h",)
    assert parse_depfile("", tmp_path) == ()
