"""Every CUDA construct that is still in the output is a diagnostic, whether or not a rule or a row knows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from hipport.core import Diagnostic, Severity, Span, TranslateOptions
from hipport.rewrite.change import Finding, Project
from hipport.rewrite.renames import applicable, code_before, refusal
from hipport.rulebook import Rulebook
from hipport.syntax import ParsedFile, Reach

UNKNOWN_NAME = "HP900"
INLINE_ASM = "HP910"
TENSOR_ATOM = "HP911"
CUTE_HEADER = "HP912"
MADE_NAME = "HP916"

# Prefixes of NVIDIA's interfaces. A name with one of them that no table knows must not pass in silence.
_CUDA_NAME = re.compile(
    rb"(?:cuda[A-Z_]\w*|cu(?:blas|rand|fft|sparse|solver|dnn|tensor)\w*|CUDA_\w+|CUDART_\w+|CU_\w+|CU[a-z]\w*|(?:CUB|_?CCCL)_[A-Z]\w*|cuuint(?:32|64)_t"
    rb"|CU(?:BLAS|RAND|FFT|SPARSE|SOLVER|DNN)\w*|nccl\w+|nvrtc\w+|nvtx\w+|nvml[A-Z]\w*|NVTX\w*|NVRTC\w*|NCCL\w*"
    rb"|__nv_\w+|__NV_\w+|nvcuda|__CUDA\w*|__NVCC__|__nvvm_\w+|__nanosleep|__shfl\w*_sync|__ballot_sync|__a(?:ny|ll)_sync"
    rb"|__match_a(?:ny|ll)_sync|__reduce_\w+_sync|__syncwarp|__activemask|__ld(?:cg|ca|cs|lu|cv|g)|__st(?:wb|cg|cs|wt)"
    rb"|cu(?:Ctx|Device|Mem|Module|Launch|Stream|Event|Func|Graph|Init|Get|Tex|Surf|Array|Link|Library|Kernel|Occupancy"
    rb"|Pointer|Profiler|Tensor|Driver|Ipc|Import|Signal|Wait|Flush|Param|User|External|Multicast|Logs|Green)\w*)\Z"
)
_ATOM = re.compile(rb"(?:SM(?:70|75|80|86|89|90|100|120)(?:_|a_)\w+|(?:cp_async|ldmatrix|stmatrix|wgmma)\w*|GMMA)\Z")
_PASTED = re.compile(rb"\b(?:cuda|cu|cublas|cufft|curand|cusparse|cusolver|nccl|CUDA_|CUBLAS_|CU_)\w{0,40}[ \t]*##")
_SPLICED = re.compile(rb"\b\w{1,60}\\[ \t]*\r?\n\w{1,60}")
_MEMBER = re.compile(rb"\s*::\s*([A-Za-z_]\w*)")
_OTHER_CUDA = re.compile(
    rb"\bnamespace\s+(?:[\w:]+::)?(?:cuda|at|c10|torch)\b|\busing\s+namespace\s+(?:at|c10|torch)\b"
)
_ASM = frozenset((b"asm", b"__asm__", b"__asm"))
# Assembly for AMD GPUs is no PTX: its first instruction shows.
_AMD_ASM = re.compile(
    rb'\w+\s*(?:(?:__)?volatile(?:__)?)?\s*\(\s*"(?:\\[nt]|\s)*(?:s|v|ds|buffer|global|flat|scratch)_[a-z]\w*(?:\s|;|\\|")'
)


def residual(
    parsed: ParsedFile,
    rulebook: Rulebook,
    options: TranslateOptions,
    project: Project,
    reported: Iterable[Diagnostic],
) -> Iterator[Finding]:
    """One finding per name for what is left in ``parsed``, unless a diagnostic in ``reported`` has that subject.

    Args:
        parsed: the final text.
        rulebook: its rows tell known names from unknown ones.
        options: see `TranslateOptions`.
        project: names that the tree itself defines are not CUDA's.
        reported: what rules, rows and transforms already said.
    """
    subjects = {d.subject for d in reported}
    asm_lines = {d.line for d in reported if d.id.startswith(("HP5", "HP6"))}
    counts: dict[bytes, list[int]] = {}
    findings: dict[bytes, Diagnostic] = {}
    own = parsed.defined | project.macros | project.names
    known_hip = rulebook.hip_names
    names = rulebook.names
    facts = parsed.facts if parsed.facts.unit.references else None  # asked for every identifier of a tree
    for start, name in parsed.scan.identifiers:
        if facts is not None and facts.is_own(start):
            continue
        if name in counts:
            if parsed.reach(start) is Reach.SHARED:
                counts[name].append(start)
            continue
        if name in findings:
            continue
        rows = names.get(name)
        diagnostic: Diagnostic | None = None
        text = name.decode("utf-8", "replace")
        if rows is not None and name not in own:
            row = applicable(parsed, rows, Span(start, start + len(name)), options)
            if row is not None and row.state == "none":
                diagnostic = refusal(row, text, rulebook)
            elif row is not None and row.state in ("ok", "review"):
                diagnostic = _left(text, f"the tables know it as {row.hip}, but it was not changed here")
            elif row is None:
                if not _CUDA_NAME.match(name) or not code_before(parsed, start).endswith(b"::"):
                    continue
                diagnostic = _left(text, "behind another qualifier the tables do not know it")
        elif name in _ASM:
            diagnostic = _asm(parsed, start, asm_lines)
            if diagnostic is not None:
                counts.setdefault(name, [])
        elif _ATOM.match(name) and name not in own and not _ours(parsed, start):
            diagnostic = Diagnostic(
                TENSOR_ATOM, Severity.WARNING, f"{text} is written for NVIDIA's tensor cores or copy engines",
                next_step="needs the CuTe rules (rules/cute) for this file", subject=text,
            )  # fmt: skip
        elif _CUDA_NAME.match(name) and name not in own and text not in known_hip:
            diagnostic = _left(text, "no table or rule knows it")
        if diagnostic is None or diagnostic.subject in subjects or parsed.reach(start) is not Reach.SHARED:
            if diagnostic is not None and diagnostic.subject in subjects:
                findings[name] = diagnostic
                counts.pop(name, None)
            continue
        findings[name] = diagnostic
        counts[name] = [start]
    for name, places in counts.items():
        if places:
            found = findings[name]
            yield Finding(
                places[0],
                Diagnostic(
                    found.id, found.severity, found.message, next_step=found.next_step, subject=found.subject,
                    count=len(places),
                ),
            )  # fmt: skip
    yield from _made_names(parsed)
    yield from _namespace_cuda(parsed, subjects)
    yield from _cute_headers(parsed, rulebook, subjects)


def _namespace_cuda(parsed: ParsedFile, subjects: set[str]) -> Iterator[Finding]:
    """Names of libcu++'s namespace that no row knows; a ``cuda`` of the program or of PyTorch is theirs."""
    if _OTHER_CUDA.search(parsed.data):
        return
    seen: set[str] = set()
    for start, name in parsed.scan.identifiers:
        member = _MEMBER.match(parsed.data, start + 4) if name == b"cuda" else None
        if member is None or parsed.reach(start) is not Reach.SHARED or parsed.facts.is_own(member.start(1)):
            continue
        if re.search(rb"\w\s*::\s*\Z", parsed.data[max(0, start - 40) : start]):
            continue
        text = member[1].decode("ascii")
        if text not in seen and text not in subjects and f"cuda::{text}" not in subjects:
            seen.add(text)
            yield Finding(start, _left(f"cuda::{text}", "no table or rule knows it"))


def _made_names(parsed: ParsedFile) -> Iterator[Finding]:
    """Names that the preprocessor puts together: pasted by ``##``, or cut by a line splice."""
    for match in (*_PASTED.finditer(parsed.data), *_SPLICED.finditer(parsed.data)):
        start = match.start()
        inside = any(s.start <= start < s.end for s in (*parsed.scan.comments, *parsed.scan.literals))
        name = re.sub(rb"\\[ \t]*\r?\n", b"", match[0]).rstrip(b"# \t")
        spliced = not match[0].endswith(b"#")
        if inside or parsed.reach(start) is not Reach.SHARED or (spliced and not _CUDA_NAME.match(name)):
            continue
        text = name.decode("ascii", "replace")
        how = "a name is cut by a line splice" if spliced else "a macro pastes a name together"
        yield Finding(
            start,
            Diagnostic(
                MADE_NAME, Severity.WARNING, f"{how} from {text}: it is not translated",
                next_step="write the name out, or paste its HIP prefix in AMD builds", subject=text,
            ),
        )  # fmt: skip


def _ours(parsed: ParsedFile, start: int) -> bool:
    """The name belongs to hipport's own headers: ``hipport::ldmatrix``, ``hipport::ptx::cp_async``."""
    return parsed.data[max(0, start - 14) : start].endswith((b"hipport::", b"hipport::ptx::"))


def _left(name: str, why: str) -> Diagnostic:
    severity = Severity.NOTE if name.isupper() and name.startswith("CUDA_") else Severity.WARNING
    return Diagnostic(
        UNKNOWN_NAME, severity, f"{name} looks like CUDA and is left as it is: {why}",
        next_step=f"hipport query {name}, then add a table row or a rule", subject=name,
    )  # fmt: skip


def _asm(parsed: ParsedFile, start: int, asm_lines: set[int]) -> Diagnostic | None:
    if parsed.source.place(start).line in asm_lines or _AMD_ASM.match(parsed.data, start):
        return None
    return Diagnostic(
        INLINE_ASM, Severity.ERROR, "inline PTX is left: it compiles in the front end and fails at code generation",
        next_step="write it with HIP builtins or add a lowering", subject="asm",
    )  # fmt: skip


def _cute_headers(parsed: ParsedFile, rulebook: Rulebook, subjects: set[str]) -> Iterator[Finding]:
    for include in parsed.scan.includes:
        vendored = include.name.startswith(("cute/", "cutlass/"))
        if vendored and include.path not in subjects and parsed.reach(include.span.start) is Reach.SHARED:
            yield Finding(
                include.span.start,
                Diagnostic(
                    CUTE_HEADER, Severity.NOTE, f"{include.path} is CUTLASS: it builds through the header overlay only",
                    subject=include.path,
                ),
            )  # fmt: skip
