from __future__ import annotations

import pytest

from hipport.core import Diagnostic, FileState, Severity, TranslateOptions
from hipport.emit.manifest import EditRecord, FileRecord, Manifest
from hipport.report.markdown import cell, code, edit_groups, finding_groups, render_markdown


def record(path: str, **changes: object) -> FileRecord:
    values = {"kind": "source", "state": FileState.TRANSLATED, "run": "k", "input_sha256": "i"}
    values |= {"pristine_sha256": "p", "output_sha256": "p", "lines": 10, "lines_unchanged": 8} | changes
    return FileRecord(path=path, output_path=path, **values)  # type: ignore[arg-type]


def edit(line: int, before: str = "cudaFree", after: str = "hipFree", **more: str) -> EditRecord:
    return EditRecord(line, "HP199", "api/runtime.tsv: cudaFree", before, after, **more)  # type: ignore[arg-type]


def finding(number: str, severity: Severity, path: str = "a.cu", line: int = 1, **more: object) -> Diagnostic:
    return Diagnostic(number, severity, f"{number} says", path, line, next_step="fix it", **more)  # type: ignore[arg-type]


MANIFEST = Manifest(
    root="src",
    rulebook="0123456789abcdef" * 4,
    options=TranslateOptions(targets=("gfx942", "gfx1100")),
    files=(
        record(
            "a_file.cu",
            edits=(edit(3), edit(9), edit(5, "a|b", "`c`", safety="unsafe")),
            diagnostics=(finding("HP910", Severity.ERROR, "a_file.cu", 4, count=2),),
            licence=("Copyright (c) 2023, A. Author.",),
        ),
        record("big.cu", state=FileState.FAILED, diagnostics=(finding("HP933", Severity.WARNING, "big.cu", 0),)),
        record("edited.cu", state=FileState.UNCHANGED, patch_sha256="x", licence=("Copyright (c) 2023, A. Author.",)),
        record("stuck.cu", state=FileState.UNCHANGED, conflict=True),
    ),
    licence_files=("LICENSE",),
)


def test_what_a_reviewer_needs_is_there() -> None:
    text = render_markdown(MANIFEST, {"HP910": "Inline PTX is left", "HP199": "Renamed by a table"})
    for expected in (
        "4 files, 3 edits, **80.0 %** of 30 analysed lines unchanged",
        "**3** findings that need a person",
        "### ERROR HP910: Inline PTX is left (2)",
        "### WARNING HP933 (1)",
        "| `a_file.cu:4` | HP910 says (2 places) |",
        "| `big.cu` | HP933 says |",
        "- Next: fix it",
        "| HP199 | 3 | Renamed by a table |",
        "| 3, 9 | HP199 | `cudaFree` | `hipFree` |",
        "| 5 | HP199 (unsafe) | `a\\|b` | `` `c` `` |",
        "- edited.cu\n",
        "- stuck.cu: **not applied, waits for a merge**",
        "- big.cu: could not be analysed",
        "Licence files: LICENSE.",
        "| Copyright (c) 2023, A. Author. | 2 |",
        "| targets | gfx942, gfx1100 |",
    ):
        assert expected in text
    assert text.index("ERROR HP910") < text.index("WARNING HP933")


def test_passed_through_files_are_counted_apart() -> None:
    found = tuple(finding("HP911", Severity.WARNING, "csrc/cutlass/x.h", n, count=3) for n in (1, 2))
    vendored = record("csrc/cutlass/x.h", state=FileState.PASSTHROUGH, diagnostics=found)
    text = render_markdown(Manifest("", "r" * 64, TranslateOptions(), (vendored,)), {"HP911": "Tensor cores"})
    assert "1 files passed through by policy (`csrc/cutlass/**`)" in text
    assert "| warning HP911: Tensor cores | 6 |" in text
    assert "**0** findings that need a person, and 6 in files passed through." in text
    assert "| findings | 0 error, 0 warning, 0 note |" in text


def test_the_same_manifest_gives_the_same_report() -> None:
    assert render_markdown(MANIFEST, {}) == render_markdown(MANIFEST, {})


def test_an_empty_tree() -> None:
    text = render_markdown(Manifest("", "r" * 64, TranslateOptions()), {})
    assert "0 files, 0 edits, **–** of 0 analysed lines unchanged" in text
    assert "none found" in text


def test_long_lists_are_cut_unless_asked_for() -> None:
    many = tuple(finding("HP900", Severity.NOTE, line=n) for n in range(1, 31))
    manifest = Manifest("", "r" * 64, TranslateOptions(), (record("a.cu", diagnostics=many),))
    short, full = render_markdown(manifest, {}), render_markdown(manifest, {}, full=True)
    assert ("… and 10 more" in short, "`a.cu:30`" in short) == (True, False)
    assert ("more (`hipport" in full, "`a.cu:30`" in full) == (False, True)


def test_every_table_row_has_as_many_cells_as_its_head() -> None:
    width = 0
    for line in render_markdown(MANIFEST, {}).splitlines():
        if not line.startswith("|"):
            width = 0
            continue
        cells = len(line.replace("\\|", "").strip("|").split("|"))
        width = width or cells
        assert cells == width, line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a", "`a`"),
        ("", "*(nothing)*"),
        ("a\nb", "`a⏎b`"),
        ("a|b", "`a\\|b`"),
        ("x`y", "``x`y``"),
        ("`", "`` ` ``"),
        (" ", "`   `"),
    ],
)
def test_code(text: str, shown: str) -> None:
    assert code(text) == shown


def test_cells_hold_no_markup() -> None:
    assert cell("<b>|*x*_y_`z`\n[q](u)") == "\\<b\\>\\|\\*x\\*\\_y\\_\\`z\\` \\[q\\](u)"


def test_groups() -> None:
    groups = edit_groups((edit(9), edit(3), edit(4, "x", "y")))
    assert [(g.before, g.lines) for g in groups] == [("cudaFree", (3, 9)), ("x", (4,))]
    found = finding_groups(
        [finding("HP2", Severity.NOTE), finding("HP1", Severity.ERROR), finding("HP1", Severity.NOTE)], {}, 5
    )
    assert [(g.severity.value, g.id) for g in found] == [("error", "HP1"), ("note", "HP1"), ("note", "HP2")]
