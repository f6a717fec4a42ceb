"""The commands as a user calls them: output, exit codes, and no traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from hipport.cli.main import COMMANDS, main

SOURCE = b"""\
// Copyright 2024 A. Author
#include <cuda_runtime.h>

void f(float* p) { cudaFree(p); }
"""
TRANSLATED = b"""\
// Copyright 2024 A. Author
#include <hip/hip_runtime.h>

void f(float* p) { hipFree(p); }
"""


@dataclass
class Shell:
    """Calls the command line in this process."""

    capture: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
        out, err = self.capture.readouterr()
        code = left.value.code
        assert isinstance(code, int)
        return code, out, err


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``src/a.cu`` and ``src/note.txt`` as working directory, and a cache of its own."""
    monkeypatch.setenv("HIPPORT_CACHE", str(tmp_path / "cache"))
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "src/a.cu").write_bytes(SOURCE)
    (work / "src/note.txt").write_bytes(b"cudaFree\n")
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def hipport(project: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_help_names_every_command_and_teaches(hipport: Shell) -> None:
    code, out, _ = hipport("--help")
    assert code == 0
    assert "hipport translate upstream_cuda/" in out
    for name in ("translate", "diff", "report", "explain", "edits", "cache"):
        assert f"\n  {name} " in out


@pytest.mark.parametrize("name", ["translate", "diff", "report", "explain", "edits", "cache"])
def test_help_of_each_command_has_an_example(hipport: Shell, name: str) -> None:
    code, out, _ = hipport(name, "--help")
    assert code == 0
    assert "Examples:" in out
    assert f"hipport {name}" in out


def test_every_listed_command_can_be_imported(hipport: Shell) -> None:
    _, out, _ = hipport("--help")
    listed = [name for name in COMMANDS if f"\n  {name} " in out]
    assert listed
    for name in listed:
        assert hipport(name, "--help")[0] == 0


def test_translate(hipport: Shell, project: Path) -> None:
    code, out, _ = hipport("translate", "src")
    assert code == 0
    assert (project / "generated_hip/a.cu").read_bytes() == TRANSLATED
    assert (project / "generated_hip/note.txt").read_bytes() == b"cudaFree\n"
    assert "2 files (1 copied, 1 translated)" in out
    assert hipport("translate", "src", "-q") == (0, "", "")


def test_findings_give_exit_code_1(hipport: Shell, project: Path) -> None:
    (project / "src/b.cu").write_bytes(b'__device__ void f() { asm volatile("wgmma.fence;"); }\n')
    code, out, _ = hipport("translate", "src")
    assert code == 1
    assert "hipport explain HP" in out


def test_translate_json(hipport: Shell, project: Path) -> None:
    code, out, _ = hipport("translate", "src", "--json")
    data = json.loads(out)
    assert code == data["exit_code"] == 0
    assert data["files"] == {"copied": 1, "translated": 1}
    assert "a.cu" in data["changes"]


def test_check(hipport: Shell, project: Path) -> None:
    code, out, _ = hipport("translate", "src", "--check")
    assert code == 1
    assert "a.cu" in out
    assert not (project / "generated_hip").exists()
    hipport("translate", "src")
    assert hipport("translate", "src", "--check")[0] == 0
    (project / "src/a.cu").write_bytes(SOURCE + b"// new\n")
    code, out, _ = hipport("translate", "src", "--check")
    assert code == 1
    assert [line.strip() for line in out.splitlines()[1:]] == ["a.cu", "manifest-summary.json", "manifest.json"]
    assert (project / "generated_hip/a.cu").read_bytes() == TRANSLATED


def test_check_against_a_committed_summary_only(hipport: Shell, project: Path) -> None:
    hipport("translate", "src")
    out = project / "generated_hip"
    summary = (out / "manifest-summary.json").read_bytes()
    shutil.rmtree(out)
    out.mkdir()
    (out / "manifest-summary.json").write_bytes(summary)
    assert hipport("translate", "src", "--check")[0] == 0
    (project / "src/a.cu").write_bytes(b"int x;\n")
    assert hipport("translate", "src", "--check")[0] == 1


def test_dry_run(hipport: Shell, project: Path) -> None:
    code, out, _ = hipport("translate", "src", "--dry-run")
    assert code == 0
    assert "write  a.cu" in out
    assert not (project / "generated_hip").exists()


def test_translate_diff(hipport: Shell, project: Path) -> None:
    code, out, _ = hipport("translate", "src", "--diff", "-q")
    assert code == 0
    assert "-void f(float* p) { cudaFree(p); }\n+void f(float* p) { hipFree(p); }\n" in out
    assert out.startswith("--- a/a.cu\n+++ b/a.cu\n")
    assert not (project / "generated_hip").exists()


@pytest.mark.parametrize(
    ("text", "place"),
    [("[build]\nstandard = 'c++17'\n", "[build]"), ("[build.preset.mine]\nflag = ['-g']\n", "[build.preset.mine]")],
)
def test_an_unknown_key_of_the_build_table_stops_translate(
    hipport: Shell, project: Path, text: str, place: str
) -> None:
    (project / "hipport.toml").write_text(text)
    code, _, err = hipport("translate", "src")
    assert code == 2
    assert f"hipport.toml: {place} has no key" in err
    assert not (project / "generated_hip").exists()


def test_settings_and_what_wins(hipport: Shell, project: Path) -> None:
    (project / "hipport.toml").write_text('targets = ["gfx1100"]\nout = "hip"\nexclude = ["*.txt"]\n')
    hipport("translate", "src")
    manifest = json.loads((project / "hip/manifest.json").read_bytes())
    assert manifest["options"]["targets"] == ["gfx1100"]
    assert [f["path"] for f in manifest["files"]] == ["a.cu"]
    hipport("translate", "src", "-t", "gfx942", "-t", "gfx90a", "--exclude", "*.h")
    manifest = json.loads((project / "hip/manifest.json").read_bytes())
    assert manifest["options"]["targets"] == ["gfx942", "gfx90a"]
    assert [f["path"] for f in manifest["files"]] == ["a.cu"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("translate", "absent"), "no such file or folder"),
        (("translate",), "Missing argument"),
        (("translate", "src", "--target", "sm_90"), "unknown target"),
        (("translate", "src", "--rocm", "x"), "not a ROCm version"),
        (("translate", "src", "--check", "--diff"), "exclude each other"),
        (("translate", "src", "--in-place"), "not in a git work tree"),
        (("translate", "src", "--facts"), "needs the flags"),
        (("translate", "src", "--rules", "absent"), "does not exist"),
        (("translate", "src", "--out", "."), "contains the input"),
        (("translate", "src", "--config", "absent.toml"), "cannot read"),
        (("report",), "holds no manifest"),
        (("diff",), "holds no manifest"),
        (("edits", "show"), "holds no manifest"),
        (("explain", "HP000"), "no diagnostic or rule"),
        (("nonsense",), "No such command"),
    ],
)
def test_bad_usage_is_one_clear_message_and_exit_code_2(
    hipport: Shell, project: Path, arguments: tuple[str, ...], message: str
) -> None:
    code, _, err = hipport(*arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not (project / "generated_hip").exists()


def test_diff(hipport: Shell, project: Path) -> None:
    hipport("translate", "src")
    code, out, _ = hipport("diff")
    assert code == 0
    assert "-#include <cuda_runtime.h>\n+#include <hip/hip_runtime.h>\n" in out
    assert hipport("diff", "--stat")[1] == "a.cu  +2 -2\n1 file, +2 -2\n"
    assert json.loads(hipport("diff", "--json")[1])["files"] == [{"path": "a.cu", "added": 2, "removed": 2}]
    assert hipport("diff", "note.txt")[1] == ""
    assert hipport("diff", "absent.cu")[0] == 2
    assert "\x1b[31m-" in hipport("diff", "--color")[1]


def test_diff_knows_the_input_of_another_place(hipport: Shell, project: Path, tmp_path: Path) -> None:
    hipport("translate", "src", "--out", str(tmp_path / "elsewhere/hip"))
    assert "+#include <hip/" in hipport("diff", "--out", str(tmp_path / "elsewhere/hip"))[1]


def test_report(hipport: Shell, project: Path) -> None:
    hipport("translate", "src")
    code, out, _ = hipport("report")
    assert code == 0
    assert out.startswith("# Translation report\n")
    assert "`cudaFree`" in out
    hipport("report", "--file", "report.md")
    assert (project / "report.md").read_text() == out
    assert json.loads(hipport("report", "--json")[1])["files"] == {"copied": 1, "translated": 1}


def test_explain(hipport: Shell) -> None:
    code, out, _ = hipport("explain", "hp938")
    assert code == 0
    assert out.startswith("HP938: A saved hand edit conflicts")
    assert "next step: edit FILE.conflict" in out
    data = json.loads(hipport("explain", "HP938", "--json")[1])
    assert data["file"] == "diagnostics-output.toml"
    everything = hipport("explain")[1]
    for number in range(930, 946):
        assert f"HP{number}" in everything


def test_a_rule_is_explained_with_its_examples(hipport: Shell, project: Path) -> None:
    (project / "rules").mkdir()
    (project / "rules/HP150-my-call.toml").write_text("""
id = "HP150"
name = "my-call"
title = "A call of ours"
safety = "safe"
sources = ["our own API"]
docs = "Why it must change."
match = '(call_expression function: (identifier) @func (#eq? @func "my_cuda_call")) @root'
rewrite = { func = "my_hip_call" }
[[example]]
name = "plain"
before = "void f() { my_cuda_call(); }"
after = "void f() { my_hip_call(); }"
[[example]]
name = "a string"
keep = 'const char* s = "my_cuda_call()";'
""")
    code, out, _ = hipport("explain", "HP150", "--rules", "rules")
    assert code == 0
    assert "Why it must change." in out
    assert "  - void f() { my_cuda_call(); }\n  + void f() { my_hip_call(); }\n" in out
    (project / "src/b.cu").write_bytes(b"void f() { my_cuda_call(); }\n")
    hipport("translate", "src", "--rules", "rules")
    assert (project / "generated_hip/b.cu").read_bytes() == b"void f() { my_hip_call(); }\n"


def test_edits(hipport: Shell, project: Path) -> None:
    hipport("translate", "src")
    assert hipport("edits", "show") == (0, "no hand edits\n", "")
    out = project / "generated_hip/a.cu"
    out.write_bytes(TRANSLATED.replace(b"float", b"double"))
    code, shown, _ = hipport("edits", "show")
    assert (code, shown) == (1, "unsaved   a.cu  +1 -1\n")
    assert "a.cu" in hipport("edits", "save")[1]
    assert json.loads(hipport("edits", "show", "--json")[1]) == {
        "edits": [{"path": "a.cu", "state": "saved", "added": 1, "removed": 1}]
    }
    assert "+void f(double* p)" in hipport("edits", "show", "--diff")[1]
    assert hipport("edits", "apply")[0] == 0
    assert hipport("edits", "drop", "a.cu")[0] == 0
    assert out.read_bytes() == TRANSLATED
    assert hipport("edits", "drop", "b.cu")[0] == 2


def test_cache(hipport: Shell, project: Path) -> None:
    assert "empty" in hipport("cache", "show")[1]
    hipport("translate", "src")
    data = json.loads(hipport("cache", "show", "--json")[1])
    assert [t["output_exists"] for t in data["translations"]] == [True]
    assert json.loads(hipport("cache", "prune", "--json")[1]) == {"removed": []}
    shutil.rmtree(project / "generated_hip")
    assert "1 item would be removed" in hipport("cache", "prune", "--dry-run")[1]
    assert "1 item removed" in hipport("cache", "prune")[1]
    assert json.loads(hipport("cache", "show", "--json")[1])["translations"] == []


def test_cache_prune_all_keeps_the_toolchain(hipport: Shell, project: Path) -> None:
    hipport("translate", "src")
    sdk = Path(os.environ["HIPPORT_CACHE"]) / "sdk/rocm6"
    sdk.mkdir(parents=True)
    (sdk / "clang").write_bytes(b"x")
    hipport("cache", "prune", "--all")
    assert [p.name for p in Path(os.environ["HIPPORT_CACHE"]).iterdir()] == ["sdk"]


# --- as processes -------------------------------------------------------------------------------------------------


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "hipport", *arguments]
    return subprocess.run(command, capture_output=True, check=False, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def test_a_file_name_that_is_not_text(project: Path) -> None:
    name = os.fsdecode(b"caf\xe9.cu")
    (project / "src" / name).write_bytes(b'__device__ void f() { asm volatile("wgmma.fence;"); }\n')
    found = run("translate", "src", "--verbose", env={**os.environ, "LC_ALL": "C.UTF-8"})
    assert found.returncode == 1
    assert b"Traceback" not in found.stderr
    assert b"caf\\udce9.cu" in found.stdout
    assert run("report").returncode == 1
    assert run("diff").returncode == 0


def test_a_pipe_closed_early(project: Path) -> None:
    for n in range(40):
        (project / f"src/{n}.cu").write_bytes(SOURCE * 50)
    shell = f"{sys.executable} -m hipport translate src --diff | head -n 1; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", shell], capture_output=True, check=False, timeout=300)
    assert found.stdout.split(b"\n")[1] == b"0"
    assert b"Traceback" not in found.stderr
    assert b"BrokenPipe" not in found.stderr


SLOW = """
import sys, time
from hipport.pipeline import session
from hipport.core import FileResult, FileState
def engine(source, options):
    print("started", flush=True)
    time.sleep(20)
session.load_engine = lambda *facts: engine
from hipport.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_in_the_middle(project: Path, jobs: str) -> None:
    import signal

    for n in range(4):
        (project / f"src/{n}.cu").write_bytes(SOURCE)
    command = [sys.executable, "-c", SLOW, "translate", "src", "-j", jobs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        os.killpg(process.pid, signal.SIGINT)  # what a terminal does
        _, err = process.communicate(timeout=15)
    assert process.returncode == 130
    assert err.strip() == b"hipport: stopped"
    assert not (project / "generated_hip").exists()


def test_two_runs_at_once(project: Path) -> None:
    command = [sys.executable, "-c", SLOW, "translate", "src"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        second = run("translate", "src")
        process.kill()
        process.communicate()
    assert second.returncode == 2
    assert b"another hipport run is writing" in second.stderr
    assert str(process.pid).encode() in second.stderr
    assert run("translate", "src").returncode == 0


def test_when_nothing_changed_neither_engine_nor_rich_is_imported(project: Path) -> None:
    assert run("translate", "src").returncode == 0
    code = (
        "import sys\nfrom hipport.cli.main import main\n"
        "try: main(['translate', 'src'])\n"
        "except SystemExit as left: assert left.code == 0, left.code\n"
        "heavy = {'tree_sitter', 'rich', 'hipport.rulebook', 'hipport.rewrite', 'zstandard'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert found.returncode == 0, found.stderr


def test_a_tree_full_of_bad_files_is_translated_where_it_can_be(hipport: Shell, project: Path) -> None:
    bad = {
        "binary.cu": b"\x7fELF\0\0cudaFree" + bytes(range(256)) * 40,
        "latin1.cu": b"// \xe9\nvoid f(void* p) { cudaFree(p); }\n",
        "unbalanced.cu": b"void f() { if (x { cudaFree(p); \n#if 1\n#define A(\n",
        "garbage.cu": b"<<<>>>((({{{ cudaFree ''' \"\"\" /* \n asm(",
        "utf16.cu": "void f() {}\n".encode("utf-16"),
        "nothing.cu": b"",
        "newlines.cu": b"\n" * 5000,
        "deep.cu": b"(" * 20000 + b"cudaFree(p);",
        "long.cu": b"int x; " * 60000 + b"cudaFree(p);",
        "broken/setup.py": b"from setuptools import (\nCUDAExtension(",
        "CMakeLists.txt": b"project(x LANGUAGES CUDA\n",
    }
    for name, data in bad.items():
        (project / "src" / name).parent.mkdir(exist_ok=True)
        (project / "src" / name).write_bytes(data)
    os.mkfifo(project / "src/pipe.cu")
    (project / "src/dangling.cu").symlink_to("nowhere")
    (project / "src/loop").symlink_to(".")
    (project / "src/folder.cu").mkdir()
    code, out, err = hipport("translate", "src", "--json")
    assert (code, err) == (1, "")
    data = json.loads(out)
    ids = {(d["id"], d["path"]) for d in data["diagnostics"]}
    assert {("HP931", "pipe.cu"), ("HP932", "dangling.cu"), ("HP932", "loop"), ("HP902", "binary.cu")} <= ids
    assert not [path for number, path in ids if number == "HP934"]
    generated = project / "generated_hip"
    assert (generated / "a.cu").read_bytes() == TRANSLATED
    assert (generated / "latin1.cu").read_bytes() == (
        b"// \xe9\n#include <hip/hip_runtime.h>\nvoid f(void* p) { hipFree(p); }\n"
    )
    assert (generated / "binary.cu").read_bytes() == bad["binary.cu"]
    assert {p.relative_to(generated).as_posix() for p in generated.rglob("*.*")} >= bad.keys()
    assert hipport("translate", "src", "--check")[0] == 0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("__shfl_sync", "HP201 goes first"),
        ("tex2D", "HP304 looks at it"),
        ("cub::WarpReduce", "HP717 goes first"),
        ("cuda::std::tuple", "cuda::std -> std"),
        ("cub::BlockScan", "cub -> hipcub"),
    ],
)
def test_query_knows_rules_and_namespaces(hipport: Shell, name: str, expected: str) -> None:
    code, out, _ = hipport("query", name)
    assert code == 0
    assert expected in out


def test_query_without_a_name_is_bad_usage(hipport: Shell) -> None:
    assert hipport("query", "")[0] == hipport("query", "<>")[0] == 2
