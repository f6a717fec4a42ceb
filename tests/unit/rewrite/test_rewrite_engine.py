from __future__ import annotations

import time
from pathlib import Path

import pytest

from hipport.core import FileResult, FileState, Severity, SourceFile, TranslateOptions
from hipport.rewrite import Project, translate_source
from hipport.rulebook import EMPTY, Rulebook, load_rulebook

HEADER = "cuda\thip\tkind\tstate\tdiag\trocm_min\trocm_max\tsource\tnote\n"
ROWS = """\
cudaMalloc\thipMalloc\tfunction\tok\t\t\t\tderived\t
cudaStream_t\thipStream_t\ttype\tok\t\t\t\tderived\t
cudaGone\t\tfunction\tnone\tHP101\t\t\tderived\tnobody needs it
cudaLook\thipLook\tfunction\treview\tHP102\t\t\tderived\tlook at it
cudaNew\thipNew\tfunction\tok\t\t7.0\t\tderived\t
cuda_runtime.h\thip/hip_runtime.h\theader\tok\t\t\t\tderived\t
cuda.h\thip/hip_runtime.h\theader\tok\t\t\t\tderived\t
cub\thipcub\tnamespace\tok\t\t\t\tderived\t
c10::cuda::Guard\tc10::hip::Guard\ttype\tok\t\t\t\tderived\t
c10::cuda::get\tc10::cuda::getHip\tfunction\tok\t\t\t\tderived\t
maxThing\tmaxThingHip\tfield\tok\t\t\t\tderived\t
cudaSame\tcudaSame\tfunction\treview\tHP102\t\t\tderived\tsame name, other meaning
float4\tfloat4\ttype\tsame\t\t\t\tderived\t
"""
RULE = """
id = "{id}"
name = "{name}"
title = "t"
safety = "{safety}"
{more}
sources = ["s"]
docs = '''d'''
match = '''{match}'''
{variant}
[[example]]
name = "a"
before = "a"
after = "b"
[[example]]
name = "k"
keep = "c"
"""
CALL = "(call_expression function: (identifier) @func arguments: (argument_list . (_) @x .)) @root"


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Rulebook:
    root = tmp_path_factory.mktemp("rules")
    (root / "t.tsv").write_text(HEADER + ROWS)
    return load_rulebook([root], cache=False)


def rules(folder: Path, *texts: tuple[str, str]) -> Rulebook:
    for name, text in texts:
        (folder / name).write_text(text)
    return load_rulebook([folder], cache=False)


def rule(identity: str, name: str, match: str, more: str, safety: str = "safe") -> tuple[str, str]:
    more, bar, variant = more.partition("[[variant]]")
    text = RULE.format(id=identity, name=name, match=match, more=more, safety=safety, variant=bar + variant)
    return f"{identity}-{name}.toml", text


def run(text: str | bytes, book: Rulebook, path: str = "a.cu", **options: object) -> FileResult:
    data = text if isinstance(text, bytes) else text.encode()
    project = options.pop("project", Project())
    assert isinstance(project, Project)
    return translate_source(SourceFile(path, data), book, TranslateOptions(**options), project)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cudaMalloc(&p, 4);", "hipMalloc(&p, 4);"),
        ("::cudaMalloc(&p, 4);", "::hipMalloc(&p, 4);"),
        ("#define A(x) cudaMalloc(x)\n", "#define A(x) hipMalloc(x)\n"),
        ("x.cudaMalloc(1); y->cudaMalloc(2); mine::cudaMalloc(3);", None),
        ("// cudaMalloc\n/* cudaMalloc */ const char* s = \"cudaMalloc\"; auto r = R\"(cudaMalloc)\";", None),
        ("#include <cuda_runtime.h>\n", "#include <hip/hip_runtime.h>\n"),
        ('#include "cuda_runtime.h"\n', '#include "hip/hip_runtime.h"\n'),
        ('#include "user-cuda.h"\n#include "cuda_utils/cuda.h"\n#include <my/cuda_runtime.h>\n', None),
        ("cub::Sum s; using namespace cub;", "hipcub::Sum s; using namespace hipcub;"),
        ("namespace c = cub;", "namespace c = hipcub;"),
        ("int cub = 3; my::cub::Sum s;", None),
        ("c10::cuda::Guard g;", "c10::hip::Guard g;"),
        ("::c10::cuda::Guard g;", "::c10::hip::Guard g;"),
        ("c10::cuda::get();", "c10::cuda::getHip();"),
        ("Guard g; other::Guard h; get();", None),
        ("p.maxThing + q->maxThing + maxThing", "p.maxThingHip + q->maxThingHip + maxThing"),
        ("#define cudaMalloc myMalloc\nvoid f() { cudaMalloc(1); }\n", None),
        ("float4 f; cudaMallocs(); cudaMalloc_(); _cudaMalloc();", None),
        ("#ifdef USE_ROCM\ncudaMalloc(1);\n#else\ncudaMalloc(2);\n#endif\ncudaMalloc(3);\n",
         "#ifdef USE_ROCM\ncudaMalloc(1);\n#else\ncudaMalloc(2);\n#endif\nhipMalloc(3);\n"),
    ],
)  # fmt: skip
def test_renames(tables: Rulebook, before: str, after: str | None) -> None:
    result = run(before, tables)
    assert result.output.decode() == (before if after is None else after)
    assert run(result.output, tables).output == result.output


@pytest.mark.parametrize(
    "around",
    [
        b"%s\r\n\tint a;\r\n",
        b"\xef\xbb\xbf%s\n",
        b"int caf\xe9; %s // \xff\xfe\n",
        b"%s",
        b"\t%s \t\n\n\n",
        b"a\r%s\rb",
    ],
)
def test_everything_outside_the_edit_is_the_same_bytes(tables: Rulebook, around: bytes) -> None:
    result = run(around % b"cudaMalloc(p);", tables)
    assert result.output == around % b"hipMalloc(p);"
    assert [edit.before for edit in result.edits] == [b"cudaMalloc"]


def test_no_rules_is_identity() -> None:
    text = b"#include <cuda.h>\r\nvoid f() { cudaMalloc(1); k<<<1, 2>>>(); }"
    result = run(text, EMPTY)
    assert (result.output, result.edits, result.state) == (text, (), FileState.UNCHANGED)


def test_refused_and_reviewed_names_are_counted_once_per_file(tables: Rulebook) -> None:
    result = run("int x;\ncudaGone();\ncudaGone(); cudaLook();\n", tables)
    assert result.output.decode() == "int x;\ncudaGone();\ncudaGone(); hipLook();\n"
    seen = {d.id: d for d in result.diagnostics}
    assert (seen["HP101"].line, seen["HP101"].column, seen["HP101"].count) == (2, 1, 2)
    assert "nobody needs it" in seen["HP101"].message
    assert (seen["HP102"].line, seen["HP102"].column) == (3, 13)
    assert len(result.diagnostics) == 2


def test_a_reviewed_name_that_stays_is_reported_and_not_edited(tables: Rulebook) -> None:
    result = run("cudaSame();\n", tables)
    assert (result.state, result.edits) == (FileState.UNCHANGED, ())
    assert [(d.id, d.subject) for d in result.diagnostics] == [("HP102", "cudaSame")]


def test_a_row_for_another_hip_version_refuses(tables: Rulebook) -> None:
    old = run("cudaNew();", tables, rocm=(6, 4))
    assert old.output == b"cudaNew();"
    assert "exists in HIP from 7.0, the output is for 6.4" in old.diagnostics[0].message
    assert run("cudaNew();", tables, rocm=(7, 2)).output == b"hipNew();"


def test_every_cuda_name_left_is_a_diagnostic(tables: Rulebook) -> None:
    text = 'cudaUnheardOf(); cudaUnheardOf(); cublasThing_t t; x.cudaMalloc(); asm("bar;"); SM80_CP_ASYNC a; own();\n'
    result = run(text, tables)
    said = {(d.id, d.subject): d.count for d in result.diagnostics}
    assert said == {
        ("HP900", "cudaUnheardOf"): 2,
        ("HP900", "cublasThing_t"): 1,
        ("HP910", "asm"): 1,
        ("HP911", "SM80_CP_ASYNC"): 1,
    }


def test_macros_of_cub_and_cccl_left_are_diagnostics(tables: Rulebook) -> None:
    """hipCUB's macros begin with HIPCUB_; a program's own CUB_ macro is the program's."""
    text = "#define CUB_CALL(x) (x)\nint v = CUB_CALL(CUB_PTX_ARCH) + CCCL_VERSION + HIPCUB_WARP_THREADS;\n"
    assert [(d.id, d.subject) for d in run(text, tables).diagnostics] == [
        ("HP900", "CUB_PTX_ARCH"),
        ("HP900", "CCCL_VERSION"),
    ]


def test_integer_types_of_the_driver_header_are_diagnostics(tables: Rulebook) -> None:
    """cuda.h defines cuuint32_t and cuuint64_t; HIP has neither."""
    said = [(d.id, d.subject) for d in run("cuuint32_t a; cuuint64_t b; uint64_t cuuint;\n", tables).diagnostics]
    assert said == [("HP900", "cuuint32_t"), ("HP900", "cuuint64_t")]


def test_a_name_behind_another_qualifier_is_left_and_reported(tables: Rulebook) -> None:
    """Its declaration, which is in another file, may have been renamed."""
    result = run("void f(S* s) { mine::cudaMalloc(1); ::cudaMalloc(2); s->cudaMalloc(3); }\n", tables)
    assert result.output == b"void f(S* s) { mine::cudaMalloc(1); ::hipMalloc(2); s->cudaMalloc(3); }\n"
    assert [(d.id, d.subject, d.column) for d in result.diagnostics] == [("HP900", "cudaMalloc", 22)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "struct M { int cudaMalloc(int n) { ::cudaMalloc(n); } int cudaStream_t; int g() { cudaMalloc(1); } };"
            "\nvoid f(M& m, M* p) { m.cudaMalloc(1); p->cudaMalloc(2); m.cudaStream_t = 3; cudaMalloc(4); }\n",
            "struct M { int cudaMalloc(int n) { ::hipMalloc(n); } int cudaStream_t; int g() { cudaMalloc(1); } };"
            "\nvoid f(M& m, M* p) { m.cudaMalloc(1); p->cudaMalloc(2); m.cudaStream_t = 3; hipMalloc(4); }\n",
        ),
        (
            "struct M { void g(); template <class T> T* cudaMalloc(int); };\n"
            "void M::g() { cudaMalloc<int>(1); }\nvoid N::g() { cudaMalloc(1); }\n",
            "struct M { void g(); template <class T> T* cudaMalloc(int); };\n"
            "void M::g() { cudaMalloc<int>(1); }\nvoid N::g() { hipMalloc(1); }\n",
        ),
        (
            "namespace my { void before() { cudaMalloc(0); } int cudaMalloc(int); struct cudaStream_t {}; }\n"
            "namespace my { int i = cudaMalloc(1); }\n"
            "void f(my::cudaStream_t s, cudaStream_t t) { my::cudaMalloc(2); }\n",
            "namespace my { void before() { hipMalloc(0); } int cudaMalloc(int); struct cudaStream_t {}; }\n"
            "namespace my { int i = cudaMalloc(1); }\n"
            "void f(my::cudaStream_t s, hipStream_t t) { my::cudaMalloc(2); }\n",
        ),
        (
            "enum class E { cudaMalloc, other };\nauto e = E::cudaMalloc;\nint f() { return cudaMalloc(1); }\n",
            "enum class E { cudaMalloc, other };\nauto e = E::cudaMalloc;\nint f() { return hipMalloc(1); }\n",
        ),
    ],
)
def test_a_name_that_the_programs_own_scope_declares_is_left(tables: Rulebook, before: str, after: str) -> None:
    """The declaration and its qualified uses agree; a name that is looked up outside of the scope is CUDA's."""
    result = run(before, tables)
    assert result.output.decode() == after
    assert ("HP918", "cudaMalloc") in {(d.id, d.subject) for d in result.diagnostics}


@pytest.mark.parametrize(
    "text",
    [
        "struct M { cudaStream_t s; void f(cudaStream_t s); friend int cudaMalloc(int); };\n",
        'namespace my { extern "C" { int cudaMalloc(int); } struct cudaStream_t; }\n',
        "namespace my { void f() { int i = cudaMalloc(1); cudaStream_t s; } }\n",
    ],
)
def test_a_declaration_of_cudas_own_is_renamed_in_any_scope(tables: Rulebook, text: str) -> None:
    assert run(text, tables).output.decode() == text.replace("cudaMalloc", "hipMalloc").replace(
        "cudaStream_t", "hipStream_t"
    )


def test_names_of_the_project_are_not_cuda(tables: Rulebook) -> None:
    text = "#define CUDA_CHECK(x) x\nCUDA_CHECK(1); cudaHelper(); CUDA_LOOP(i)\n"
    project = Project(macros=frozenset((b"CUDA_LOOP",)), names=frozenset((b"cudaHelper",)))
    assert run(text, tables, project=project).diagnostics == ()


def test_lines_are_those_of_the_original(tables: Rulebook, tmp_path: Path) -> None:
    more = 'rewrite = "a\\n\\n\\nb"\nanchor = ["old"]\ninclude = ["hipport/x.h"]'
    match = '((call_expression function: (identifier) @func) @root (#eq? @func "old"))'
    book = rules(tmp_path, rule("HP998", "r", match, more),
                 ("t.tsv", HEADER + ROWS))  # fmt: skip
    result = run("#include <vector>\nvoid f() {\n  old();\n  cudaGone();\n}\n", book)
    assert (
        result.output.decode()
        == "#include <hipport/x.h>\n#include <vector>\nvoid f() {\n  a\n\n\nb;\n  cudaGone();\n}\n"
    )
    assert [(d.id, d.line, d.column) for d in result.diagnostics] == [("HP101", 4, 3)]
    assert [(e.edit.rule, e.line) for e in result.edits] == [("HP998", 3), ("HP909", 1)]


def test_nested_matches_are_all_rewritten(tmp_path: Path) -> None:
    book = rules(tmp_path, rule("HP998", "r", CALL, 'rewrite = "fresh(${x}, 32)"\n[[variant]]\nfunc = "old"'))
    result = run("void f() { old(old(old(1 /* one */))); }", book)
    assert result.output.decode() == "void f() { fresh(fresh(fresh(1 /* one */, 32), 32), 32); }"
    assert {e.pass_number for e in result.edits} == {1}


def test_an_outer_change_waits_for_nothing_and_inner_ones_follow(tmp_path: Path) -> None:
    swap = CALL.replace(". (_) @x .", ". (_) @x . (_) @y .")
    book = rules(tmp_path, rule("HP998", "r", swap, 'rewrite = "fresh(${y}, ${x})"\n[[variant]]\nfunc = "old"'))
    result = run("void f() { old(1, old(2, 3)); }", book)
    assert result.output.decode() == "void f() { fresh(fresh(3, 2), 1); }"
    assert {e.pass_number for e in result.edits} == {1, 2}


def test_conflict_is_reported_and_neither_applied(tmp_path: Path) -> None:
    book = rules(
        tmp_path,
        rule("HP997", "a", CALL, 'rewrite = "one(${x})"\n[[variant]]\nfunc = "old"'),
        rule("HP998", "b", CALL, 'rewrite = "two(${x})"\n[[variant]]\nfunc = "old"'),
    )
    result = run("void f() { old(1); }", book)
    assert result.output == b"void f() { old(1); }"
    assert [(d.id, d.subject, d.severity) for d in result.diagnostics] == [("HP901", "HP997/HP998", Severity.ERROR)]


def test_a_rule_wins_over_a_table_row(tables: Rulebook, tmp_path: Path) -> None:
    book = rules(tmp_path, rule("HP998", "a", CALL, 'rewrite = { func = "special" }\n[[variant]]\nfunc = "cudaGone"'),
                 ("t.tsv", HEADER + ROWS))  # fmt: skip
    result = run("void f() { cudaGone(1); }", book)
    assert result.output == b"void f() { special(1); }"
    assert result.diagnostics == ()


def test_rules_that_never_rest_are_reported(tmp_path: Path) -> None:
    book = rules(tmp_path, rule("HP998", "a", CALL, 'rewrite = "old(f(${x}))"\n[[variant]]\nfunc = "old"'))
    result = run("void f() { old(1); }", book)
    assert "HP905" in {d.id for d in result.diagnostics}


def test_a_broken_output_is_reported(tmp_path: Path) -> None:
    book = rules(tmp_path, rule("HP998", "a", CALL, 'rewrite = "((${x}"\n[[variant]]\nfunc = "old"'))
    result = run("void f() { old(1); }", book)
    assert result.parse_errors_after > result.parse_errors_before
    assert "HP906" in {d.id for d in result.diagnostics}


def test_a_match_in_broken_text_is_not_edited(tmp_path: Path) -> None:
    book = rules(tmp_path, rule("HP998", "a", CALL, 'rewrite = "fresh(${x})"\n[[variant]]\nfunc = "old"'))
    result = run("void f() { old(1 +* ); }\n", book)
    assert result.output == b"void f() { old(1 +* ); }\n"
    assert [d.id for d in result.diagnostics] in ([], ["HP998"])


def test_unknown_precondition_reports_and_blocks(tmp_path: Path) -> None:
    more = 'rewrite = "fresh(${x})"\nrequires = ["in_device_code"]\n[[variant]]\nfunc = "old"'
    book = rules(tmp_path, rule("HP998", "a", CALL, more))
    text = (
        "__device__ int d() { return old(1); }\nint h() { return old(2); }\n#define M() old(3)\n"
        "CUTE_DEVICE int c() { return old(4); }\nMY_DEVICE_INLINE int u() { return old(5); }\n"
        "auto l = [] __device__ (int x) { return old(6); };\n"
    )
    result = run(text, book)
    assert result.output.decode() == text.replace("old(1)", "fresh(1)").replace("old(4)", "fresh(4)").replace(
        "old(6)", "fresh(6)"
    )
    assert {d.line for d in result.diagnostics} >= {3}
    assert all("cannot tell" in d.message for d in result.diagnostics)


def test_unsafe_edits_need_the_option(tmp_path: Path) -> None:
    book = rules(tmp_path, rule("HP998", "a", CALL, 'rewrite = "fresh(${x})"\n[[variant]]\nfunc = "old"', "unsafe"))
    kept = run("void f() { old(1); }", book)
    assert kept.output == b"void f() { old(1); }"
    assert "--unsafe" in kept.diagnostics[0].message
    assert run("void f() { old(1); }", book, unsafe=True).output == b"void f() { fresh(1); }"


def test_counted_rules_notice_drift(tmp_path: Path) -> None:
    more = 'rewrite = "fresh(${x})"\nfiles = ["*/named.h"]\nexpect = 2\n[[variant]]\nfunc = "old"'
    book = rules(tmp_path, rule("HP998", "a", CALL, more))
    two = run("void f() { old(1); old(2); }", book, path="up/named.h")
    assert two.output == b"void f() { fresh(1); fresh(2); }"
    assert two.diagnostics == ()
    one = run("void f() { old(1); }", book, path="up/named.h")
    assert [d.id for d in one.diagnostics] == ["HP904"]
    assert run("void f() { old(1); }", book, path="up/other.h").output == b"void f() { old(1); }"


def test_directive_inside_a_match_is_not_deleted(tmp_path: Path) -> None:
    drop = CALL.replace(". (_) @x .", ". (_) @x . (_) .")
    book = rules(tmp_path, rule("HP998", "a", drop, 'rewrite = "fresh(${x})"\n[[variant]]\nfunc = "old"'))
    text = "void f() {\n  old(1,\n#if A\n    2\n#endif\n  );\n}\n"
    assert run(text, book).output == text.encode()


def test_comments_in_replaced_text_survive(tmp_path: Path) -> None:
    drop = CALL.replace(". (_) @x .", ". (_) . (_) @x .")
    book = rules(tmp_path, rule("HP998", "a", drop, 'rewrite = "fresh(${x})"\n[[variant]]\nfunc = "old"'))
    assert run("void f() { old(0 /* mask */, v); }", book).output == b"void f() { fresh(/* mask */ v); }"


@pytest.mark.parametrize(
    ("data", "identity"),
    [(b"int a;\0int b;", "HP902"), (b"int abcd;\n" * (17 << 17), "HP903")],
)
def test_unfit_files_are_copied(tables: Rulebook, data: bytes, identity: str) -> None:
    result = run(data, tables)
    assert (result.state, result.output) == (FileState.FAILED, data)
    assert [d.id for d in result.diagnostics] == [identity]


def test_vendored_files_are_reported_and_copied(tables: Rulebook) -> None:
    text = '#include <cuda_runtime.h>\nvoid f() { cudaMalloc(1); asm("x"); }\n'
    result = run(text, tables, path="csrc/cutlass/include/a.h")
    assert (result.state, result.output) == (FileState.PASSTHROUGH, text.encode())
    assert {d.id for d in result.diagnostics} == {"HP900", "HP910"}


def test_output_of_another_tool_is_left(tables: Rulebook) -> None:
    text = "// !!! This is a file automatically generated by hipify!!!\nvoid f() { cudaMalloc(1); }\n"
    result = run(text, tables)
    assert (result.output, [d.id for d in result.diagnostics]) == (text.encode(), ["HP908"])


def test_other_files_are_copied(tables: Rulebook) -> None:
    result = run("cudaMalloc", tables, path="docs/readme.md")
    assert (result.state, result.output) == (FileState.COPIED, b"cudaMalloc")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#pragma once\n\nvoid f() { old(1); }\n", "#pragma once\n#include <hipport/x.h>\n\nvoid f() { fresh(1); }\n"),
        ("// licence\n#ifndef A_H\n#define A_H\nvoid f() { old(1); }\n#endif\n",
         "// licence\n#ifndef A_H\n#define A_H\n#include <hipport/x.h>\nvoid f() { fresh(1); }\n#endif\n"),
        ("#ifndef A_H\n#define A_H\n#include <vector>\nvoid f() { old(1); }\n#endif\n",
         "#ifndef A_H\n#define A_H\n#include <hipport/x.h>\n#include <vector>\nvoid f() { fresh(1); }\n#endif\n"),
        ("#ifdef X\n#include <x.h>\n#endif\n#include <y.h>\nvoid f() { old(1); }\n",
         "#ifdef X\n#include <x.h>\n#endif\n#include <hipport/x.h>\n#include <y.h>\nvoid f() { fresh(1); }\n"),
        ("/* licence\n */\n// more\n\nvoid f() { old(1); }\n",
         "/* licence\n */\n// more\n#include <hipport/x.h>\n\nvoid f() { fresh(1); }\n"),
        ("\ufeffvoid f() { old(1); }", "\ufeff#include <hipport/x.h>\nvoid f() { fresh(1); }"),
        ("void f() { old(1); }\r\n", "#include <hipport/x.h>\r\nvoid f() { fresh(1); }\r\n"),
        ("#include <hipport/x.h>\nvoid f() { old(1); }\n", "#include <hipport/x.h>\nvoid f() { fresh(1); }\n"),
        ("#define M() old(1)\n#include <y.h>\n", "#include <hipport/x.h>\n#define M() fresh(1)\n#include <y.h>\n"),
    ],
)  # fmt: skip
def test_where_includes_go(tmp_path: Path, before: str, after: str) -> None:
    more = 'rewrite = "fresh(${x})"\ninclude = ["hipport/x.h"]\n[[variant]]\nfunc = "old"'
    book = rules(tmp_path, rule("HP998", "a", CALL, more))
    result = run(before, book)
    assert result.output.decode() == after
    assert run(result.output, book).output == result.output


def test_rename_of_files_and_includes_agree(tables: Rulebook) -> None:
    project = Project(files=frozenset(("ops/ball_kernel.cuh", "ops/ball.cu", "ops/plain.h")))
    text = '#include "ball_kernel.cuh"\n#include "plain.h"\n#include "elsewhere.cuh"\n#include <cub/cub.cuh>\n'
    result = run(text, tables, path="ops/ball.cu", rename=True, project=project)
    assert result.output_path == "ops/ball.hip"
    assert result.includes == ('"ball_kernel.hip.h"', '"plain.h"', '"elsewhere.cuh"', "<cub/cub.cuh>")
    assert run(result.output, tables, path="ops/ball.hip", rename=True, project=project).output == result.output
    header = run("int a;", tables, path="ops/ball_kernel.cuh", rename=True, project=project)
    assert header.output_path == "ops/ball_kernel.hip.h"


def test_a_quoted_include_of_the_projects_own_file_is_left(tables: Rulebook) -> None:
    project = Project(files=frozenset(("src/cuda.h",)))
    assert run('#include "cuda.h"\n', tables, path="src/a.cu", project=project).output == b'#include "cuda.h"\n'
    assert (
        run("#include <cuda.h>\n", tables, path="src/a.cu", project=project).output == b"#include <hip/hip_runtime.h>\n"
    )


@pytest.mark.parametrize("expression", ["-" * 5000 + "x", "+".join("x" * 3000), "f(" * 900 + "x" + ")" * 900])
def test_deep_nesting_is_survived(expression: str) -> None:
    text = f"__global__ void k(int x) {{ if ({expression}) __syncthreads(); cudaFree(__shfl_sync(~0u, x, 1)); }}\n"
    result = run(text, load_rulebook())
    assert b"hipFree(" in result.output
    assert run(result.output, load_rulebook()).output == result.output


@pytest.mark.parametrize(
    "garbage",
    ["(" * 50000, "{" * 50000, "f<" * 20000, "#if A\n" * 5000, "/*" * 20000, 'R"(' * 20000, "#define X \\\n" * 5000,
     "__launch_bounds__(1, " * 5000, "k<<<" * 5000, '"' * 20001, "cudaMalloc(" * 5000],
)  # fmt: skip
def test_garbage_takes_bounded_time(garbage: str) -> None:
    start = time.process_time()
    run(garbage, load_rulebook())
    assert time.process_time() - start < 10  # seconds; each was minutes before there were bounds
