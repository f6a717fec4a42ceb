"""Which files are units, with which include folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipport.build.settings import BuildSettings
from hipport.build.tree import Tree
from hipport.build.units import find_units
from hipport.core import HipportError


def make_tree(root: Path, files: dict[str, str]) -> Tree:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return Tree.read(root)


def units_of(root: Path, files: dict[str, str], **settings: tuple[str, ...]) -> dict[str, object]:
    tree = make_tree(root, files)
    return {unit.path: unit for unit in find_units(tree, BuildSettings(**settings))}


KERNEL = "__global__ void k(float* p) { p[0] = 1; }\n"


def test_sources_are_units_and_headers_are_not(tmp_path: Path) -> None:
    units = units_of(
        tmp_path,
        {
            "a.cu": KERNEL,
            "b.hip": KERNEL,
            "host.cpp": "int main() {}\n",
            "h.h": KERNEL,
            "note.txt": "",
            "c.cuh": KERNEL,
        },
    )
    assert {path: unit.device for path, unit in units.items()} == {"a.cu": True, "b.hip": True, "host.cpp": False}


def test_cpp_with_kernels_or_launches_has_device_code(tmp_path: Path) -> None:
    units = units_of(
        tmp_path,
        {
            "own.cpp": KERNEL,
            "by_header.cpp": '#include "inner/k.h"\n',
            "launch.cpp": "void f() { k<<<1, 1>>>(0); }\n",
            "none.cpp": '#include "plain.h"\n',
            "word.cpp": '#include "macros.h"\n',
            "macros.h": "#define KERNEL __global__ static\n # define GLOBAL\t__global__\n",
            "maker.cpp": "#define MAKE(name) __global__ void name() {}\n",
            "inner/k.h": KERNEL,
            "plain.h": "int x();\n",
        },
    )
    assert {path for path, unit in units.items() if unit.device} == {
        "own.cpp",
        "by_header.cpp",
        "launch.cpp",
        "maker.cpp",
    }


def test_a_source_that_another_file_includes_is_no_unit(tmp_path: Path) -> None:
    assert set(units_of(tmp_path, {"a.cu": '#include "impl.cu"\n', "impl.cu": KERNEL})) == {"a.cu"}


def test_hidden_folders_are_left_out(tmp_path: Path) -> None:
    assert set(units_of(tmp_path, {"a.cu": KERNEL, ".git/b.cu": KERNEL, ".hipport/c.cu": KERNEL})) == {"a.cu"}


def test_include_folders_are_found_in_the_tree(tmp_path: Path) -> None:
    units = units_of(
        tmp_path,
        {
            "csrc/op/a.cu": '#include "lib/x.h"\n#include "near.h"\n#include <ext/y.hpp>\n#include <vector>\n',
            "csrc/op/near.h": "",
            "third/include/lib/x.h": "#include <lib/z.h>\n",
            "third/include/lib/z.h": "",
            "vendor/ext/y.hpp": "",
        },
    )
    assert units["csrc/op/a.cu"].include_dirs == ("third/include", "vendor")  # in the order of need
    assert units["csrc/op/a.cu"].reached == (
        "csrc/op/a.cu",
        "third/include/lib/x.h",
        "csrc/op/near.h",
        "vendor/ext/y.hpp",
        "third/include/lib/z.h",
    )


def test_the_nearest_of_several_headers_wins(tmp_path: Path) -> None:
    units = units_of(
        tmp_path,
        {
            "one/src/a.cu": '#include "cfg/c.h"\n',
            "two/src/a.cu": '#include "cfg/c.h"\n',
            "one/include/cfg/c.h": "",
            "two/include/cfg/c.h": "",
        },
    )
    assert units["one/src/a.cu"].include_dirs == ("one/include",)
    assert units["two/src/a.cu"].include_dirs == ("two/include",)


def test_a_plain_system_include_never_adds_a_folder(tmp_path: Path) -> None:
    units = units_of(tmp_path, {"a.cu": "#include <string.h>\n", "tools/string.h": ""})
    assert units["a.cu"].include_dirs == ()


def test_given_folders_come_first_and_stop_the_search(tmp_path: Path) -> None:
    files = {"a.cu": '#include "x/x.h"\n', "p/x/x.h": "", "q/x/x.h": ""}
    assert units_of(tmp_path, files, include_dirs=("q",))["a.cu"].include_dirs == ("q",)


def test_units_that_reach_cutlass_look_into_the_overlay_first(tmp_path: Path) -> None:
    files = {
        "csrc/a.cu": "#include <cute/tensor.hpp>\n",
        "csrc/b.cu": KERNEL,
        "csrc/cutlass/include/cute/tensor.hpp": "",
    }
    assert units_of(tmp_path / "without", files)["csrc/a.cu"].include_dirs == ("csrc/cutlass/include",)
    files["include/hipport/cute/overlay/cute/tensor.hpp"] = ""
    units = units_of(tmp_path / "with", files)
    assert units["csrc/a.cu"].include_dirs == ("include/hipport/cute/overlay", "csrc/cutlass/include")
    assert units["csrc/b.cu"].include_dirs == ()


def test_torch_is_seen_through_headers_and_its_extension_name_defined(tmp_path: Path) -> None:
    units = units_of(
        tmp_path,
        {
            "ext/a.cu": '#include "h.h"\n',
            "ext/h.h": "#include <ATen/hip/HIPContext.h>\n",
            "ext/b.cu": KERNEL,
            "ext/setup.py": (
                "from setuptools import setup\nraise SystemExit\n"
                "setup(ext_modules=[CUDAExtension(name='my_ext', sources=['a.cu', 'b.cu', 'gone.cu'])])\n"
            ),
        },
    )
    assert units["ext/a.cu"].uses_torch
    assert units["ext/a.cu"].defines == ("TORCH_EXTENSION_NAME=my_ext",)
    assert not units["ext/b.cu"].uses_torch
    assert units["ext/b.cu"].extension == "my_ext"


def test_a_setup_py_that_is_not_python_is_skipped(tmp_path: Path) -> None:
    assert set(units_of(tmp_path, {"a.cu": KERNEL, "setup.py": "print 'old'\n"})) == {"a.cu"}


def test_units_are_chosen_by_pattern_and_by_name(tmp_path: Path) -> None:
    files = {"x/a_fwd.cu": KERNEL, "x/a_bwd.cu": KERNEL, "y/b_fwd.cu": KERNEL}
    assert set(units_of(tmp_path, files, units=("x/*",))) == {"x/a_fwd.cu", "x/a_bwd.cu"}
    assert set(units_of(tmp_path, files, units=("*_fwd.cu",))) == {"x/a_fwd.cu", "y/b_fwd.cu"}
    assert set(units_of(tmp_path, files, exclude=("y/*",))) == {"x/a_fwd.cu", "x/a_bwd.cu"}


def test_kernels_choose_units_also_through_headers_and_attributes(tmp_path: Path) -> None:
    files = {
        "a.cu": '#include "soft.h"\n',
        "b.cu": KERNEL,
        "soft.h": "template <int N>\n__global__ void __launch_bounds__(N * (2))\n softmax_kernel(float* p) {}\n",
    }
    assert set(units_of(tmp_path, files, kernels=("softmax",))) == {"a.cu"}
    assert set(units_of(tmp_path, files, kernels=("soft*_kernel",))) == {"a.cu"}
    assert set(units_of(tmp_path, files, kernels=("k",))) == {"a.cu", "b.cu"}  # contained in softmax_kernel too


def test_kernels_that_a_macro_defines_choose_units(tmp_path: Path) -> None:
    """FlashAttention defines its kernels so."""
    files = {
        "a.cu": "#define DEFINE(name, ...) \\\ntemplate <__VA_ARGS__> \\\n__global__ void name(int n)\n"
        "DEFINE(flash_kernel, bool A) { f(n); }\n",
        "b.cu": KERNEL,
    }
    assert set(units_of(tmp_path, files, kernels=("flash",))) == {"a.cu"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"units": ("nope*",)}, "no unit matches 'nope*'"), ({"kernels": ("nope",)}, "no unit reaches a kernel")],
)
def test_a_choice_that_matches_nothing_is_an_error(
    tmp_path: Path, settings: dict[str, tuple[str, ...]], message: str
) -> None:
    with pytest.raises(HipportError, match=message.replace("*", r"\*")):
        units_of(tmp_path, {"a.cu": KERNEL}, **settings)


def test_include_cycles_and_odd_names_end(tmp_path: Path) -> None:
    units = units_of(tmp_path, {"ä b.cu": '#include "h 1.h"\n', "h 1.h": '#include "ä b.cu"\n#include "h 1.h"\n'})
    assert set(units) == {"ä b.cu"}


def test_no_tree_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HipportError, match="not a folder"):
        Tree.read(tmp_path / "absent")
