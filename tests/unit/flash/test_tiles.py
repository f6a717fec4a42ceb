"""The tile table as Python reads it and as the compiler does; a tile over the LDS does not pass translation."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from hipport.cli.build import command as build
from hipport.core import TARGETS, Diagnostic, HipportError, Severity, SourceFile, ToolchainError, TranslateOptions
from hipport.core.files import include_root
from hipport.flash.kernels import HEAD_DIMS, padded_head_dim
from hipport.flash.tiles import EVERY_TARGET, Row, row_for, rows
from hipport.rewrite import translate_source
from hipport.rulebook import load_rulebook
from hipport.sdk import find_sdk


def kernel_lds_bytes(head_dim: int, block_m: int, block_n: int, *, share: bool) -> int:
    """Kernel_traits::kSmemSize of upstream: 16-bit Q, K and V tiles; Q shares with K and V when `share`."""
    q, kv = block_m * head_dim * 2, 2 * block_n * head_dim * 2
    return max(q, kv) if share else q + kv


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.target}-{row.head_dim}")
def test_tiles_fit_the_lds(row: Row) -> None:
    targets = [TARGETS[row.target]] if row.target in TARGETS else list(TARGETS.values())
    least = min(target.lds_bytes for target in targets)
    tile = row.forward
    assert kernel_lds_bytes(row.head_dim, tile.block_m, tile.block_n, share=tile.share_q_k) <= least
    split = kernel_lds_bytes(row.head_dim, 64, row.split_block_n, share=False)
    assert 64 * row.head_dim * 4 <= split <= least  # its fp32 result lies there too
    # A wavefront owns 16 rows at a time; upstream's kernels need whole ones.
    assert tile.block_m % (16 * tile.warps) == 0


def test_every_target_has_a_tile_for_every_head_dimension() -> None:
    assert [row.head_dim for row in rows() if row.target == EVERY_TARGET] == list(HEAD_DIMS)
    assert {row.target for row in rows()} <= {EVERY_TARGET, *TARGETS}
    assert len({(row.target, row.head_dim) for row in rows()}) == len(rows())
    with pytest.raises(HipportError, match="72 has no tile"):
        row_for(72, "gfx942")


LAUNCH_TEMPLATE = "csrc/flash_attn/src/flash_fwd_launch_template.h"
LAUNCHES = "void run_flash_fwd() { f(flash_fwd_splitkv_combine_kernel<Kernel_traits, kBlockM, 7, IsEvenKConst>); }\n"


def said(targets: tuple[str, ...]) -> list[Diagnostic]:
    source = SourceFile(LAUNCH_TEMPLATE, LAUNCHES.encode())
    result = translate_source(source, load_rulebook(), TranslateOptions(targets=targets))
    return [diagnostic for diagnostic in result.diagnostics if diagnostic.id == "HP641"]


LAST_ROW = "{any, 256, {64, 64, 4, true}, 32}"
FIRST_ROW = "{any, 32, {128, 128, 4, false}, 256}"


@pytest.mark.parametrize(
    ("old", "new", "targets", "names"),
    [
        # 4 * 96 * 256 bytes of K and V, which Q shares
        (LAST_ROW, "{any, 256, {128, 96, 4, true}, 32}", ("gfx942", "gfx950"), "98304 gfx942"),
        # 2 * 256 * 256 of Q
        (LAST_ROW, "{any, 256, {256, 64, 4, true}, 32}", ("gfx90a",), "131072 gfx90a"),
        # 2 * 128 * 32 + 4 * 512 * 32
        (FIRST_ROW, "{any, 32, {128, 512, 4, false}, 256}", ("gfx90a", "gfx1201"), "73728 gfx90a gfx1201"),
        # Split: 2 * 64 * 256 + 4 * 64 * 256
        (LAST_ROW, "{any, 256, {64, 64, 4, true}, 64}", ("gfx1100",), "98304 gfx1100"),
        (LAST_ROW, "{any, 256, {64, 64, 4, true}, 64}", ("gfx950",), ""),
        # A row of another target is none of this translation's business.
        (FIRST_ROW, FIRST_ROW + ",\n    {gfx950, 384, {128, 128, 4, true}, 32}", ("gfx942",), ""),
        # 4 * 128 * 384 of K and V
        (FIRST_ROW, FIRST_ROW + ",\n    {gfx950, 384, {128, 128, 4, true}, 32}", ("gfx942", "gfx950"), "196608 gfx950"),
    ],
)
def test_translation_refuses_a_tile_over_the_lds(
    old: str, new: str, targets: tuple[str, ...], names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "hipport/cute/flash_tiles.h"
    text = (include_root() / table).read_text(encoding="utf-8")
    assert text.count(old) == 1
    (tmp_path / table).parent.mkdir(parents=True)
    (tmp_path / table).write_text(text.replace(old, new), encoding="utf-8")
    assert said(targets) == []
    monkeypatch.setattr("hipport.rewrite.transforms.tiles.include_root", lambda: tmp_path)
    found = said(targets)
    assert len(found) == bool(names)
    for diagnostic in found:
        assert diagnostic.severity is Severity.ERROR
        assert all(word in diagnostic.message for word in names.split())
        assert all(name in names for name in targets if name in diagnostic.message)


def test_a_combine_kernel_for_too_many_splits_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.LAUNCHES", LAUNCHES.replace("kBlockM, 7", "kBlockM, 10"))
    (found,) = said(("gfx942",))  # 1,024 splits of 16 rows and one of padding, 4 bytes each
    assert "69632 bytes" in found.message


@pytest.mark.parametrize(("head_dim", "padded"), [(8, 32), (32, 32), (40, 64), (128, 128), (136, 192), (256, 256)])
def test_padded_head_dim(head_dim: int, padded: int) -> None:
    assert padded_head_dim(head_dim) == padded


def test_head_dim_over_256_is_refused() -> None:
    with pytest.raises(HipportError, match="over 256"):
        padded_head_dim(264)


@pytest.mark.sdk
@pytest.mark.parametrize("target", [EVERY_TARGET, *TARGETS])
def test_header_and_python_agree(target: str, tmp_path: Path) -> None:
    """In both passes, so that the host launches the kernel that the device has."""
    lines = ["#include <hipport/cute/flash_tiles.h>", "using namespace hipport::flash;"]
    for head_dim in HEAD_DIMS:
        row = row_for(head_dim, target)
        for name in ("block_m", "block_n", "warps", "share_q_k"):
            value = str(getattr(row.forward, name)).lower()
            lines.append(f"static_assert(forward_tile({head_dim}).{name} == {value});")
        lines.append(f"static_assert(split_block_n({head_dim - 8}) == {row.split_block_n});")
    least = min(t.lds_bytes for t in TARGETS.values() if target in (EVERY_TARGET, t.name))
    lines.append(f"static_assert(lds_bytes == {least});")
    define = [] if target == EVERY_TARGET else [f"-DHIPPORT_BUILD_TARGET={target}"]
    assert compiled(lines, [target] if define else ["gfx942"], define, tmp_path) == ""


@pytest.mark.sdk
def test_a_device_pass_for_another_target_than_the_build_says_fails(tmp_path: Path) -> None:
    lines = ["#include <hipport/cute/flash_tiles.h>"]
    assert "names another target" in compiled(lines, ["gfx942"], ["-DHIPPORT_BUILD_TARGET=gfx950"], tmp_path)


def compiled(lines: list[str], targets: list[str], flags: list[str], folder: Path) -> str:
    """Errors of the host and the device pass; empty when there are none."""
    try:
        sdk = find_sdk()
    except ToolchainError as error:
        pytest.skip(str(error))
    source = folder / "tiles.hip"
    source.write_text("\n".join(lines) + "\n")
    command = [str(sdk.clang), *sdk.host_flags(targets), *flags, f"-I{include_root()}", "-fsyntax-only", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) == (not done.stderr)
    return done.stderr


LAUNCH = """
#include <hipport/cute/flash_tiles.h>
struct Traits {};
template <class Kernel_traits>
__global__ void kernel() {}
void launch() { kernel<hipport::flash::Waves<Traits>><<<1, 64>>>(); }
"""


@pytest.mark.sdk
def test_a_host_side_for_other_wavefronts_finds_no_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One host side cannot launch for 64 lanes and for 32: `hipport build` says so, where a launch would fail."""
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/kernel.hip").write_text(LAUNCH)
    monkeypatch.chdir(tmp_path)

    def errors(*targets: str) -> list[str]:
        arguments = ["tree", *(word for target in targets for word in ("-t", target)), "-j", "1", "--json", "-q"]
        result = CliRunner().invoke(build, arguments, standalone_mode=False, catch_exceptions=False)
        report = json.loads(result.output)
        return [d["message"] for d in report["diagnostics"] if d["severity"] == "error"]

    assert errors("gfx1201") == errors("gfx942") == errors("gfx90a", "gfx942") == []
    (message,) = errors("gfx942", "gfx1201")
    assert "Waves<Traits, 64>" in message
    assert "for gfx1201" in message
