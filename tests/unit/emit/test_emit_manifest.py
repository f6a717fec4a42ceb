from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hipport.core import (
    AppliedEdit,
    Diagnostic,
    Edit,
    FileResult,
    FileState,
    HipportError,
    Severity,
    Span,
    TranslateOptions,
)
from hipport.emit.licences import is_licence_file, notices
from hipport.emit.manifest import (
    Manifest,
    counts_of,
    dump_manifest,
    dump_summary,
    excerpt,
    lines_in_common,
    load_manifest,
    parse_manifest,
    record_of,
    sha256,
)
from hipport.emit.pristine import load_pack, pack_path, save_pack
from hipport.emit.support import needed_headers

SOURCE = b"// (c) 2024 A. Author\ncudaFree(p);\nint x;\n"
RESULT = FileResult(
    path="caf\udce9/a.cu",
    output_path="caf\udce9/a.hip",
    state=FileState.TRANSLATED,
    input_sha256=sha256(SOURCE),
    output=SOURCE.replace(b"cuda", b"hip"),
    edits=(AppliedEdit(Edit(Span(22, 26), b"hip", "HP199", "table"), 2, b"cuda", 1),),
    diagnostics=(Diagnostic("HP500", Severity.ERROR, "PTX", "caf\udce9/a.cu", 3, 1, "rewrite it", "wgmma", 2),),
    includes=("<hip/hip_runtime.h>",),
)
RECORD = record_of(RESULT, "source", "k" * 16, SOURCE, notices(SOURCE))
MANIFEST = Manifest(
    root="src",
    rulebook="r" * 64,
    options=TranslateOptions(targets=("gfx942", "gfx1100")),
    files=(RECORD,),
    diagnostics=(Diagnostic("HP930", Severity.ERROR, "cannot be read", "b.cu"),),
    licence_files=("LICENSE",),
)


def test_round_trip() -> None:
    assert parse_manifest(dump_manifest(MANIFEST)) == MANIFEST


def test_it_is_json_with_one_line_per_file() -> None:
    data = dump_manifest(MANIFEST)
    row = json.loads(data)
    assert (row["schema"], row["files"][0]["path"]) == (1, "caf\udce9/a.cu")
    assert row["files"][0]["edits"] == [
        {"line": 2, "rule": "HP199", "reason": "table", "before": "cuda", "after": "hip"}
    ]
    assert sum(b"a.hip" in line for line in data.splitlines()) == 1


def test_other_schemas_are_refused() -> None:
    data = dump_manifest(MANIFEST).replace(b'"schema": 1', b'"schema": 99')
    with pytest.raises(HipportError, match="schema 99"):
        parse_manifest(data)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"schema": 1}', b"\xff", b'{"schema": 1, "files": 3}'])
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(HipportError, match="not a manifest"):
        parse_manifest(data)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(HipportError, match="holds no manifest"):
        load_manifest(tmp_path)


def test_totals_count_places_and_leave_copied_files_out_of_the_share() -> None:
    copied = replace(RECORD, path="x", output_path="x", state=FileState.COPIED, edits=(), diagnostics=())
    counts = counts_of(replace(MANIFEST, files=(RECORD, copied)))
    assert counts.files == {"copied": 1, "translated": 1}
    assert (counts.lines, counts.lines_unchanged) == (3, 2)
    assert counts.diagnostics == {"HP500": 2, "HP930": 1}
    assert counts.severities == {"error": 3, "warning": 0, "note": 0}
    assert counts.need_person == 3


def test_summary_changes_with_any_output_byte() -> None:
    other = replace(MANIFEST, files=(replace(RECORD, output_sha256=sha256(b"x")),))
    assert dump_summary(MANIFEST) != dump_summary(other)
    assert json.loads(dump_summary(MANIFEST))["edits"] == {"HP199": 1}


def test_excerpts() -> None:
    assert excerpt(b"caf\xe9") == "caf\\xe9"
    long = excerpt(b"x" * 1000)
    assert len(long) < 300
    assert sha256(b"x" * 1000)[:16] in long


@pytest.mark.parametrize(
    ("before", "after", "n"),
    [
        (b"a\nb\nc\n", b"a\nb\nc\n", 3),
        (b"a\nb\nc", b"a\nB\nc", 2),
        (b"a\na\n", b"a\n", 1),
        (b"a\n", b"new\na\n", 1),
        (b"", b"", 0),
    ],
)
def test_lines_in_common(before: bytes, after: bytes, n: int) -> None:
    assert lines_in_common(before, after) == n


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (b"// SPDX-License-Identifier: MIT\n", ("SPDX-License-Identifier: MIT",)),
        (b"/* Copyright (c) 2023, A. Author. */\n", ("Copyright (c) 2023, A. Author.",)),
        (b"# (C) 1999 X\n# (C) 1999 X\n", ("(C) 1999 X",)),
        ("// © 2020 Ü\n".encode(), ("© 2020 Ü",)),
        (b"int copyright_year; // f(c) 12\n", ()),
        (b"\n" * 9000 + b"// Copyright 2020 late\n", ()),
    ],
)
def test_notices(text: bytes, found: tuple[str, ...]) -> None:
    assert notices(text) == found


def test_licence_files() -> None:
    names = ["LICENSE", "a/COPYING.txt", "NOTICE", "AUTHORS", "licence-mit", "license.py/x", "relicense.md"]
    assert [n for n in names if is_licence_file(n)] == names[:5]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_pack_round_trip(cache: Path) -> None:
    out, root = cache / "out", cache / "src"
    save_pack(out, root, [RECORD], {RECORD.pristine_sha256: RESULT.output}, None, set())
    pack = load_pack(out)
    assert pack is not None
    assert pack.records == {RECORD.path: RECORD}
    assert pack.pristine(RECORD.pristine_sha256) == RESULT.output
    assert pack.pristine(sha256(b"other")) is None
    assert (pack.out, pack.root) == (str(out), str(root))


def test_pack_keeps_bases_and_drops_the_rest(cache: Path) -> None:
    out = cache / "out"
    texts = {sha256(t): t for t in (b"base", b"old", RESULT.output)}
    save_pack(out, out, [RECORD], texts, None, {sha256(b"base"), sha256(b"old")})
    save_pack(out, out, [RECORD], {}, load_pack(out), {sha256(b"base")})
    pack = load_pack(out)
    assert pack is not None
    assert [pack.pristine(sha256(t)) for t in (b"base", b"old", RESULT.output)] == [b"base", None, RESULT.output]


@pytest.mark.parametrize(
    "damage", [lambda d: d[:6], lambda d: b"XXXX" + d[4:], lambda d: d[:12] + b"\xc1" * len(d[12:]), lambda d: b""]
)
def test_damaged_packs_are_ignored(cache: Path, damage: object) -> None:
    save_pack(cache, cache, [RECORD], {RECORD.pristine_sha256: RESULT.output}, None, set())
    path = pack_path(cache)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert load_pack(cache) is None


def test_a_damaged_frame_is_not_taken_for_the_text(cache: Path) -> None:
    save_pack(cache, cache, [RECORD], {RECORD.pristine_sha256: RESULT.output}, None, set())
    path = pack_path(cache)
    data = bytearray(path.read_bytes())
    data[-3] ^= 0xFF
    path.write_bytes(data)
    pack = load_pack(cache)
    assert pack is not None
    assert pack.pristine(RECORD.pristine_sha256) is None


def test_shipped_headers_are_complete() -> None:
    from hipport.core.files import include_root

    names = sorted(p.relative_to(include_root()).as_posix() for p in (include_root() / "hipport").glob("*.h"))
    assert names
    found, missing = needed_headers([f"<{n}>" for n in names])
    assert missing == ()
    assert {f"include/{n}" for n in names} <= found.keys()
