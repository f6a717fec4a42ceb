"""Textures and surfaces: gfx942 and gfx950 have no image instructions, gfx90a has plain ones, RDNA GPUs have all."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core import Severity, target_named
from hipport.rewrite.change import Change, Context, Finding
from hipport.rewrite.renames import code_before
from hipport.syntax import ParsedFile

_DEVICE = re.compile(rb"(?:tex(?:1D|2D|3D|Cubemap)|surf(?:1D|2D|3D|Cubemap))(?:\w*)\Z")
_HOST = re.compile(rb"(?:cuda|hip)(?:Create(?:Texture|Surface)Object|BindTexture\w*|BindSurface\w*)\Z")
_LEVELS = re.compile(rb"tex\w+(?:Lod|Grad|gather)\Z")
_CALL = re.compile(rb"\s*(?:<[^;{}()]*>\s*)?\(")


def images(parsed: ParsedFile, context: Context) -> Iterator[Change | Finding]:
    """Texture and surface calls where a target of the output has no image instructions."""
    without = [name for name in context.options.targets if not target_named(name).images]
    without_levels = [name for name in context.options.targets if not target_named(name).image_levels]
    if not without_levels:
        return
    own = parsed.defined | context.project.macros | context.project.names
    for start, name in parsed.scan.identifiers:
        if name.startswith(b"hip") and context.pass_number > 1:
            continue  # reported under its CUDA name
        device = _DEVICE.match(name) is not None
        if not (device or _HOST.match(name)) or name in own or not context.shared(start):
            continue
        if parsed.facts.is_own(start):
            continue
        before = code_before(parsed, start)
        if before.endswith((b".", b"->", b"::")) and not before.endswith((b" ::", b"(::", b"=::")):
            continue
        if device and (not _CALL.match(parsed.data, start + len(name)) or _declares(before)):
            continue
        levels = _LEVELS.match(name) is not None
        targets = ", ".join(without_levels if levels else without)
        if not targets:
            continue
        text = name.decode("ascii")
        if device:
            what = "image instructions with levels or gathers" if levels else "image instructions"
            outcome = "refuses it or compiles it to nothing" if levels else "refuses it"
            yield context.report(
                start,
                f"{text} needs {what}, which {targets} does not have: HIP {outcome} there",
                severity=Severity.ERROR,
                subject=text,
            )
        else:
            yield context.report(
                start, f"{text} returns hipErrorNotSupported on {targets}: no image instructions", subject=text
            )


def _declares(before: bytes) -> bool:
    """True behind a type: ``float tex2D(...)`` declares a function of the program."""
    word = re.search(rb"([A-Za-z_]\w*)\s*\Z|[*&>]\Z", before)
    return word is not None and word[0] not in (b"return", b"else", b"do", b"case", b"co_return", b">", b"*", b"&")
