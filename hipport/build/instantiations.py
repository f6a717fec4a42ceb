"""Kernels by name and template arguments: read them from demangled names, name their parameters, choose by pattern.

flash_fwd_kernel                                     every instantiation of a kernel
flash_fwd_kernel<*_traits<64,*half_t*>, *>           by arguments in order; a last * stands for the rest
flash_fwd_kernel<Is_causal=true, Is_dropout=false>   by the names that the source gives to its template parameters
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from hipport.build.tree import Tree
from hipport.build.units import kernel_name
from hipport.core import HipportError

_ANONYMOUS = "(anonymous namespace)"
_OPEN, _CLOSE = "<({[", ">)}]"


@dataclass(frozen=True, slots=True)
class Instantiation:
    """A kernel of a unit.

    Attributes:
        symbol: mangled name.
        function: qualified name without arguments.
        arguments: template arguments as text; empty for a kernel that is no template.
        parameters: names of the template parameters, one for each argument; empty where they are not known.
    """

    symbol: str
    function: str
    arguments: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """Parameter names and arguments; names are empty where they are not known."""
        return tuple(zip(self.parameters or ("",) * len(self.arguments), self.arguments, strict=True))

    @property
    def readable(self) -> str:
        """The template-id with parameter names: it is also a pattern that only matches this kernel."""
        if not self.arguments:
            return self.function
        return f"{self.function}<{', '.join(f'{n}={a}' if n else a for n, a in self.named)}>"

    @property
    def short(self) -> str:
        """For tables: without parameters that are false and without inner templates that do not come first."""
        if not self.arguments:
            return self.function
        shown = [
            name if name and value == "true" else _cut(value)
            for name, value in self.named
            if not (name and value == "false")
        ]
        return f"{_last(self.function)}<{', '.join(shown)}>"


def _cut(argument: str) -> str:
    head, bracket, rest = argument.partition("<")
    if not bracket:
        return argument
    first, *others = split_arguments(rest[:-1]) or ("",)
    return f"{head}<{', '.join((_cut(first), *(text for text in others if '<' not in text)))}>"


def instantiation(symbol: str, demangled: str, parameters: dict[str, tuple[str, ...]]) -> Instantiation:
    """From a demangled name: ``void ns::kernel<64, true>(float*)``.

    Args:
        symbol: mangled name.
        demangled: readable name; what is no function with template arguments stays as it is.
        parameters: template parameters by unqualified kernel name, see `template_parameters`.
    """
    text = demangled.replace(_ANONYMOUS, "{anonymous}")
    if text.endswith(")"):
        text = text[: _opening(text, len(text) - 1)]
    arguments: tuple[str, ...] = ()
    if text.endswith(">"):
        at = _opening(text, len(text) - 1)
        arguments = split_arguments(text[at + 1 : -1])
        text = text[:at]
    function = text.rpartition(" ")[2].replace("{anonymous}", _ANONYMOUS)
    names = parameters.get(_last(function), ())
    return Instantiation(symbol, function, arguments, names if len(names) == len(arguments) else ())


def _opening(text: str, closing: int) -> int:
    """Index of the bracket that the one at ``closing`` closes; 0 when there is none."""
    depth = 0
    for at in range(closing, -1, -1):
        if text[at] in _CLOSE and text[at - 1 : at + 1] != "->":
            depth += 1
        elif text[at] in _OPEN:
            depth -= 1
            if depth == 0:
                return at
    return 0


def split_arguments(text: str) -> tuple[str, ...]:
    """Split at commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return (*parts, last) if last or parts else ()


# --- patterns ---


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a user asks for.

    Attributes:
        text: as given.
        function: glob over the qualified or the unqualified name.
        named: parameter name -> glob over its argument.
        positional: globs over arguments in order; None when any will do.
    """

    text: str
    function: str
    named: tuple[tuple[str, str], ...] = ()
    positional: tuple[str, ...] | None = None

    @classmethod
    def parse(cls, text: str) -> Pattern:
        """Read a pattern.

        Raises:
            HipportError: unbalanced brackets, or an argument without a name after one with a name.
        """
        function, bracket, rest = text.strip().partition("<")
        if not bracket:
            return cls(text, function)
        if not rest.endswith(">") or text.count("<") != text.count(">") or text.count("(") != text.count(")"):
            raise HipportError(
                f"cannot read the pattern {text!r}", "write NAME, NAME<ARG, ...> or NAME<PARAM=ARG, ...>"
            )
        named, positional = [], []
        for part in split_arguments(rest[:-1]):
            name = re.match(r"(\w+)=(.*)", part, re.DOTALL)
            if name:
                named.append((name[1], name[2].strip()))
            else:
                positional.append(part)
        return cls(text, function, tuple(named), tuple(positional) if positional else None)

    def matches(self, what: Instantiation) -> bool:
        """Whether an instantiation is asked for."""
        if not (fnmatchcase(what.function, self.function) or fnmatchcase(_last(what.function), self.function)):
            return False
        arguments = dict(what.named)
        if not all(name in arguments and _same(arguments[name], glob) for name, glob in self.named):
            return False
        if self.positional is None:
            return True
        globs = list(self.positional)
        if globs[-1] == "*":
            globs.pop()
        elif len(globs) + len(self.named) != len(what.arguments):
            return False
        return all(map(_same, what.arguments, globs)) and len(globs) <= len(what.arguments)


def _last(function: str) -> str:
    return function.rpartition("::")[2]


def _same(argument: str, glob: str) -> bool:
    """Spaces do not matter; brackets of a glob are its own."""
    plain, wanted = argument.replace(" ", ""), glob.replace(" ", "")
    return plain == wanted or fnmatchcase(plain, wanted)


def choose(patterns: Sequence[str], found: Iterable[Instantiation], strict: bool = True) -> tuple[Instantiation, ...]:
    """The instantiations that one of the patterns matches; all without patterns.

    Args:
        patterns: see `Pattern`.
        found: what there is.
        strict: a pattern that matches nothing is an error.

    Raises:
        HipportError: a pattern matches nothing, with the parameters that there are.
    """
    everything = tuple(found)
    if not patterns:
        return everything
    read = [Pattern.parse(text) for text in patterns]
    for pattern in read:
        if strict and not any(pattern.matches(what) for what in everything):
            raise HipportError(f"no kernel matches {pattern.text!r}", _advice(pattern, everything))
    return tuple(what for what in everything if any(pattern.matches(what) for pattern in read))


def _advice(pattern: Pattern, everything: Sequence[Instantiation]) -> str:
    same = [what for what in everything if Pattern(pattern.text, pattern.function).matches(what)]
    for name, _ in pattern.named:
        if same and not any(name in what.parameters for what in same):
            known = ", ".join(dict.fromkeys(p for what in same for p in what.parameters)) or "not known"
            return f"{same[0].function} has no template parameter {name}; they are: {known}"
    return "list them with: hipport build --list"


# --- names of template parameters ---

_HEAD = re.compile(r"template\s*<")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)]*)\)((?:[^\n]*\\\r?\n)*[^\n]*)", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = re.compile(r"\w[^=]*[\s&*](\w+)\s*(?:=.*)?$", re.DOTALL)  # typename T, bool B = true; not a lone typename


def template_parameters(tree: Tree, files: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Template parameters of the kernels that some files define, by unqualified kernel name.

    A scan of the text: ``template <...> __global__ ... name(``, also where a macro writes it. A kernel that is declared
    with different parameter names, or with a pack or an unnamed parameter, is left out.
    """
    texts = [
        _COMMENT.sub(" ", (tree.root / path).read_text(encoding="utf-8", errors="replace"))
        for path in files
        if tree.facts(path).has_kernels
    ]
    macros = [m for text in texts for m in _DEFINE.finditer(text) if "__global__" in m[3] and "template" in m[3]]
    found: dict[str, set[tuple[str, ...]]] = {}
    for text in texts:
        for name, parameters in _heads(_DEFINE.sub("", text)):
            found.setdefault(name, set()).add(parameters)
        for macro in macros:
            for call in re.finditer(rf"(?<!define )\b{macro[1]}\(", text):
                written = _expanded(macro, text[call.end() :])
                for name, parameters in _heads(written):
                    found.setdefault(name, set()).add(parameters)
    return {name: next(iter(heads)) for name, heads in found.items() if len(heads) == 1 and all(next(iter(heads)))}


def _expanded(macro: re.Match[str], call: str) -> str:
    """The macro's text with the arguments of a call in place of its parameters."""
    closing = _closing(call)
    arguments = split_arguments(call[:closing])
    names = [name.strip() for name in macro[2].split(",") if name.strip()]
    values = dict(zip(names, arguments, strict=False))
    if names and names[-1] == "...":
        values["__VA_ARGS__"] = ", ".join(arguments[len(names) - 1 :])
    return re.sub(r"\w+", lambda word: values.get(word[0], word[0]), macro[3].replace("\\\n", "\n"))


def _closing(text: str) -> int:
    depth = 1
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return at
    return len(text)


def _heads(text: str) -> Iterable[tuple[str, tuple[str, ...]]]:
    """(kernel, template parameters) of the kernel templates in a text; an empty name for one that has none."""
    at = 0
    for head in _HEAD.finditer(text):
        if head.start() < at:
            continue  # a template parameter that is itself a template
        depth, at = 1, head.end()
        while at < len(text) and depth:
            depth += (text[at] == "<") - (text[at] == ">")
            at += 1
        after = text[at : at + 400]
        until = re.search(r"[;{}]|\btemplate\b", after)
        declaration = after[: until.start()] if until else after
        if "__global__" not in declaration:
            continue
        name = kernel_name(declaration.partition("__global__")[2])
        if name:
            names = [_NAME.search(part) for part in split_arguments(text[head.end() : at - 1])]
            yield name, tuple(n[1] if n and "..." not in n.string else "" for n in names)
