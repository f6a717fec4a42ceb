"""Which warp model a function has: a comment at it, the settings for its name, a comment of the file, the settings for
the file, the option; the first of them that says something."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hipport.core import Span
from hipport.rewrite.change import Context
from hipport.rewrite.transforms.warp_hazards import Function, functions
from hipport.syntax import ParsedFile

_ASKED = re.compile(rb"hipport:\s*warp-model\s*[=:]?\s*(logical32|native64|padded)\b")


def has_choices(parsed: ParsedFile, context: Context) -> bool:
    """A function of the file may have another model than its file."""
    return b"warp-model" in parsed.data or bool(context.options.kernel_warp_models)


def chosen_model(parsed: ParsedFile, context: Context, function: Function) -> str:
    """Warp model of a function."""
    return own_model(parsed, context, function) or file_model(parsed, context)


def own_model(parsed: ParsedFile, context: Context, function: Function) -> str:
    """Warp model that a comment in or right above a function, or the settings, give it; empty when none does."""
    top = function.node.parent if function.node.parent is not None else function.node
    start = (top if top.type == "template_declaration" else function.node).start_byte + function.fragment.base
    end = function.node.end_byte + function.fragment.base
    for comment, model in _asked(parsed):
        above = parsed.data[comment.end : start] if comment.end <= start else b"\n\n"
        if start <= comment.start < end or (above.count(b"\n") <= 1 and not above.strip()):
            return model
    return dict(context.options.kernel_warp_models).get(function.name.decode("utf-8", "replace"), "")


def file_model(parsed: ParsedFile, context: Context) -> str:
    """Warp model of what has none of its own."""
    return asked_for_file(parsed, context) or context.options.warp_model


def asked_for_file(parsed: ParsedFile, context: Context) -> str:
    """Warp model that a comment of the file, the last of them, or the settings give it; empty when none does."""
    asked = ""
    for comment, model in _asked(parsed):
        inside = any(f.node.start_byte <= comment.start - f.fragment.base < f.node.end_byte for f in functions(parsed))
        if not inside and not _heads_function(parsed, comment):
            asked = model
    if asked:
        return asked
    for glob, model in reversed(context.options.file_warp_models):
        if context.project.matches(parsed.source.path, (glob,)):
            return model
    return ""


def _asked(parsed: ParsedFile) -> Iterator[tuple[Span, str]]:
    if b"warp-model" not in parsed.data:
        return
    for comment in parsed.scan.comments:
        found = _ASKED.search(parsed.text(comment))
        if found is not None:
            yield comment, found[1].decode()


def _heads_function(parsed: ParsedFile, comment: Span) -> bool:
    """A function starts in the line after the comment."""
    rest = parsed.data[comment.end : comment.end + 400].split(b"\n", 2)
    return len(rest) > 1 and bool(re.match(rb"\s*(?:template\b|static\b|inline\b|__\w+__|extern\b)", rest[1]))
