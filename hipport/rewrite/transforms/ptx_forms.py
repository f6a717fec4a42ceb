"""Representative forms of every PTX instruction in the table: the source of the documentation page and of its tests.

A form is PTX with constraint letters in place of operands: ``add.s32 =r, r, r``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hipport.core import Span
from hipport.syntax.ptx_asm import AsmStatement, Constraint

EXACT = "exact"
APPROXIMATE = "approximate"
MODEL = "logical warps"

#: family -> (exactness, cost in instructions on CDNA, forms)
FORMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "Integer arithmetic": (EXACT, "1-4; 64-bit multiply about 8; division a library sequence", (
        "add.u32 =r, r, r", "add.s32 =r, r, 7", "add.u64 =l, l, l", "add.u16 =h, h, h", "add.sat.s32 =r, r, r",
        "add.u16x2 =r, r, r", "sub.s32 =r, r, r", "sub.sat.s32 =r, r, r", "sub.s64 =l, l, l",
        "mul.lo.u32 =r, r, r", "mul.lo.s32 =r, r, r", "mul.hi.u32 =r, r, r", "mul.hi.s32 =r, r, r",
        "mul.lo.u64 =l, l, l", "mul.hi.u64 =l, l, l", "mul.lo.u16 =h, h, h", "mul.hi.s16 =h, h, h",
        "mul.wide.u32 =l, r, r", "mul.wide.s32 =l, r, r", "mul.wide.u16 =r, h, h", "mul.wide.s16 =r, h, h",
        "mad.lo.u32 =r, r, r, r", "mad.lo.s32 =r, r, r, r", "mad.hi.u32 =r, r, r, r", "mad.hi.s32 =r, r, r, r",
        "mad.hi.sat.s32 =r, r, r, r", "mad.wide.u32 =l, r, r, l", "mad.wide.s32 =l, r, r, l",
        "mad.lo.u64 =l, l, l, l", "mad.hi.u64 =l, l, l, l", "mul24.lo.u32 =r, r, r", "mul24.hi.s32 =r, r, r",
        "mad24.lo.s32 =r, r, r, r", "div.u32 =r, r, r", "div.s64 =l, l, l", "rem.s32 =r, r, r", "rem.u64 =l, l, l",
        "sad.u32 =r, r, r, r", "sad.s32 =r, r, r, r", "abs.s32 =r, r", "abs.s64 =l, l", "neg.s32 =r, r",
        "dp4a.u32.u32 =r, r, r, r", "dp4a.s32.s32 =r, r, r, r", "dp4a.s32.u32 =r, r, r, r",
        "dp2a.lo.u32.u32 =r, r, r, r", "dp2a.hi.s32.s32 =r, r, r, r", "dp2a.lo.s32.u32 =r, r, r, r",
    )),
    "Extended-precision arithmetic": (EXACT, "1-3 each", (
        "add.cc.u32 =r, r, r; addc.cc.u32 =r, r, r; addc.u32 =r, r, r",
        "sub.cc.u32 =r, r, r; subc.cc.u32 =r, r, r; subc.u32 =r, r, r",
        "mad.lo.cc.u32 =r, r, r, r; madc.hi.cc.u32 =r, r, r, r; madc.lo.u32 =r, r, r, r",
        "mad.hi.cc.u32 =r, r, r, r; madc.hi.u32 =r, r, r, r", "add.cc.u64 =l, l, l; addc.u64 =l, l, l",
    )),
    "Comparison and selection": (EXACT, "1-3", (
        "min.s32 =r, r, r", "min.u32 =r, r, r", "max.s64 =l, l, l", "max.u64 =l, l, l", "min.u16 =h, h, h",
        "max.s16x2 =r, r, r", "min.u16x2 =r, r, r", "max.relu.s32 =r, r, r",
        "{ .reg .pred p; setp.lt.s32 p, r, r; selp.b32 =r, r, r, p; }",
        "{ .reg .pred p, q; setp.ge.u32 p|q, r, r; selp.s32 =r, r, r, q; }",
        "{ .reg .pred p, q; setp.eq.u32 q, r, 0; setp.lo.and.u32 p, r, r, q; selp.u32 =r, 1, 0, p; }",
        "{ .reg .pred p; setp.gtu.f32 p, f, f; selp.f32 =f, f, f, p; }",
        "{ .reg .pred p; setp.nan.f32 p, f, f; selp.u32 =r, 1, 0, p; }",
        "{ .reg .pred p; setp.lt.ftz.f32 p, f, f; selp.u32 =r, 1, 0, p; }",
        "{ .reg .pred p, q; setp.lt.f16x2 p|q, r, r; selp.u32 =r, 1, 0, p; }",
        "set.lt.u32.s32 =r, r, r", "set.gt.f32.f32 =f, f, f", "set.le.u32.f16x2 =r, r, r", "set.gtu.f16x2.f16x2 =r, r, r",
        "set.eq.u32.u64 =r, l, l", "slct.s32.s32 =r, r, r, r", "slct.f32.f32 =f, f, f, f",
    )),
    "Bit operations": (EXACT, "1-6", (
        "and.b32 =r, r, r", "or.b64 =l, l, l", "xor.b16 =h, h, h", "not.b32 =r, r", "cnot.b32 =r, r",
        "lop3.b32 =r, r, r, r, 0xEA", "lop3.b32 =r, r, r, r, n", "shl.b32 =r, r, r", "shr.u32 =r, r, r",
        "shr.s32 =r, r, r", "shl.b64 =l, l, r", "shr.s64 =l, l, r", "shr.u16 =h, h, r",
        "shf.l.wrap.b32 =r, r, r, r", "shf.l.clamp.b32 =r, r, r, r", "shf.r.wrap.b32 =r, r, r, r",
        "shf.r.clamp.b32 =r, r, r, r", "popc.b32 =r, r", "popc.b64 =r, l", "clz.b32 =r, r", "clz.b64 =r, l",
        "bfind.u32 =r, r", "bfind.s32 =r, r", "bfind.u64 =r, l", "bfind.shiftamt.u32 =r, r", "brev.b32 =r, r",
        "brev.b64 =l, l", "bfe.u32 =r, r, r, r", "bfe.s32 =r, r, r, r", "bfe.u64 =l, l, r, r", "bfi.b32 =r, r, r, r, r",
        "bfi.b64 =l, l, l, r, r", "bmsk.clamp.b32 =r, r, r", "bmsk.wrap.b32 =r, r, r", "szext.clamp.s32 =r, r, r",
        "szext.wrap.u32 =r, r, r", "fns.b32 =r, r, r, r", "prmt.b32 =r, r, r, r", "prmt.b32 =r, r, r, 0x5410",
        "prmt.b32.f4e =r, r, r, r", "prmt.b32.b4e =r, r, r, r", "prmt.b32.rc8 =r, r, r, r", "prmt.b32.ecl =r, r, r, r",
        "prmt.b32.ecr =r, r, r, r", "prmt.b32.rc16 =r, r, r, r",
    )),
    "Data movement": (EXACT, "0-1", (
        "mov.u32 =r, r", "mov.b32 =r, f", "mov.b32 =f, r", "mov.f32 =f, 0f3F800000", "mov.b64 =l, l", "mov.f64 =d, d",
        "mov.b32 =r, {h, h}", "mov.b32 {=h, =h}, r", "mov.b64 =l, {r, r}", "mov.b64 {=r, =r}, l", "mov.b64 =d, {r, r}",
        "mov.u32 =r, %%laneid", "mov.u32 =r, %%warpid", "mov.u32 =r, %%nwarpid", "mov.u32 =r, %%tid.x",
        "mov.u32 =r, %%ctaid.y", "mov.u32 =r, %%nctaid.z", "mov.u32 =r, %%lanemask_lt", "mov.u32 =r, %%lanemask_ge",
        "mov.u32 =r, %%clock", "mov.u64 =l, %%clock64", "mov.u64 =l, %%globaltimer", "mov.u32 =r, %%smid",
    )),
    "SIMD video": (EXACT, "8-20", tuple(
        f"v{op}{n}.{t}.{t}.{t}{s} =r, r, r, r"
        for n in (2, 4) for op in ("add", "sub", "min", "max", "absdiff", "avrg") for t in ("u32", "s32") for s in ("",)
    ) + ("vadd4.s32.s32.s32.sat =r, r, r, r", "vabsdiff4.u32.u32.u32.add =r, r, r, r", "vset4.u32.u32.lt =r, r, r, r")),
    "Floating point": (EXACT + "; approx forms approximate", "1; directed rounding of f32 15-25; f64 a mode change", (
        "add.f32 =f, f, f", "add.rn.f32 =f, f, f", "add.rz.f32 =f, f, f", "add.rm.f32 =f, f, f", "add.rp.f32 =f, f, f",
        "add.rn.ftz.sat.f32 =f, f, f", "sub.rn.f32 =f, f, f", "sub.rz.f32 =f, f, f", "mul.f32 =f, f, f",
        "mul.rn.f32 =f, f, f", "mul.rz.f32 =f, f, f", "mul.ftz.f32 =f, f, f", "fma.rn.f32 =f, f, f, f",
        "fma.rz.f32 =f, f, f, f", "fma.rm.f32 =f, f, f, f", "fma.rn.ftz.f32 =f, f, f, f", "mad.rn.f32 =f, f, f, f",
        "div.rn.f32 =f, f, f", "div.rz.f32 =f, f, f", "div.full.f32 =f, f, f", "div.approx.ftz.f32 =f, f, f",
        "add.f64 =d, d, d", "add.rn.f64 =d, d, d", "add.rz.f64 =d, d, d", "mul.rp.f64 =d, d, d", "sub.rm.f64 =d, d, d",
        "fma.rn.f64 =d, d, d, d", "fma.rz.f64 =d, d, d, d", "div.rn.f64 =d, d, d",
        "rcp.rn.f32 =f, f", "rcp.rz.f32 =f, f", "rcp.rn.f64 =d, d", "sqrt.rn.f32 =f, f", "sqrt.rm.f32 =f, f",
        "sqrt.rn.f64 =d, d", "rcp.approx.ftz.f32 =f, f", "rcp.approx.f32 =f, f",
        "rcp.approx.ftz.f64 =d, d", "rsqrt.approx.f32 =f, f", "rsqrt.approx.ftz.f32 =f, f", "rsqrt.approx.f64 =d, d",
        "sqrt.approx.f32 =f, f", "sqrt.approx.ftz.f32 =f, f", "ex2.approx.f32 =f, f", "ex2.approx.ftz.f32 =f, f",
        "lg2.approx.f32 =f, f", "lg2.approx.ftz.f32 =f, f", "sin.approx.f32 =f, f", "cos.approx.ftz.f32 =f, f",
        "tanh.approx.f32 =f, f", "ex2.approx.f16 =h, h", "ex2.approx.f16x2 =r, r", "ex2.approx.ftz.bf16x2 =r, r",
        "tanh.approx.f16x2 =r, r", "tanh.approx.bf16 =h, h", "min.f32 =f, f, f", "max.f32 =f, f, f",
        "max.NaN.f32 =f, f, f", "min.ftz.f32 =f, f, f", "max.f32 =f, f, f, f", "min.f64 =d, d, d",
        "max.xorsign.abs.f32 =f, f, f", "abs.f32 =f, f", "neg.ftz.f32 =f, f", "abs.f64 =d, d",
        "copysign.f32 =f, f, f", "{ .reg .pred p; testp.infinite.f32 p, f; selp.u32 =r, 1, 0, p; }",
        "{ .reg .pred p; testp.subnormal.f64 p, d; selp.u32 =r, 1, 0, p; }",
        "add.f16 =h, h, h", "add.f16x2 =r, r, r", "add.rn.ftz.sat.f16x2 =r, r, r", "sub.f16x2 =r, r, r",
        "mul.f16x2 =r, r, r", "fma.rn.f16 =h, h, h, h", "fma.rn.f16x2 =r, r, r, r", "fma.rn.relu.f16x2 =r, r, r, r",
        "add.rn.bf16x2 =r, r, r", "mul.bf16x2 =r, r, r", "fma.rn.bf16 =h, h, h, h", "fma.rn.bf16x2 =r, r, r, r",
        "fma.rn.relu.bf16x2 =r, r, r, r", "min.f16x2 =r, r, r", "max.f16x2 =r, r, r", "max.NaN.bf16x2 =r, r, r",
        "max.f16 =h, h, h", "neg.f16x2 =r, r", "abs.bf16x2 =r, r",
    )),
    "Conversion": (EXACT, "1-4; rare rounding modes 20-40", (
        "cvt.u32.u16 =r, h", "cvt.s32.s16 =r, h", "cvt.u16.u32 =h, r", "cvt.s8.s32 =r, r", "cvt.u8.u32 =r, r",
        "cvt.sat.u8.s32 =r, r", "cvt.sat.s8.s32 =r, r", "cvt.u64.u32 =l, r", "cvt.s64.s32 =l, r", "cvt.u32.u64 =r, l",
        "cvt.sat.s32.s64 =r, l", "cvt.rn.f32.s32 =f, r", "cvt.rn.f32.u32 =f, r", "cvt.rz.f32.s32 =f, r",
        "cvt.rm.f32.u64 =f, l", "cvt.rp.f32.s64 =f, l", "cvt.rn.f64.s32 =d, r", "cvt.rn.f64.u64 =d, l",
        "cvt.rz.f64.s64 =d, l", "cvt.rni.s32.f32 =r, f", "cvt.rzi.s32.f32 =r, f", "cvt.rmi.u32.f32 =r, f",
        "cvt.rpi.s64.f32 =l, f", "cvt.rzi.ftz.u32.f32 =r, f", "cvt.rzi.s32.f64 =r, d", "cvt.rni.u64.f64 =l, d",
        "cvt.rni.s8.f32 =r, f", "cvt.rni.f32.f32 =f, f", "cvt.rzi.f32.f32 =f, f", "cvt.rmi.f64.f64 =d, d",
        "cvt.f64.f32 =d, f", "cvt.rn.f32.f64 =f, d", "cvt.rz.f32.f64 =f, d", "cvt.sat.f32.f32 =f, f",
        "cvt.ftz.f32.f32 =f, f", "cvt.rn.f16.f32 =h, f", "cvt.rz.f16.f32 =h, f", "cvt.f32.f16 =f, h",
        "cvt.rn.f16.f64 =h, d", "cvt.rn.f16.s32 =h, r", "cvt.rni.s32.f16 =r, h", "cvt.rn.bf16.f32 =h, f",
        "cvt.f32.bf16 =f, h", "cvt.rn.relu.bf16.f32 =h, f", "cvt.rn.f16x2.f32 =r, f, f", "cvt.rz.f16x2.f32 =r, f, f",
        "cvt.rn.relu.f16x2.f32 =r, f, f", "cvt.rn.bf16x2.f32 =r, f, f", "cvt.rn.relu.bf16x2.f32 =r, f, f",
        "cvt.rna.tf32.f32 =r, f", "cvt.rn.tf32.f32 =r, f", "cvt.rn.satfinite.e4m3x2.f32 =h, f, f",
        "cvt.rn.satfinite.e5m2x2.f32 =h, f, f", "cvt.rn.satfinite.relu.e4m3x2.f32 =h, f, f",
        "cvt.rn.satfinite.e4m3x2.f16x2 =h, r", "cvt.rn.f16x2.e4m3x2 =r, h", "cvt.rn.f16x2.e5m2x2 =r, h",
        "cvt.pack.sat.u8.s32.b32 =r, r, r, r", "cvt.pack.sat.s8.s32.b32 =r, r, r, r", "cvt.pack.sat.s16.s32 =r, r, r",
    )),
    "Memory": (EXACT, "1 access", (
        "ld.global.u32 =r, [l]", "ld.global.f32 =f, [l+4]", "ld.global.nc.v4.u32 {=r, =r, =r, =r}, [l]",
        "ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {=f, =f, =f, =f}, [l]", "ld.global.cs.v2.f32 {=f, =f}, [l]",
        "ld.global.cv.u32 =r, [l]", "ld.volatile.global.u32 =r, [l]", "ld.acquire.gpu.global.u32 =r, [l]",
        "ld.relaxed.sys.global.u64 =l, [l]", "ld.global.acquire.gpu.b32 =r, [l]", "ld.u8 =r, [l]", "ld.global.s8 =r, [l]",
        "ld.global.u16 =h, [l]", "ld.global.f64 =d, [l]", "ld.shared.u32 =r, [r]", "ld.shared.v4.u32 {=r, =r, =r, =r}, [r+16]",
        "ld.shared.v2.f32 {=f, =f}, [r]", "ldu.global.u32 =r, [l]", "st.global.u32 [l], r", "st.global.cs.v4.u32 [l], {r, r, r, r}",
        "st.global.wt.f32 [l], f", "st.release.gpu.global.u32 [l], r", "st.volatile.shared.u32 [r], r", "st.shared.u32 [r], r",
        "st.shared.v4.f32 [r], {f, f, f, f}", "st.u8 [l], r", "st.global.b16 [l], h", "st.global.f64 [l], d",
        "atom.global.add.u32 =r, [l], r", "atom.add.f32 =f, [l], f", "atom.global.add.f64 =d, [l], d",
        "atom.global.cas.b32 =r, [l], r, r", "atom.global.cas.b64 =l, [l], l, l", "atom.global.exch.b32 =r, [l], r",
        "atom.global.inc.u32 =r, [l], r", "atom.global.dec.u32 =r, [l], r", "atom.global.min.s32 =r, [l], r",
        "atom.global.max.u64 =l, [l], l", "atom.global.and.b32 =r, [l], r", "atom.acq_rel.gpu.global.or.b32 =r, [l], r",
        "atom.shared.xor.b32 =r, [r], r", "atom.shared.cas.b32 =r, [r], r, r", "atom.global.add.noftz.f16x2 =r, [l], r",
        "atom.global.add.noftz.bf16x2 =r, [l], r", "atom.global.add.noftz.f16 =h, [l], h", "atom.global.cas.b16 =h, [l], h, h",
        "red.global.add.u32 [l], r", "red.release.gpu.global.add.s32 [l], r", "red.shared.add.u32 [r], r",
        "red.relaxed.gpu.global.add.f32 [l], f", "red.global.max.s32 [l], r", "red.gpu.global.add.noftz.f16x2 [l], r",
        "red.global.add.v2.f32 [l], {f, f}", "prefetch.global.L2 [l]", "prefetchu.L1 [l]", "cvta.to.shared.u64 =l, l",
        "cvta.shared.u64 =l, l", "cvta.to.global.u64 =l, l", "{ .reg .pred p; isspacep.shared p, l; selp.u32 =r, 1, 0, p; }",
        "createpolicy.fractional.L2::evict_first.b64 =l, 1.0", "ld.global.L2::cache_hint.u32 =r, [l], l",
    )),
    "Asynchronous copies": (EXACT + ", done when issued", "1 load, 1 store", (
        "cp.async.ca.shared.global [r], [l], 4", "cp.async.ca.shared.global [r], [l], 8",
        "cp.async.cg.shared.global [r], [l], 16", "cp.async.cg.shared.global.L2::128B [r], [l], 16",
        "cp.async.cg.shared.global [r], [l], 16, r", "cp.async.commit_group", "cp.async.wait_group 0",
        "cp.async.wait_group n", "cp.async.wait_all", "cp.async.mbarrier.arrive.shared.b64 [r]",
        "cp.async.mbarrier.arrive.noinc.shared.b64 [r]", "mbarrier.init.shared.b64 [r], r", "mbarrier.inval.shared.b64 [r]",
        "mbarrier.arrive.shared.b64 =l, [r]", "mbarrier.arrive.shared::cta.b64 _, [r]",
        "{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [r], l; selp.u32 =r, 1, 0, p; }",
        "{ .reg .pred p; LAB: mbarrier.try_wait.parity.shared::cta.b64 p, [r], r; @p bra DONE; bra LAB; DONE: }",
    )),
    "Barriers": (EXACT + "; named ones for whole wavefronts", "1; named 10 and waiting", (
        "bar.sync 0", "barrier.sync.aligned 0", "bar.sync 1, 64", "bar.sync r, r", "bar.arrive 2, 128", "bar.warp.sync r",
        "{ .reg .pred p; setp.ne.u32 p, r, 0; bar.red.popc.u32 =r, 0, p; }",
    )),
    "Fences": (EXACT, "1-4", (
        "membar.cta", "membar.gl", "membar.sys", "fence.acq_rel.gpu", "fence.sc.cta", "fence.acq_rel.sys",
        "fence.proxy.async", "fence.mbarrier_init.release.cluster",
    )),
    "Warp": (MODEL, "shuffles 1 ds_bpermute; votes 2-4", (
        "shfl.sync.up.b32 =r, r, r, r, r", "shfl.sync.bfly.b32 =r, r, 1, 0x1f, -1",
        "{ .reg .pred p; shfl.sync.down.b32 =r|p, r, r, 31, r; selp.u32 =r, 1, 0, p; }", "shfl.sync.idx.b32 =r, r, 0, 31, 0xffffffff",
        "{ .reg .pred p; setp.ne.u32 p, r, 0; vote.sync.ballot.b32 =r, p, r; }",
        "{ .reg .pred p; setp.ne.u32 p, r, 0; vote.sync.any.pred p, p, r; selp.u32 =r, 1, 0, p; }",
        "match.any.sync.b32 =r, r, r", "match.any.sync.b64 =r, l, r",
        "{ .reg .pred p; match.all.sync.b32 =r|p, r, r; selp.u32 =r, 1, 0, p; }", "redux.sync.add.s32 =r, r, r",
        "redux.sync.min.u32 =r, r, r", "redux.sync.xor.b32 =r, r, r", "redux.sync.max.abs.NaN.f32 =f, f, r",
        "activemask.b32 =r", "{ .reg .pred p; elect.sync _|p, r; selp.u32 =r, 1, 0, p; }",
    )),
    "Matrix": (MODEL + "; sums in unspecified order", "m16n8k16: 2 MFMA and 10 ds_bpermute for two warps", (
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {=r}, [r]", "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {=r, =r}, [r]",
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {=r, =r, =r, =r}, [r]", "stmatrix.sync.aligned.m8n8.x2.shared.b16 [r], {r, r}",
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [r], {r, r, r, r}", "movmatrix.sync.aligned.m8n8.trans.b16 =r, r",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {=f, =f, =f, =f}, {r, r}, {r}, {f, f, f, f}",
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {=r, =r}, {r, r}, {r}, {r, r}",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {=f, =f, =f, =f}, {r, r, r, r}, {r, r}, {f, f, f, f}",
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {=r, =r}, {r, r, r, r}, {r, r}, {r, r}",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {=f, =f, =f, =f}, {r, r, r, r}, {r, r}, {f, f, f, f}",
        "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {=f, =f, =f, =f}, {r, r}, {r}, {f, f, f, f}",
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {=f, =f, =f, =f}, {r, r, r, r}, {r, r}, {f, f, f, f}",
        "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {=r, =r, =r, =r}, {r, r}, {r}, {r, r, r, r}",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {=r, =r, =r, =r}, {r, r, r, r}, {r, r}, {r, r, r, r}",
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32.satfinite {=r, =r, =r, =r}, {r, r, r, r}, {r, r}, {r, r, r, r}",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {=r, =r}, {r}, {r}, {r, r}",
        "mma.sync.aligned.m8n8k32.row.col.s32.s4.u4.s32 {=r, =r}, {r}, {r}, {r, r}",
        "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {=r, =r, =r, =r}, {r, r, r, r}, {r, r}, {r, r, r, r}",
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {=d, =d}, {d}, {d}, {d, d}",
    )),
    "Control": (EXACT, "1", (
        "nanosleep.u32 r", "trap", "brkpt", "pmevent 1", "griddepcontrol.wait",
        "{ .reg .pred p; setp.eq.u32 p, r, 0; @p trap; }",
        "{ .reg .pred p; setp.eq.u32 p, r, 0; @!p bra L; st.global.u32 [l], r; L: }",
    )),
}  # fmt: skip

_PLACE = re.compile(r"(?<![\w.%:$])([=+]?)([rlfdhn])(?![\w.:$])")


@dataclass(frozen=True, slots=True)
class Form:
    """One form as an asm statement.

    Attributes:
        ptx: the text with ``%n`` operands.
        constraints: constraint of each operand.
    """

    ptx: str
    constraints: tuple[str, ...]

    def statement(self) -> AsmStatement:
        """The statement with operands named ``v0``, ``v1``, ...; ``n`` operands are the constant 2."""
        operands = tuple(
            Constraint(c, "2" if c == "n" else f"v{i}", 0) for i, c in enumerate(self.constraints)
        )
        extended = bool(operands) or "%%" in self.ptx
        return AsmStatement(Span(0, 0), self.ptx, extended, True, operands, ("memory",), ())


def form(text: str) -> Form:
    """Number the operands of a form, outputs first as asm statements have them."""
    found = list(_PLACE.finditer(text))
    order = [m for m in found if m[1]] + [m for m in found if not m[1]]
    numbers = {m.start(): i for i, m in enumerate(order)}
    ptx = _PLACE.sub(lambda m: f"%{numbers[m.start()]}", text)
    return Form(ptx + ("" if ptx.endswith("}") else ";"), tuple(m[1] + m[2] for m in order))
