"""What is in the rulebook: rules, rename rows and documented diagnostics."""

from __future__ import annotations

from dataclasses import dataclass, field

# Predicates that a rule may require. hipport.rewrite.predicates answers them.
PREDICATES: dict[str, str] = {
    "in_device_code": "inside a function that only or also runs on the device",
    "in_host_code": "outside every device function",
    "in_macro_body": "in the body of a #define",
    "not_in_macro_body": "outside the body of a #define",
    "in_function": "inside a function body",
    "at_file_scope": "outside every function body",
}

KINDS = frozenset({"function", "type", "enum", "macro", "field", "header", "namespace", "device_function"})
STATES = frozenset({"ok", "same", "review", "none"})


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a rename table.

    Attributes:
        cuda: CUDA name, qualified where the table says so (``at::cuda::getCurrentCUDAStream``); a path for headers.
        hip: HIP name; empty when there is none.
        kind: one of `KINDS`.
        state: ``ok`` rename, ``same`` nothing to do, ``review`` rename and report, ``none`` leave and report.
        diag: diagnostic id for ``review`` and ``none``, else empty.
        rocm_min: first HIP version that has the name, ``""`` when not known to be limited.
        rocm_max: last HIP version that has it, ``""`` when not limited.
        source: ``derived`` (from both vendors' headers), a citation, or hipport's own header that supplies the name.
        note: reason or advice for a person.
        table: table it comes from, relative to the rules root (``api/runtime.tsv``).
        line: its line there.
    """

    cuda: str
    hip: str
    kind: str
    state: str
    diag: str
    rocm_min: str
    rocm_max: str
    source: str
    note: str
    table: str
    line: int

    @property
    def include(self) -> str:
        """hipport's own header that supplies the name (the row's source is ``hipport/....h``), else empty."""
        return self.source if self.source.startswith("hipport/") else ""

    def covers(self, rocm: tuple[int, int]) -> bool:
        """True when HIP ``rocm`` (major, minor) is in the row's version range."""
        return version(self.rocm_min, (0, 0)) <= rocm <= version(self.rocm_max, (999, 999))


def version(text: str, default: tuple[int, int]) -> tuple[int, int]:
    """``6.4`` -> ``(6, 4)``; empty -> ``default``."""
    if not text:
        return default
    major, _, minor = text.partition(".")
    return int(major), int(minor.split(".")[0] or 0) if minor else 0


@dataclass(frozen=True, slots=True)
class Example:
    """A documented case that is also a test.

    Attributes:
        name: short name, unique in the rule.
        before: input; for a ``keep`` example the text that must stay as it is.
        after: expected output; equal to ``before`` for ``keep``.
        diagnostics: ids expected, sorted (of this rule and others).
        options: options it is translated with (``launch``, ``warp_model``, ``targets``, ``unsafe``, ``rocm``).
        path: file name the text pretends to have.
        compile: the output is a translation unit that must compile for every target.
    """

    name: str
    before: str
    after: str
    diagnostics: tuple[str, ...] = ()
    options: dict[str, object] = field(default_factory=dict)
    path: str = "example.cu"
    compile: bool = False

    @property
    def keep(self) -> bool:
        """True when the rule must not touch the text."""
        return self.before == self.after


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule file. Fields are those of the TOML file; rules/README.md says what they mean.

    Attributes:
        rewrite: target -> template. ``root`` replaces the whole match, another capture name replaces that capture,
            ``before:NAME`` and ``after:NAME`` insert.
        anchors: a file that holds none of these words (identifiers, or else byte strings) is skipped.
        n_patterns: top-level patterns in ``match``.
        file: rule file relative to the rules root.
        order: position among all rules.
    """

    id: str
    name: str
    title: str
    safety: str
    requires: tuple[str, ...]
    skip_types: dict[str, tuple[str, ...]]
    match: str
    rewrite: dict[str, str]
    transform: str
    variants: tuple[dict[str, str], ...]
    anchors: tuple[str, ...]
    include: tuple[str, ...]
    severity: str
    message: str
    next_step: str
    when: dict[str, object]
    files: tuple[str, ...]
    expect: int
    docs: str
    sources: tuple[str, ...]
    examples: tuple[Example, ...]
    n_patterns: int
    file: str
    order: int = 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """Documentation of a diagnostic id, printed by ``hipport explain``."""

    id: str
    title: str
    docs: str
    next_step: str = ""
    sources: tuple[str, ...] = ()
    file: str = ""
