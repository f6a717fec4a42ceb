"""How a HIP program is told what to run on: environment variables that the drop-in runtime reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hipport.hiprt.build import RuntimeFolder


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the emulated machine is like.

    Attributes:
        target: LLVM processor name.
        devices: how many HIP devices the program sees.
        threads: worker threads, 0 for one per CPU.
        deterministic: the same bits for any number of threads.
        checks: ``all`` or a comma list (bounds, uninitialised, races, barriers, waitcnt, masks, banks); empty for none.
        max_instructions: wave-instructions per launch before it is ended, 0 for no limit.
        statistics: file that receives counters and findings as JSON when the program ends.
    """

    target: str = "gfx942"
    devices: int = 1
    threads: int = 0
    deterministic: bool = True
    checks: str = ""
    max_instructions: int = 0
    statistics: Path | None = None


def runtime_environment(
    runtime: RuntimeFolder, options: RunOptions, base: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Environment for a HIP program: ``base`` (default: this process's) with the runtime first in the library path."""
    environment = dict(os.environ if base is None else base)
    path = environment.get("LD_LIBRARY_PATH")
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, (str(runtime.folder), path)))
    environment["HIPPORT_TARGET"] = options.target
    environment["HIPPORT_DEVICES"] = str(options.devices)
    environment["HIPPORT_THREADS"] = str(options.threads)
    environment["HIPPORT_DETERMINISTIC"] = str(int(options.deterministic))
    environment["HIPPORT_MAX_INSTRUCTIONS"] = str(options.max_instructions)
    environment["HIPPORT_CHECKS"] = options.checks
    if options.statistics is not None:
        environment["HIPPORT_STATS"] = str(options.statistics)
    return environment
