"""Child process of `unit_facts`: reads a request from stdin, parses under a memory limit, writes facts to stdout.

``python -m hipport.semantics.worker`` with ``{"path", "flags", "root", "clang", "memory_bytes"}`` as JSON.
"""

from __future__ import annotations

import json
import resource
import sys


def main() -> int:
    """Parse one unit. JSON on stdout; a failure is a traceback, of which the parent shows the last line."""
    request = json.load(sys.stdin)
    limit = request["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    from hipport.semantics.clang import collect, standard_flags

    flags = [*request["flags"], *standard_flags(request["clang"]), "-w", "-ferror-limit=0"]
    facts = collect(request["path"], flags, request["root"])
    json.dump({path: found.to_plain() for path, found in facts.items()}, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
