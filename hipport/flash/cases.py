"""Numerical cases of the forward kernels: a row of ``cases.tsv`` becomes tensors, a call, and figures with their bars.

A case is fully made from its row: normal random q, k, v and do from one seeded generator, in this order, as the figures
recorded on an NVIDIA H200 were made; everything else (lengths, tables, slopes) follows from its options.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from hipport.core import HipportError
from hipport.flash.attention import FlashAttention
from hipport.flash.kernels import Instantiation, programs_for
from hipport.flash.launch import Array, Launch
from hipport.flash.reference import Options, Tensor, attention, kept, rotate

TABLE = Path(__file__).with_name("cases.tsv")
_DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}
_FLAGS = {"causal", "alibi", "scores", "infinite"}
_VALUES = {
    "window", "softcap", "dropout", "q", "k", "used", "leftpad", "splits", "new", "rotary", "page", "slots", "units",
    "magnitude",
}  # fmt: skip
_LISTS = {"window", "q", "k", "used", "leftpad", "slots"}  # whole numbers, L:R or 1:2:3
_COLUMNS = ("name", "form", "dtype", "d", "b", "sq", "sk", "h", "hk", "seed", "subset")
_EPS_FP32 = 2.0**-23


@dataclass(frozen=True, slots=True)
class Case:
    """One row of the table.

    Attributes:
        name: unique.
        form: ``dense``, ``varlen`` or ``cache``: which of upstream's functions is called.
        dtype: ``fp16`` or ``bf16``.
        d: head dimension; b, sq, sk, h, hk likewise: batch, lengths of queries and keys, heads of queries and keys.
        seed: of the inputs.
        options: flags (value empty) and values; see `docs/flash.md`.
        quick: part of the quick subset.
        h200: largest error, relative error, log-sum-exp error recorded on an H200; empty when there is no recording.
        inputs: SHA-256 of the bytes of q, k, v, do of the recording.
    """

    name: str
    form: str
    dtype: str
    d: int
    b: int
    sq: int
    sk: int
    h: int
    hk: int
    seed: int
    options: dict[str, str] = field(default_factory=dict)
    quick: bool = False
    h200: tuple[float, ...] = ()
    inputs: str = ""

    def number(self, option: str, default: float = 0.0) -> float:
        """Value of an option."""
        return float(self.options.get(option) or default)

    def numbers(self, option: str) -> list[int]:
        """Values of an option that is a list, ``1:2:3``; empty when it is not given."""
        text = self.options.get(option, "")
        return [int(part) for part in text.split(":")] if text else []


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number and the bar that it must not pass."""

    name: str
    value: float
    bar: float

    @property
    def held(self) -> bool:
        """Whether the bar is held; a NaN holds none."""
        return self.value <= self.bar


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to.

    Attributes:
        case: the row.
        kernels: instantiations that ran.
        figures: errors with their bars.
        plain: largest error of plain PyTorch in the same type.
        findings: of the emulator's checks.
        problem: why it did not run to its end, or empty.
        seconds: building included.
    """

    case: Case
    kernels: tuple[str, ...]
    figures: tuple[Figure, ...]
    plain: float
    findings: tuple[str, ...]
    problem: str
    seconds: float

    @property
    def passed(self) -> bool:
        """All bars held, nothing found."""
        return not self.problem and not self.findings and all(figure.held for figure in self.figures)


@dataclass(slots=True)
class _Answer:
    """What a call returned, per sequence."""

    out: list[Tensor]
    lse: list[Tensor] = field(default_factory=list)
    dropped: list[Tensor] = field(default_factory=list)
    further: list[Figure] = field(default_factory=list)


@dataclass(slots=True)
class _Problem:
    """The tensors of a case: what the reference sees, per sequence, and how the kernels are called."""

    sequences: list[tuple[Tensor, Tensor, Tensor]]
    call: Callable[[FlashAttention], _Answer]


def read_cases(path: Path = TABLE) -> list[Case]:
    """Rows of a table, in order.

    Raises:
        HipportError: the file cannot be read, or a row is wrong; its line is named.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise HipportError(f"{path}: cannot be read: {error}", "name a table as hipport/flash/cases.tsv") from error
    rows = [(n, line.split("\t")) for n, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    header = rows.pop(0)[1] if rows else []
    if missing := set(_COLUMNS) - set(header):
        raise HipportError(f"{path}: no column {', '.join(sorted(missing))}", "see docs/flash.md for the columns")
    cases: list[Case] = []
    for number, cells in rows:
        row = dict(zip(header, cells, strict=False))  # empty cells at the end may be left out
        options = dict(part.partition("=")[::2] for part in row.get("options", "").split())
        unknown = {name for name, value in options.items() if name not in (_VALUES if value else _FLAGS)}
        try:
            if unknown or row["form"] not in ("dense", "varlen", "cache") or row["dtype"] not in _DTYPES:
                raise ValueError(f"unknown option, form or type: {', '.join(sorted(unknown)) or row['form']}")
            d, b, sq, sk, h, hk, seed = (int(row[key]) for key in ("d", "b", "sq", "sk", "h", "hk", "seed"))
            if min(d, b, sq, sk, h, hk, seed) < 0:
                raise ValueError("a number is negative")
            if row["subset"] not in ("quick", "full"):
                raise ValueError(f"subset {row['subset']!r} is neither quick nor full")
            if any(case.name == row["name"] for case in cases):
                raise ValueError(f"a case before this one is named {row['name']}, too")
            _readable(options)
            h200 = tuple(float(x) for x in row.get("h200", "").split())
            case = Case(row["name"], row["form"], row["dtype"], d, b, sq, sk, h, hk, seed, options)
            cases.append(replace(case, quick=row["subset"] == "quick", h200=h200, inputs=row.get("inputs", "")))
        except (KeyError, ValueError) as error:
            raise HipportError(f"{path}:{number}: {error}", "see docs/flash.md for the columns") from error
    return cases


def _readable(options: dict[str, str]) -> None:
    """Whether every value is one of its option's kind.

    Raises:
        ValueError: it is not.
    """
    for name, value in options.items():
        if name in _LISTS:
            length = len([int(part) for part in value.split(":")])
            if name == "window" and length != 2:
                raise ValueError(f"{name}={value} needs two numbers, left and right")
        elif value and name != "rotary" and not math.isfinite(float(value)):
            raise ValueError(f"{name}={value} is not finite")


def run_case(flash: FlashAttention, case: Case) -> Outcome:
    """Run one case and measure it.

    Args:
        flash: the kernels.
        case: which case.
    """
    start = time.monotonic()
    flash.forget()
    flash.philox.offset = 4 * case.seed  # the same random numbers whatever ran before
    units, flash.extension.compute_units = flash.extension.compute_units, int(case.number("units", 1))
    figures: list[Figure] = []
    plain, problem = 0.0, ""
    try:
        options, problem_of = _options(case), _problem(case)
        offset, seed = flash.philox.offset, flash.philox.seed
        answer = problem_of.call(flash)
        figures, plain = _measure(case, problem_of, answer, options, seed, offset)
    except (HipportError, RuntimeError) as error:
        problem = str(error)
    finally:
        flash.extension.compute_units = units
    return Outcome(
        case, tuple(map(str, flash.used)), tuple(figures), plain, tuple(flash.findings), problem,
        time.monotonic() - start,
    )  # fmt: skip


def plan_case(flash: FlashAttention, case: Case) -> list[Instantiation]:
    """The kernels that a case needs; none is built or run.

    Raises:
        HipportError: FlashAttention refuses the case.
    """
    needed: list[Instantiation] = []

    def note(what: Instantiation, buffers: Sequence[tuple[Array, bool]], launches: Sequence[Launch]) -> list[Array]:
        needed.append(what)
        return [array for array, wanted in buffers if wanted]

    ext = flash.extension
    before = ext.run, ext.compute_units
    ext.run, ext.compute_units = note, int(case.number("units", 1))
    try:
        _problem(case).call(flash)
    except (RuntimeError, ValueError) as error:
        raise HipportError(f"case {case.name}: {error}", "see docs/flash.md for the columns") from error
    finally:
        ext.run, ext.compute_units = before
    return needed


@dataclass(frozen=True, slots=True)
class Plan:
    """What cases need.

    Attributes:
        kernels: by case, in the order of the cases.
        programs: those kernels in the groups that are compiled together.
    """

    kernels: dict[str, tuple[Instantiation, ...]]
    programs: tuple[tuple[Instantiation, ...], ...]

    def programs_of(self, case: Case) -> list[int]:
        """Numbers of the programs that one case needs."""
        return [n for n, group in enumerate(self.programs) if set(group) & set(self.kernels[case.name])]


def plan_cases(flash: FlashAttention, cases: Sequence[Case]) -> Plan:
    """What to compile for some cases; nothing is built or run."""
    kernels = {case.name: tuple(plan_case(flash, case)) for case in cases}
    return Plan(kernels, tuple(programs_for([what for needed in kernels.values() for what in needed])))


def _measure(
    case: Case, problem: _Problem, answer: _Answer, options: Options, seed: int, offset: int
) -> tuple[list[Figure], float]:
    worst = plain = square = reference = lse_error = 0.0
    wrong_masks = 0
    scores = largest = 1.0
    for n, (q, k, v) in enumerate(problem.sequences):
        if options.p_dropout:
            shape = (q.shape[1], q.shape[0], k.shape[0])
            options = replace(options, keep=kept(seed, offset + n * q.shape[1] * 32, shape, options.p_dropout))
        exact, exact_lse = attention(q.double(), k.double(), v.double(), options)
        error = answer.out[n].double() - exact
        worst = max(worst, _largest(error))
        plain = max(plain, _largest(attention(q, k, v, options)[0].double() - exact))
        square += float(error.square().sum())
        reference += float(exact.square().sum())
        largest = max(largest, *(_largest(x[torch.isfinite(x)]) for x in (q, k, v)))
        if answer.lse:
            finite = torch.isfinite(exact_lse)
            scores = max(scores, _largest(exact_lse[finite]))
            got = answer.lse[n].double()
            lse_error = max(lse_error, _largest((got - exact_lse)[finite]))
            if not torch.equal(got[~finite], exact_lse[~finite]):
                lse_error = math.nan
        if answer.dropped and options.keep is not None:
            signs = answer.dropped[n][:, : q.shape[0], : k.shape[0]]
            differ = (torch.signbit(signs) == torch.from_numpy(options.keep)) & (signs != 0)
            wrong_masks += int(differ.sum())
    relative = math.sqrt(square / reference) if reference > 1e-12 else 0.0
    if case.h200:
        figures = [
            Figure("max", worst, max(1.5 * case.h200[0], 4 * _EPS_FP32 * largest**2)),
            Figure("rel", relative, 1.1 * case.h200[1]),
            Figure("lse", lse_error, max(2 * case.h200[2], 4e-6)),
        ]
    else:
        figures = [Figure("max", worst, 2 * plain + 1e-5)]
        if answer.lse:
            figures.append(Figure("lse", lse_error, 4e-6 * scores))
    if answer.dropped:
        figures.append(Figure("mask", wrong_masks, 0))
    return figures + answer.further, plain


def _largest(x: Tensor) -> float:
    return float(x.abs().max()) if x.numel() else 0.0


def _options(case: Case) -> Options:
    window = case.numbers("window") or [-1, -1]
    return Options(
        causal="causal" in case.options,
        window=(window[0], window[1]),
        softcap=case.number("softcap"),
        slopes=torch.tensor([2.0 ** -(head + 1) for head in range(case.h)]) if "alibi" in case.options else None,
        p_dropout=case.number("dropout"),
    )


def _problem(case: Case) -> _Problem:
    """Inputs from the seed, shaped for the form of the case."""
    generator = torch.Generator().manual_seed(case.seed)
    dtype = _DTYPES[case.dtype]
    shapes = ((case.b, case.sq, case.h, case.d), *((case.b, case.sk, case.hk, case.d),) * 2)
    q, k, v = (torch.randn(*shape, generator=generator) * case.number("magnitude", 1.0) for shape in shapes)
    do = torch.randn(*shapes[0], generator=generator)
    if "infinite" in case.options and case.sk > 0:
        q[..., 0] = q[..., 0].abs() + 0.1  # -inf in a key then is a score of -inf for every query
        k[:, 1::3, :, 0] = -math.inf
    q, k, v, do = (x.to(dtype) for x in (q, k, v, do))
    if case.inputs:
        digest = hashlib.sha256(b"".join(x.view(torch.int16).numpy().tobytes() for x in (q, k, v, do)))
        if digest.hexdigest() != case.inputs:
            raise HipportError("the inputs are not those of the recording", "PyTorch's random numbers changed")
    make = {"dense": _dense, "varlen": _varlen, "cache": _cache}[case.form]
    return make(case, q, k, v, generator)


def _arguments(case: Case) -> dict[str, Any]:
    options = _options(case)
    return {
        "causal": options.causal, "window_size": options.window, "softcap": options.softcap,
        "alibi_slopes": options.slopes,
    }  # fmt: skip


def _dense(case: Case, q: Tensor, k: Tensor, v: Tensor, _generator: torch.Generator) -> _Problem:
    def call(flash: FlashAttention) -> _Answer:
        dropout = case.number("dropout")
        probabilities = not dropout or "scores" in case.options  # they make another kernel with dropout
        given = flash.interface.flash_attn_func(
            q, k, v, dropout_p=dropout, return_attn_probs=probabilities, **_arguments(case)
        )
        if not probabilities:
            return _Answer(list(given))
        out, lse, dropped = given
        return _Answer(list(out), list(lse), list(dropped) if dropout else [])

    return _Problem(list(zip(q, k, v, strict=True)), call)


def _starts(lengths: Sequence[int]) -> Tensor:
    return torch.tensor([0, *lengths]).cumsum(0).to(torch.int32)


def _varlen(case: Case, q: Tensor, k: Tensor, v: Tensor, generator: torch.Generator) -> _Problem:
    """Sequences of the lengths ``q`` and ``k``; ``used`` keys of each, behind ``leftpad`` ones; or in pages."""
    rows, columns = case.numbers("q"), case.numbers("k")
    if len(rows) != case.b or len(columns) != case.b or max(rows) > case.sq or max(columns) > case.sk:
        raise HipportError(f"{case.name}: q and k must name {case.b} lengths up to sq and sk", "correct the table")
    used, pads = case.numbers("used") or columns, case.numbers("leftpad") or [0] * case.b
    queries = [q[n, : rows[n]] for n in range(case.b)]
    keys = [k[n, : columns[n]] for n in range(case.b)]
    values = [v[n, : columns[n]] for n in range(case.b)]
    table = None
    packed_k, packed_v = torch.cat(keys), torch.cat(values)
    if page := int(case.number("page")):
        packed_k, packed_v, table = _pages(k, v, page, generator)
    starts_q, starts_k = _starts(rows), _starts(columns)
    if "used" in case.options or "leftpad" in case.options:
        packed_k, packed_v = _poisoned(packed_k, packed_v, starts_k, pads, used)

    def call(flash: FlashAttention) -> _Answer:
        arguments = _arguments(case)
        lengths = (starts_q, starts_k, max(rows), max(columns))
        if "used" in case.options or "leftpad" in case.options:
            left, right = arguments.pop("window_size")
            out, lse, _, _ = flash.interface._flash_attn_varlen_forward(
                torch.cat(queries), packed_k, packed_v, *lengths, 0.0, case.d**-0.5,
                window_size_left=left, window_size_right=right, **arguments,
                leftpad_k=torch.tensor(pads, dtype=torch.int32), seqused_k=torch.tensor(used, dtype=torch.int32),
            )  # fmt: skip
        else:
            out, lse, _ = flash.interface.flash_attn_varlen_func(
                torch.cat(queries), packed_k, packed_v, *lengths, dropout_p=case.number("dropout"),
                block_table=table, return_attn_probs=True, **arguments,
            )  # fmt: skip
        return _Answer(list(out.split(rows)), list(lse.split(rows, 1)))

    spans = list(zip(pads, used, strict=True))
    return _Problem(
        [(queries[n], keys[n][a:e], values[n][a:e]) for n, (a, e) in enumerate(spans)],
        call,
    )


def _poisoned(k: Tensor, v: Tensor, starts: Tensor, pads: Sequence[int], used: Sequence[int]) -> tuple[Tensor, Tensor]:
    """NaN wherever no kernel may look."""
    k, v = k.clone(), v.clone()
    for n, (pad, end) in enumerate(zip(pads, used, strict=True)):
        a, e = int(starts[n]), int(starts[n + 1])
        for x in (k, v):
            x[a : a + pad] = math.nan
            x[a + end : e] = math.nan
    return k, v


def _pages(k: Tensor, v: Tensor, page: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """The same keys in pages in random order, twice as many pages as needed. Returns k, v, block table."""
    batch, length = k.shape[:2]
    each = -(-length // page)
    order = torch.randperm(2 * batch * each, generator=generator)[: batch * each].view(batch, each)
    paged = []
    for x in (k, v):
        pages = torch.zeros(2 * batch * each, page, *x.shape[2:], dtype=x.dtype)
        for n in range(batch):
            for i in range(each):
                part = x[n, i * page : (i + 1) * page]
                pages[order[n, i], : part.shape[0]] = part
        paged.append(pages)
    return paged[0], paged[1], order.to(torch.int32)


def _cache(case: Case, q: Tensor, k: Tensor, v: Tensor, generator: torch.Generator) -> _Problem:
    """A cache of ``sk`` places, ``used`` of them filled, behind ``leftpad`` ones; ``new`` keys are appended."""
    used, pads = case.numbers("used") or [case.sk] * case.b, case.numbers("leftpad") or [0] * case.b
    n_new, dtype = int(case.number("new")), q.dtype
    new = [torch.randn(case.b, n_new, case.hk, case.d, generator=generator).to(dtype) for _ in range(2)]
    cos = sin = None
    style, _, rotary_dim = case.options.get("rotary", "").partition(":")
    if style:
        angle = torch.rand(_up(case.sk, int(case.number("page", 1))), int(rotary_dim) // 2, generator=generator)
        cos, sin = (f(angle * 2 * math.pi).to(dtype) for f in (torch.cos, torch.sin))
    slots = case.numbers("slots") or list(range(case.b))
    k_cache, v_cache, table = k, v, None
    if page := int(case.number("page")):
        k_cache, v_cache, table = _pages(k, v, page, generator)

    sequences, wanted = [], []
    for n in range(case.b):
        keys, values, query = k[slots[n]].clone(), v[slots[n]].clone(), q[n]
        end = used[n]
        if n_new:
            fresh = new[0][n]
            if cos is not None and sin is not None:
                fresh = rotate(fresh, cos[end : end + n_new], sin[end : end + n_new], interleaved=style == "pairs")
                moves = ("causal" in case.options and case.sq > 1) or "window" in case.options
                at = slice(end, end + case.sq) if moves else slice(end, end + 1)
                query = rotate(query, cos[at], sin[at], interleaved=style == "pairs")
            keys[end : end + n_new], values[end : end + n_new] = fresh, new[1][n]
            end += n_new
        sequences.append((query, keys[pads[n] : end], values[pads[n] : end]))
        wanted.append((keys, values))

    def call(flash: FlashAttention) -> _Answer:
        caches = [k_cache.clone(), v_cache.clone()]
        out, lse = flash.interface.flash_attn_with_kvcache(
            q, *caches, *(new if n_new else ()), rotary_cos=cos, rotary_sin=sin,
            cache_seqlens=torch.tensor(used, dtype=torch.int32) if "used" in case.options else None,
            cache_batch_idx=torch.tensor(slots, dtype=torch.int32) if "slots" in case.options else None,
            cache_leftpad=torch.tensor(pads, dtype=torch.int32) if "leftpad" in case.options else None,
            block_table=table, rotary_interleaved=style == "pairs", num_splits=int(case.number("splits", 1)),
            return_softmax_lse=True, **_arguments(case),
        )  # fmt: skip
        answer = _Answer(list(out), list(lse))
        if n_new:
            answer.further.append(Figure("cache", _cache_error(caches), 4 * torch.finfo(dtype).eps if style else 0.0))
        return answer

    def _cache_error(caches: Sequence[Tensor]) -> float:
        worst = 0.0
        for n, expected in enumerate(wanted):
            for cache, rows in zip(caches, expected, strict=True):
                got = cache[table[n].long()].flatten(0, 1)[: case.sk] if table is not None else cache[slots[n]]
                worst = max(worst, _largest(got.double() - rows.double()))
        return worst

    return _Problem(sequences, call)


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
