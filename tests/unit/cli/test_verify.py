"""`hipport verify`: choice of cases, verdicts and exit codes, with plain Python in place of the kernels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="hipport verify computes its references with PyTorch (extra: torch)")

from hipport.cli.main import main  # noqa: E402 - after the skip
from hipport.flash import FlashAttention  # noqa: E402
from hipport.flash.cases import read_cases  # noqa: E402
from hipport.flash.kernels import Instantiation  # noqa: E402
from hipport.flash.launch import Array, Launch, Pointer  # noqa: E402
from hipport.flash.reference import Options, attention  # noqa: E402
from hipport.hiprt.program import CompileError  # noqa: E402

INTERFACE = """
import flash_attn_2_cuda
def flash_attn_func(q, k, v, dropout_p, causal, window_size, softcap, alibi_slopes, return_attn_probs):
    return flash_attn_2_cuda.fwd(
        q, k, v, None, alibi_slopes, dropout_p, q.shape[-1] ** -0.5, causal, *window_size, softcap, False
    )[:3]
"""
Verify = Callable[..., tuple[int, str, str]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "flash_attn").mkdir()
    (tmp_path / "flash_attn/flash_attn_interface.py").write_text(INTERFACE)
    return tmp_path


@pytest.fixture
def verify(tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Verify:
    def call(*arguments: str, error: float = 0.0, broken: str = "") -> tuple[int, str, str]:
        def prepare(self: FlashAttention, kernels: Sequence[Instantiation]) -> None:
            if broken and broken in map(str, kernels):
                raise CompileError("clang: too hard", "")

        def run(
            self: FlashAttention, what: Instantiation, buffers: Sequence[tuple[Array, bool]], launches: Sequence[Launch]
        ) -> list[Array]:
            self.prepare([what])
            places = {name: p.buffer for name, p in launches[0].parameters.items() if isinstance(p, Pointer)}
            q, k, v = (torch.from_numpy(buffers[places[name]][0])[0].double() for name in ("q_ptr", "k_ptr", "v_ptr"))
            out, lse = attention(q, k, v, Options(causal=bool(launches[0].parameters["is_causal"])))
            computed = {
                places["o_ptr"]: (out[None] + error).half().numpy(),
                places["softmax_lse_ptr"]: lse[None].numpy(),
            }
            return [computed.get(n, array) for n, (array, wanted) in enumerate(buffers) if wanted]

        monkeypatch.setattr(FlashAttention, "_run", run)
        monkeypatch.setattr(FlashAttention, "prepare", prepare)
        with pytest.raises(SystemExit) as left:
            main(["verify", str(tree), *arguments])
        out, err = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return left.value.code, out, err

    return call


def test_right_results_pass(verify: Verify) -> None:
    code, out, err = verify("-k", "ragged_gqa", "-k", "causal_no_key_rows")
    assert code == 0, out
    assert "2 cases, 0 failed" in out
    assert "[2/2] gfx942 causal_no_key_rows" in err


def test_wrong_results_fail(verify: Verify) -> None:
    code, out, _ = verify("-k", "ragged_gqa", "--json", "--quiet", error=0.1)
    assert code == 1
    (run,) = json.loads(out)["runs"]
    (case,) = run["cases"]
    assert (run["target"], run["passed"], run["failed"]) == ("gfx942", 0, 1)
    assert not case["passed"]
    assert case["figures"]["max"]["value"] == pytest.approx(0.1, rel=0.02)
    assert case["figures"]["max"]["bar"] < 0.01


def test_kernel_that_does_not_compile_fails_its_cases_only(verify: Verify) -> None:
    chosen = ("-k", "ragged_gqa", "-k", "causal_no_key_rows", "-j", "1")
    code, out, _ = verify(*chosen, broken="fwd-hd64-fp16-causal-even_k")
    assert code == 1
    assert "clang: too hard" in out
    assert "2 cases, 1 failed" in out
    assert [line.split()[1] for line in out.splitlines() if line.startswith("ragged_gqa")] == ["ok"]


def test_plan_runs_nothing(verify: Verify) -> None:
    code, out, _ = verify("-k", "ragged_gqa", "-k", "h200_d64", "--plan", error=9.0)
    assert code == 0
    assert "fwd-hd64-fp16-even_mn-even_k" in out
    assert "2 cases, 2 kernels in 1 program" in out


def test_unknown_case_and_tree_are_bad_input(verify: Verify, tree: Path) -> None:
    code, _, err = verify("-k", "nope")
    assert (code, "no case matches" in err) == (2, True)
    (tree / "flash_attn/flash_attn_interface.py").unlink()
    code, _, err = verify("-k", "ragged_gqa")
    assert (code, "hipport translate" in err) == (2, True)


def test_report_holds_every_figure_of_every_target(verify: Verify, tmp_path: Path) -> None:
    page = tmp_path / "figures.md"
    arguments = ("-k", "tiles_3", "-k", "h200_d64_causal", "-t", "gfx942", "-t", "gfx1201", "--report", str(page))
    assert verify(*arguments)[0] == 0
    first = page.read_text()
    assert verify(*arguments)[0] == 0
    assert page.read_text() == first
    n = len(read_cases())
    assert f"| gfx942 | 2 of {n} | 1 | 2 | 0 |" in first
    assert f"| gfx1201 | 2 of {n} | 1 | 2 | 0 |" in first
    rows = [[cell.strip() for cell in line.split("|")] for line in first.splitlines() if line.startswith("| tiles_3")]
    assert [(row[2], row[4], row[6]) for row in rows] == [("full", "", "ok")] * 2  # no relative error without an H200's
    value, bar = map(float, rows[0][3].split("/"))
    assert 0 < value < 1e-3 < bar < 2e-3  # the fake kernels round to fp16, outputs are below 2
    assert str(tmp_path) not in first


def test_report_of_failures(verify: Verify, tmp_path: Path) -> None:
    page = tmp_path / "figures.md"
    code, _, _ = verify("-k", "ragged_gqa", "--report", str(page), error=0.1)
    assert code == 1
    assert "**FAILED**" in page.read_text()
    assert "1.00e-01 /" in page.read_text()


def test_report_into_no_folder_is_refused_before_anything_runs(verify: Verify, tmp_path: Path) -> None:
    code, out, err = verify("-k", "ragged_gqa", "--report", str(tmp_path / "nowhere/figures.md"))
    assert (code, out, "is no folder" in err) == (2, "", True)
