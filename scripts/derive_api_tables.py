"""Derive the CUDA to HIP rename tables from both vendors' headers.

    python scripts/derive_api_tables.py --cuda 13.0=DIR[:DIR] --hip 6.4=DIR --hip 7.2=DIR [--check]

docs/api-tables.md has the whole command and says where the headers come from.

A CUDA directory is a toolkit's ``include`` or that of the unpacked wheels (nvidia-cuda-runtime, nvidia-cublas, ...);
give versions oldest first. ``--check`` writes nothing and exits with 1 when a table differs from what the headers say.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from derive import cccl
from derive.rows import facts_text, table_text
from derive.sources import HeaderSet
from derive.tables import derive, facts, read_all, with_exceptions
from derive.torch_names import TABLE, TITLE, torch_rows

FACTS = "api/declarations.tab"
RULES = Path(__file__).parent.parent / "rules"


def header_set(text: str) -> HeaderSet:
    """``LABEL=DIR[:DIR...]`` as a header set."""
    label, _, paths = text.partition("=")
    roots = tuple(Path(p).resolve() for p in paths.split(":") if p)
    if not roots or not all(root.is_dir() for root in roots):
        raise argparse.ArgumentTypeError(f"{text}: expected VERSION=DIR[:DIR] with existing directories")
    return HeaderSet(label, roots)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuda", type=header_set, action="append", required=True, metavar="VERSION=DIR[:DIR]")
    parser.add_argument("--hip", type=header_set, action="append", required=True, metavar="VERSION=DIR[:DIR]")
    parser.add_argument(
        "--torch", type=Path, metavar="DIR", help="torch/include; without it the torch table is left alone"
    )
    parser.add_argument("--check", action="store_true", help="compare with the committed tables, write nothing")
    parser.add_argument(
        "--skip", action="append", default=[], metavar="VERSION:HEADER", help="a HIP header that is of another version"
    )
    arguments = parser.parse_args()
    skipped = {
        label: {s.split(":", 1)[1] for s in arguments.skip if s.startswith(f"{label}:")}
        for label in (s.label for s in arguments.hip)
    }
    hip = [replace(s, skip=frozenset(skipped[s.label])) for s in arguments.hip]
    read = read_all(arguments.cuda, hip)
    tables = derive(read)
    declared = facts(read, tables)
    for own in (TABLE, cccl.TABLE):
        tables.pop(own, None)
    if arguments.torch:
        tables[TABLE] = with_exceptions(torch_rows(arguments.torch.resolve(), arguments.cuda[-1]), TABLE)
    tables[cccl.TABLE] = with_exceptions(cccl.cccl_rows(arguments.cuda[-1], hip), cccl.TABLE)
    provenance = [
        f"Derived from the headers of CUDA {', '.join(s.label for s in arguments.cuda)} and HIP "
        f"{', '.join(s.label for s in arguments.hip)} by scripts/derive_api_tables.py; do not edit.",
        "Exceptions with their sources: scripts/derive/exceptions.",
    ]
    texts = {FACTS: facts_text(provenance, declared)}
    for name, rows in sorted(tables.items()):
        texts[name] = table_text(TITLES.get(name, name), provenance, rows)
        states = Counter(row.state for row in rows)
        print(f"{name}: {len(rows)} rows, {', '.join(f'{k} {v}' for k, v in sorted(states.items()))}")
    stale = []
    for name, text in texts.items():
        path = RULES / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not arguments.check:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if arguments.check and stale:
        print(f"stale: {', '.join(stale)}; run without --check", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    from derive.families import FAMILIES, LIBRARIES

    TITLES = {family.table: family.title for family in (*FAMILIES, *LIBRARIES)} | {TABLE: TITLE, cccl.TABLE: cccl.TITLE}
    sys.exit(main())
