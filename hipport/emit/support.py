"""hipport's own headers that generated code includes: which ones, and their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hipport.core.files import include_root

FOLDER = "include"
CUTE = "hipport/cute/"
_DIRECTIVE = re.compile(r'^[<"](hipport/[^>"]+)[>"]$')
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def needed_headers(includes: Iterable[str]) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """The closure of hipport headers under the given include directives (``<hipport/warp.h>``).

    Returns:
        Bytes by output path (``include/hipport/warp.h``), and the names that hipport does not ship.
    """
    root = include_root()
    found: dict[str, bytes] = {}
    missing: set[str] = set()
    pending = sorted({m[1] for i in includes if (m := _DIRECTIVE.match(i))})
    while pending:
        name = pending.pop()
        path = f"{FOLDER}/{name}"
        if path in found or name in missing:
            continue
        try:
            data = (root / name).read_bytes()
        except OSError:
            missing.add(name)
            continue
        found[path] = data
        if name.startswith(CUTE):
            # The overlay is found by include path, not by name: it belongs to whoever needs anything of it.
            pending.extend(sorted(p.relative_to(root).as_posix() for p in (root / CUTE).rglob("*") if p.is_file()))
        for kind, inner in _INCLUDE.findall(data):
            text = inner.decode("utf-8", "replace")
            beside = f"{name.rsplit('/', 1)[0]}/{text}"
            if text.startswith("hipport/"):
                pending.append(text)
            elif kind == b'"' and (root / beside).is_file():
                pending.append(beside)
    return found, tuple(sorted(missing))
