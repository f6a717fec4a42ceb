"""Says how a HIP declaration differs from its CUDA partner, in words for a note."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from derive.declarations import Declaration, Signature

_WORD = re.compile(r"[A-Za-z_]\w*")
_NOISE = re.compile(r"\b(struct|enum|union|class)\s+|\s*\b(__restrict|restrict|__restrict__)\b")


@dataclass(frozen=True)
class Names:
    """How identifiers cross over: HIP spelling of a CUDA name, and what a HIP typedef finally stands for."""

    hip_of: dict[str, str]
    typedefs: Mapping[str, str]

    def rename(self, text: str) -> str:
        """Text of a CUDA type with every identifier in its HIP spelling."""
        return _WORD.sub(lambda m: self.hip_of.get(m.group(), m.group()), text)

    def expand(self, text: str) -> str:
        """Text of a HIP type with typedefs resolved."""
        return _tidy(_WORD.sub(lambda m: self.typedefs.get(m.group(), m.group()), text))


def difference(cuda: Declaration, hip: Declaration, names: Names, any_overload: bool, ignore_const: bool = True) -> str:
    """Empty when a call written for ``cuda`` means the same with ``hip``.

    Args:
        cuda: declaration on the CUDA side.
        hip: declaration on the HIP side.
        names: see `Names`.
        any_overload: one agreeing overload is enough (the compiler rejects calls of the others).
        ignore_const: a missing ``const`` is no difference (the compiler rejects a call that needs it).
    """
    if cuda.kind == "function" and hip.kind == "function":
        if not cuda.signatures or not hip.signatures:
            return ""
        plain = [signature for signature in cuda.signatures if not signature.template]
        notes = {signature: _best(signature, hip.signatures, names, ignore_const) for signature in plain}
        if any_overload and "" in notes.values():
            return ""
        return notes[plain[0]] if plain else ""
    return ""


def missing_overloads(cuda: Declaration, hip: Declaration, names: Names) -> str:
    """Words for CUDA overloads that no HIP overload accepts. Their calls do not compile, so nothing is silent."""
    plain = [signature for signature in cuda.signatures if not signature.template]
    wrong = [s for s in plain if _best(s, hip.signatures, names, True)]
    listed = sorted({f"({', '.join(map(_tidy, s.parameters))})" for s in wrong})
    if hip.signatures and listed:
        return f"no HIP overload for {', '.join(listed)}"
    if any(s.template for s in cuda.signatures) and hip.signatures and not any(s.template for s in hip.signatures):
        return "HIP has no template overload: cast typed pointers and functions to the void pointer it takes"
    return ""


def other_number(cuda: Declaration, hip: Declaration) -> str:
    """Words for an enumerator whose number differs: harmless unless the number itself is stored, printed or indexed."""
    if cuda.kind == "enum" and hip.kind == "enum" and None not in (cuda.value, hip.value) and cuda.value != hip.value:
        return f"number {cuda.value} in CUDA, {hip.value} in HIP"
    return ""


def _best(cuda: Signature, candidates: list[Signature], names: Names, ignore_const: bool) -> str:
    notes = [_signature(cuda, hip, names, ignore_const) for hip in candidates if not hip.template]
    if not notes or "" in notes:
        return ""
    return min(notes, key=len)


def _signature(cuda: Signature, hip: Signature, names: Names, ignore_const: bool) -> str:
    if cuda.variadic != hip.variadic:
        return "one is variadic, the other is not"
    if not hip.required <= len(cuda.parameters) <= len(hip.parameters):
        return f"{len(cuda.parameters)} parameters in CUDA, {_count(hip)} in HIP"
    parts = []
    pairs = zip(cuda.parameters, cuda.canonical, hip.parameters, hip.canonical, strict=False)
    for number, (cuda_type, cuda_canonical, hip_type, hip_canonical) in enumerate(pairs, 1):
        if not _accepts(hip_type, hip_canonical, cuda_type, cuda_canonical, names, ignore_const):
            parts.append(f"parameter {number}: {_tidy(cuda_type)} in CUDA, {_tidy(hip_type)} in HIP")
    return "; ".join(parts)


def _count(signature: Signature) -> str:
    most = len(signature.parameters)
    return str(most) if signature.required == most else f"{signature.required} to {most}"


def _accepts(hip: str, hip_canonical: str, cuda: str, cuda_canonical: str, names: Names, ignore_const: bool) -> bool:
    """True when an argument of the (renamed) CUDA type can be passed for the HIP parameter."""
    renamed, right = names.rename(_tidy(cuda)), _tidy(hip)
    if renamed == right or _tidy(cuda_canonical) == _tidy(hip_canonical):
        return True
    if "*" not in cuda_canonical + hip_canonical and _is_number(cuda_canonical) and _is_number(hip_canonical):
        return True
    if not ignore_const and right.count("const") < renamed.count("const"):
        return False
    ours = {_unconst(t) for t in (renamed, names.expand(renamed), names.expand(names.rename(_tidy(cuda_canonical))))}
    theirs = {_unconst(t) for t in (right, names.expand(right), _tidy(hip_canonical))}
    if ours & theirs:
        return True
    return right == "const void*" and renamed.endswith("*")


def _tidy(text: str) -> str:
    text = re.sub(r"\s+", " ", _NOISE.sub("", text)).replace(" *", "*").replace(" &", "&").strip()
    text = text.replace("[]", "*").removesuffix("const").strip()  # of a parameter: a pointer; and a copy, const or not
    if "*" not in text and "&" not in text:
        text = text.removeprefix("const ")
    # HIP keeps two layouts of hipDeviceProp_t apart by a suffix that a macro adds.
    return text.replace("hipDeviceProp_tR0600", "hipDeviceProp_t")


def _unconst(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\bconst\b", "", text)).replace(" *", "*").strip()


def _is_number(canonical: str) -> bool:
    words = set(re.findall(r"\w+", canonical)) - {"const"}
    return bool(words) and words <= {"int", "unsigned", "long", "short", "char", "signed", "bool", "float", "double"}
