"""The lowering table: every form lowers, binding and scopes are right, what is unknown is refused with its reason."""

from __future__ import annotations

import pytest

from hipport.rewrite.transforms.ptx_context import TABLE, Refusal
from hipport.rewrite.transforms.ptx_forms import families, form
from hipport.rewrite.transforms.ptx_lower import lower_asm
from hipport.rewrite.transforms.ptx_refused import HOPPER
from hipport.syntax.ptx_asm import parse_asm

ALL_FORMS = [text for family in families() for text in family.forms]


def cpp(text: str) -> str:
    return lower_asm(parse_asm(text.encode(), 0)).text


def refusal(text: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        cpp(text)
    return caught.value


@pytest.mark.parametrize("text", ALL_FORMS)
def test_every_form_lowers(text: str) -> None:
    lowered = lower_asm(form(text).statement(), in_kernel=True)
    assert "asm" not in lowered.text
    assert "%" not in lowered.text


def test_every_opcode_has_a_form() -> None:
    """An opcode of the table is either refused as a whole or shown on the documentation page."""
    shown = {word.split(".")[0] for text in ALL_FORMS for word in text.replace(";", " ").replace("@p", " ").split()}
    refused = {"wgmma", "tcgen05", "tensormap", "mapa", "getctarank", "clusterlaunchcontrol", "multimem", "setmaxnreg",
               "tex", "tld4", "suld", "sust", "sured", "txq", "suq", "istypep", "call", "ret", "brx", "alloca",
               "stacksave", "stackrestore"}  # fmt: skip
    rare = {"exit", "applypriority", "discard", "vote", "setp"}
    missing = set(TABLE) - shown - refused - rare
    assert not missing


def test_plain_operands_stay_in_place() -> None:
    assert cpp('asm("add.s32 %0, %1, 5;" : "=r"(x) : "r"(a + b));') == "x = hipport::ptx::add<int>(a + b, 5)"


def test_bits_of_a_float_in_an_integer_operand() -> None:
    assert cpp('asm("abs.f32 %0, %1;" : "=r"(x) : "r"(u));') == (
        "x = __float_as_uint(hipport::ptx::fabs(__uint_as_float(u)))"
    )


def test_output_that_is_read_later_is_bound_first() -> None:
    """All inputs of a statement are read before any output is written, although C++ would write the first at once."""
    text = cpp('asm("add.u32 %0, %2, 1; add.u32 %1, %2, 2;" : "=r"(a), "=r"(b) : "r"(a));')
    assert text.index("unsigned ptx_2 = a") < text.index("a = ptx_0")
    assert "ptx_1 = hipport::ptx::add<unsigned>(ptx_2, 2)" in text


def test_operand_with_side_effects_is_evaluated_once() -> None:
    text = cpp('asm("mad.lo.u32 %0, %1, %1, %1;" : "=r"(x) : "r"(*p++));')
    assert text.count("*p++") == 1


def test_pointers_are_bits() -> None:
    text = cpp('asm("add.u64 %0, %1, 16;" : "=l"(p) : "l"(q));')
    assert text == "hipport::ptx::assign(p, hipport::ptx::add<unsigned long long>(hipport::ptx::bits64(q), 16))"


def test_registers_of_nested_scopes_do_not_meet() -> None:
    text = cpp('asm("{ .reg .u32 t; mov.u32 t, 1; { .reg .u32 t; mov.u32 t, 2; } mov.u32 %0, t; }" : "=r"(x));')
    assert "ptx_t = 1" in text
    assert "ptx_t_1 = 2" in text
    assert "ptx_0 = ptx_t;" in text


def test_guard_becomes_if() -> None:
    text = cpp('asm("{ .reg .pred p; setp.ne.s32 p, %1, 0; @!p mov.u32 %0, 7; }" : "+r"(x) : "r"(c));')
    assert "if (!ptx_p) ptx_0 = 7;" in text
    assert "unsigned ptx_0 = x;" in text


def test_branches_become_local_labels() -> None:
    text = cpp('asm("{ .reg .pred p; L: setp.ne.u32 p, %0, 0; @p bra L; }" :: "r"(x));')
    assert text.startswith("do { __label__ ptx_L;")
    assert "if (ptx_p) goto ptx_L;" in text


def test_empty_text_is_a_compiler_barrier() -> None:
    assert cpp('asm volatile("" ::: "memory");') == "__atomic_signal_fence(__ATOMIC_SEQ_CST)"
    assert cpp('asm volatile("" : "+r"(x));') == "static_cast<void>(0)"


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ('asm("frob.u32 %0, %1;" : "=r"(a) : "r"(b));', "HP500"),
        ('asm("add.u32 %0, %1, 1;" : "=r"(a) : "x"(b));', "HP501"),
        ('asm("add.frob.u32 %0, %1, %1;" : "=r"(a) : "r"(b));', "HP502"),
        ('asm("add.u31 %0, %1, %1;" : "=r"(a) : "r"(b));', "HP502"),
        ('asm("mov.u32 %0, %%envreg3;" : "=r"(a));', "HP503"),
        ('asm("add.u32 %0, %1;" : "=r"(a) : "r"(b));', "HP504"),
        ('asm("add.u32 %0, %1, x;" : "=r"(a) : "r"(b));', "HP504"),
        ('asm("add.u32 %0, %7, 1;" : "=r"(a) : "r"(b));', "HP504"),
        ('asm("add.u64 %0, %1, 1;" : "=l"(a) : "r"(b));', "HP504"),
        ('asm("wgmma.fence.sync.aligned;");', "HP505"),
        ('asm("ld.param.u32 %0, [%1];" : "=r"(a) : "l"(b));', "HP506"),
        ('asm("addc.u32 %0, %1, %1;" : "=r"(a) : "r"(b));', "HP509"),
        ('asm("exit;");', "HP513"),
        ('asm("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0}, {%1}, {%1}, {%0};" : "+f"(a) : "r"(b));', "HP504"),
        (
            'asm("mma.sync.m16n8k4.row.col.f32.f16.f16.f32 {%0}, {%1}, {%1}, {%0};" : "+f"(a) : "r"(b));',
            "HP601",
        ),
        ('asm("ldmatrix.sync.aligned.m16n16.x4.trans.shared.b8 {%0}, [%1];" : "=r"(a) : "r"(b));', "HP502"),
        ('asm("ldmatrix.sync.aligned.m8n16.x1.shared.b8 {%0}, [%1];" : "=r"(a) : "r"(b));', "HP502"),
        ('asm("ldmatrix.sync.aligned.m8n8.x1.shared.b16.b4x16_p64 {%0}, [%1];" : "=r"(a) : "r"(b));', "HP502"),
        ('asm("wmma.load.a.sync.aligned.row.m16n16k4.f16 {%0}, [%1];" : "=r"(a) : "l"(b));', "HP601"),
        ('asm("wmma.load.a.sync.aligned.m16n16k16.f16 {%0}, [%1];" : "=r"(a) : "l"(b));', "HP502"),
        ('asm("wmma.store.d.sync.aligned.row.m16n16k16.f32 [%0], {%1};" :: "l"(b), "f"(a));', "HP504"),
        ('asm("dp2a.s32.s32 %0, %1, %1, %1;" : "=r"(a) : "r"(b));', "HP504"),
        ('asm("cvt.rn.satfinite.f32.f64 %0, %1;" : "=f"(a) : "d"(b));', "HP502"),
        ('asm("cvt.rn.satfinite.ue8m0x2.f32 %0, %1, %1;" : "=h"(a) : "f"(b));', "HP502"),
    ],
)
def test_refusals(text: str, id_: str) -> None:
    found = refusal(text)
    assert found.id == id_
    assert found.message
    assert found.next_step
    assert found.subject


@pytest.mark.parametrize(
    "name",
    [
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32",
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", "cp.async.bulk.commit_group",
        "mbarrier.arrive.expect_tx.shared::cta.b64", "mapa.shared::cluster.u32", "barrier.cluster.arrive.aligned",
        "setmaxnreg.dec.sync.aligned.u32", "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32",
        "fence.proxy.tensormap::generic.acquire.gpu", "prefetch.tensormap",
        "mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.kind::mxf4.block_scale.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0", "tex.2d.v4.f32.f32",
        "cvt.rs.satfinite.e4m3x4.f32", "cvt.rs.f16x2.f32", "fma.rn.oob.relu.f16x2", "st.bulk.weak.shared::cta",
        "istypep.texref",
    ],
)  # fmt: skip
def test_hopper_and_later_are_recognised(name: str) -> None:
    found = refusal(f'asm("{name} [%0], %1;" :: "r"(a), "r"(b));')
    assert found.id == "HP505"
    assert found.next_step in [advice for _, advice in HOPPER]


def test_stmatrix_takes_registers_of_any_32_bit_type() -> None:
    """An int in the braces of a vector of unsigned does not compile: it would be narrowed."""
    store = 'asm("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(p), "r"(low | 1), "r"(high))'
    assert "{{static_cast<unsigned>(low | 1), static_cast<unsigned>(high)}}" in cpp(store)
