#include "check_plan.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "program.h"

namespace hipemu {

namespace {

// Registers of one plan while it is made.
struct Draft {
    std::vector<u16> rows, scalars, others;
    void read(const Operand &o) {
        u32 width = o.width ? o.width : 1;
        if (o.kind == Kind::vgpr)
            for (u32 k = 0; k < width && o.index + k < 512; ++k) rows.push_back(u16(o.index + k));
        if (o.kind == Kind::sgpr)
            for (u32 k = 0; k < width && o.index + k < kSgprs; ++k) scalars.push_back(u16(kScalarRegister + o.index + k));
    }
    void touch(const Operand &o) {
        u32 width = o.width ? o.width : 1, first = o.kind == Kind::vgpr ? o.index : kScalarRegister + o.index;
        if (o.kind != Kind::vgpr && o.kind != Kind::sgpr) return;
        for (u32 k = 0; k < width && first + k < kScalarRegister + kSgprs; ++k) others.push_back(u16(first + k));
    }
};

void write(CheckPlan &p, const Operand &o, int which) {
    if (o.kind == Kind::vgpr) {
        p.out_row[which] = u16(o.index);
        p.out_rows[which] = u8(std::min<u32>(o.width, 512 - o.index));
    } else if (o.kind == Kind::sgpr) {
        p.out_scalar[which] = u8(o.index);
        p.out_scalars[which] = u8(std::min<u32>(o.width, kSgprs - o.index));
    }
}

void parse_wait(CheckPlan &p, const Inst *i, const TargetInfo &target) {
    std::string_view text(i->text);
    size_t space = text.find(' ');
    std::string_view name = text.substr(0, space), rest = space == text.npos ? "" : text.substr(space + 1);
    auto number_after = [&](std::string_view key) {
        size_t at = rest.find(key);
        return i8(at == rest.npos ? -1 : atoi(rest.data() + at + key.size()));
    };
    auto plain = [&] { return int(strtol(rest.data(), nullptr, 0)); };
    if (name == "s_waitcnt") {
        p.limit[kVm] = number_after("vmcnt(");
        p.limit[kLgkm] = number_after("lgkmcnt(");
        if (rest.find('(') == rest.npos) p.limit[kVm] = p.limit[kLgkm] = 0; // raw immediate: not decoded, assume all
    } else if (name == "s_wait_loadcnt" || name == "s_waitcnt_vmcnt") {
        p.limit[kVm] = i8(plain());
    } else if (name == "s_wait_samplecnt") {
        p.limit[kSamples] = i8(plain());
    } else if (name == "s_wait_dscnt" || name == "s_wait_kmcnt" || name == "s_waitcnt_lgkmcnt") {
        p.limit[kLgkm] = i8(plain());
    } else if (name == "s_wait_loadcnt_dscnt") {
        int v = plain();
        p.limit[kVm] = v >> 8 & 63;
        p.limit[kLgkm] = v & 63;
    } else if (name == "s_wait_storecnt_dscnt") {
        p.limit[kLgkm] = i8(plain() & 63);
    } else if (name == "s_wait_idle") {
        p.limit[kVm] = p.limit[kLgkm] = p.limit[kSamples] = 0;
    }
    (void)target;
}

void plan_vector(CheckPlan &p, Draft &d, const Inst *i, int which) { // opcodes with a lane function
    for (int k = 1; k <= i->n; ++k) d.read(i->o[k]);
    d.read(i->o[5]);
    if (i->dpp) {
        p.whole_rows = true;
        d.read(i->o[0]); // rows that are off keep the old value
    }
    if (i->op->types[0] != Type::mask) write(p, i->o[0], which);
    if (i->o[4].kind == Kind::sgpr) write(p, i->o[4], 1);
}

bool plan_lane(CheckPlan &p, Draft &d, const Inst *i) {
    if (i->op->shape != Shape::readfirstlane && i->op->shape != Shape::readlane) return false;
    d.read(i->o[1]);
    if (i->op->shape == Shape::readlane) {
        d.read(i->o[2]);
        p.whole_rows = true;
    }
    p.needs_lane = true;
    write(p, i->o[0], 0);
    return true;
}

void plan_scalar(CheckPlan &p, Draft &d, const Inst *i) {
    std::string_view name(i->op->name);
    auto has = [&](const char *part) { return name.find(part) != name.npos; };
    Shape shape = i->op->shape;
    p.reads_scc = shape == Shape::select || has("cmov") || has("addc") || has("subb") || has("_ci_");
    for (int k = shape == Shape::compare ? 0 : 1; k < i->n; ++k) {
        d.read(i->o[k]);
        p.reads_scc |= i->o[k].kind == Kind::scc;
    }
    p.writes_scc = shape != Shape::keeps_scc && shape != Shape::select;
    if (shape != Shape::compare) write(p, i->o[0], 0);
}

bool plan_memory(CheckPlan &p, Draft &d, const Inst *i) {
    const Op &op = *i->op;
    p.starts_load = true;
    if (!strncmp(op.name, "image_", 6) || ((op.flags & kLoad) && (op.flags & kStore))) return false;
    if (op.unit == Unit::lds) {
        if (op.flags & kLaneCross) {
            for (int k = 1; k < i->n; ++k) d.read(i->o[k]);
        } else if (i->n > 1 && op.shape != Shape::counter) {
            d.read(i->o[op.returns ? 1 : 0]);
        }
        if (op.returns && i->n) write(p, i->o[0], 0);
        return true;
    }
    if (op.unit == Unit::smem) {
        if (i->n > 1) d.read(i->o[1]);
        if (op.flags & kLoad) write(p, i->o[0], 0);
        return true;
    }
    bool returns = writes_register(i);
    d.read(op.shape == Shape::buffer ? i->o[1] : i->o[returns ? 1 : 0]);
    if (i->n > 2 && op.shape != Shape::buffer && i->o[2].kind == Kind::sgpr) d.read(i->o[2]);
    if (returns) write(p, i->o[0], 0);
    return true;
}

bool compares_with_exec(const Inst *i) {
    std::string_view name(i->op->name);
    bool scalar = name.starts_with("s_cmp_eq_u") || name.starts_with("s_cmp_lg_u");
    bool vector = name.starts_with("v_cmp_eq_u") || name.starts_with("v_cmp_ne_u");
    auto is_exec = [](const Operand &o) { return o.kind == Kind::sgpr && o.index == kExec; };
    return (scalar && (is_exec(i->o[0]) || is_exec(i->o[1]))) || (vector && (is_exec(i->o[1]) || is_exec(i->o[2])));
}

void plan(CheckPlan &p, Draft &d, const Inst *i, const TargetInfo &target) {
    p.kind = CheckPlan::usual;
    if (!i->op) {
        const Inst *x = i->second;
        if (!x || !x->op || !x[1].op || !x->lane || !x[1].lane) {
            p.kind = x ? CheckPlan::unusual : CheckPlan::usual;
            return;
        }
        plan_vector(p, d, x, 0);
        plan_vector(p, d, x + 1, 1);
        for (int half = 0; half < 2; ++half)
            for (const Operand &o : x[half].o) d.touch(o);
        return;
    }
    bool known = true;
    switch (i->op->unit) {
    case Unit::valu:
        if (i->lane) plan_vector(p, d, i, 0);
        else if (i->n) known = plan_lane(p, d, i);
        break;
    case Unit::salu: plan_scalar(p, d, i); break;
    case Unit::matrix:
        p.whole_rows = p.fills_rows = true;
        for (int k = 1; k < i->n; ++k) d.read(i->o[k]);
        if (strstr(i->op->name, "smfmac") || strstr(i->op->name, "swmmac")) d.read(i->o[0]);
        write(p, i->o[0], 0);
        break;
    case Unit::smem: case Unit::lds: case Unit::memory: known = plan_memory(p, d, i); break;
    case Unit::control:
        if (i->op->shape == Shape::wait) {
            p.kind = CheckPlan::wait;
            parse_wait(p, i, target);
        } else if (i->op->shape == Shape::branch_scc) {
            p.reads_scc = true;
        } else if (i->op->shape == Shape::branch_vcc) {
            Operand vcc;
            vcc.kind = Kind::sgpr;
            vcc.index = kVcc;
            vcc.width = target.wave_size == 32 ? 1 : 2;
            d.read(vcc);
        } else if (i->op->shape == Shape::plain && i->n && i->o[0].kind == Kind::sgpr) {
            write(p, i->o[0], 0);
        }
        break;
    }
    if (!known) p.kind = CheckPlan::unusual;
    p.compares_exec = compares_with_exec(i);
    if (!(i->op->flags & kHint))
        for (const Operand &o : i->o) d.touch(o);
}

} // namespace

void plan_checks(Region &region, const TargetInfo &target) {
    std::vector<size_t> starts;
    region.plans.resize(region.code.size());
    for (size_t k = 0; k < region.code.size(); ++k) {
        CheckPlan &p = region.plans[k];
        Draft d;
        plan(p, d, &region.code[k], target);
        starts.push_back(region.plan_registers.size());
        if (d.rows.size() + d.scalars.size() + d.others.size() > 255) { // more than the counts can say
            p.kind = CheckPlan::unusual;
            continue;
        }
        p.n_rows = u8(d.rows.size());
        p.n_scalars = u8(d.scalars.size());
        p.n_registers = u8(d.rows.size() + d.scalars.size() + d.others.size());
        for (const std::vector<u16> *list : {&d.rows, &d.scalars, &d.others})
            region.plan_registers.insert(region.plan_registers.end(), list->begin(), list->end());
    }
    for (size_t k = 0; k < region.code.size(); ++k) {
        region.plans[k].registers = region.plan_registers.data() + starts[k];
        region.code[k].plan = &region.plans[k];
    }
}

} // namespace hipemu
