"""Kernels by name and template arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipport.build.instantiations import (
    Instantiation,
    Pattern,
    choose,
    instantiation,
    split_arguments,
    template_parameters,
)
from hipport.build.tree import Tree
from hipport.core import HipportError

FLASH = (
    "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::half_t, Base<64, 128>>, false, true>"
    "(flash::Flash_fwd_params)"
)
NAMES = {"flash_fwd_kernel": ("Kernel_traits", "Is_dropout", "Is_causal")}


@pytest.mark.parametrize(
    ("demangled", "function", "arguments"),
    [
        ("spill(float*, int)", "spill", ()),
        ("void scale<64>(float*)", "scale", ("64",)),
        ("void (anonymous namespace)::k<3, int>(int (*)(float))", "(anonymous namespace)::k", ("3", "int")),
        ("void a::b<c<d<1>, 2>, (E)1>()", "a::b", ("c<d<1>, 2>", "(E)1")),
        ("plain_c_kernel", "plain_c_kernel", ()),
        ("void k<f(int, float)>(unsigned int)", "k", ("f(int, float)",)),
    ],
)
def test_demangled_names(demangled: str, function: str, arguments: tuple[str, ...]) -> None:
    what = instantiation("_Z", demangled, {})
    assert (what.function, what.arguments, what.parameters) == (function, arguments, ())


def test_named_arguments() -> None:
    what = instantiation("_Z", FLASH, NAMES)
    assert what.readable == (
        "flash::flash_fwd_kernel<Kernel_traits=Flash_fwd_kernel_traits<64, 128, cutlass::half_t, Base<64, 128>>, "
        "Is_dropout=false, Is_causal=true>"
    )
    assert what.short == "flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::half_t>, Is_causal>"
    assert Pattern.parse(what.readable).matches(what)


def test_short_form_of_a_wrapped_argument() -> None:
    what = instantiation("_Z", "void k<W<T<64, half, U<64>>, 32>, 3, V<>>(int)", {})
    assert what.short == "k<W<T<64, half>, 32>, 3, V<>>"


def test_names_of_another_number_are_not_used() -> None:
    """An overload or a specialisation with other parameters."""
    assert instantiation("_Z", "void flash::flash_fwd_kernel<1, 2>(int)", NAMES).parameters == ()


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("flash_fwd_kernel", True),
        ("flash::flash_fwd_kernel", True),
        ("flash_*", True),
        ("fwd_kernel", False),
        ("flash_fwd_kernel<Is_causal=true>", True),
        ("flash_fwd_kernel<Is_causal=true, Is_dropout=true>", False),
        ("flash_fwd_kernel<Kernel_traits=*_traits<64,*half_t*>>", True),
        ("flash_fwd_kernel<Kernel_traits=*_traits<128,*>>", False),
        ("*<Is_causal=true>", True),
        ("flash_fwd_kernel<*half_t*, false, true>", True),
        ("flash_fwd_kernel<*half_t*, false>", False),
        ("flash_fwd_kernel<*half_t*, *>", True),
        ("flash_fwd_kernel<*bfloat16_t*, *>", False),
        ("flash_fwd_kernel<*, Is_causal=true>", True),
    ],
)
def test_patterns(pattern: str, matches: bool) -> None:
    assert Pattern.parse(pattern).matches(instantiation("_Z", FLASH, NAMES)) is matches


def test_choose_and_what_it_says_of_a_pattern_without_a_match() -> None:
    kernels = [instantiation("_Z1", FLASH, NAMES), Instantiation("_Z2", "combine")]
    assert choose((), kernels) == tuple(kernels)
    assert choose(("combine",), kernels) == (kernels[1],)
    assert choose(("combine", "flash_fwd_kernel<Is_causal=true>"), kernels) == tuple(kernels)
    with pytest.raises(HipportError, match="no kernel matches 'nothing'"):
        choose(("nothing",), kernels)
    assert choose(("nothing",), kernels, strict=False) == ()
    with pytest.raises(HipportError) as caught:
        choose(("flash_fwd_kernel<Causal=true>",), kernels)
    assert "they are: Kernel_traits, Is_dropout, Is_causal" in str(caught.value.next_step)
    with pytest.raises(HipportError, match="cannot read the pattern"):
        choose(("a<b",), kernels)


def test_arguments_are_split_outside_of_brackets() -> None:
    assert split_arguments("a, b<c, d>, (e, f), {g, h}") == ("a", "b<c, d>", "(e, f)", "{g, h}")
    assert split_arguments("") == ()


def parameters(tmp_path: Path, text: str) -> dict[str, tuple[str, ...]]:
    (tmp_path / "a.cu").write_text(text, encoding="utf-8")
    return template_parameters(Tree.read(tmp_path), ["a.cu"])


def test_template_parameters_of_the_source(tmp_path: Path) -> None:
    found = parameters(
        tmp_path,
        """
template <typename T, int N = 4, bool B = true, template <class> class C>  // one
__global__ void __launch_bounds__(256, 2) plain(T* p) {}
template<class T> struct S { };
template<typename T> T twice(T x);
__global__ void no_template(float* p) {}
template <typename... Ts> __global__ void pack(Ts... ts) {}
template <int> __global__ void unnamed(float* p) {}
template <int A> __global__ void two(float* p);
template <int B> __global__ void two(float* p, int n) {}
""",
    )
    assert found == {"plain": ("T", "N", "B", "C")}


def test_template_parameters_that_a_macro_writes(tmp_path: Path) -> None:
    found = parameters(
        tmp_path,
        """
#define KERNEL(name, ...) \\
template <typename Traits, __VA_ARGS__> \\
__global__ void __launch_bounds__(Traits::kThreads) name(const Params params)

KERNEL(forward, bool Is_causal, bool Has_alibi) { run<Traits, Is_causal>(params); }
KERNEL(combine, int kBlockM) { }
""",
    )
    assert found == {"forward": ("Traits", "Is_causal", "Has_alibi"), "combine": ("Traits", "kBlockM")}
