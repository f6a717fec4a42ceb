"""Where both vendors declare a name: facts that ``scripts/derive_api_tables.py`` keeps next to the rename tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hipport.core.files import rules_root

FACTS = Path("api") / "declarations.tab"


@dataclass(frozen=True, slots=True)
class Declared:
    """One name on both sides.

    Attributes:
        cuda: CUDA name.
        cuda_header: header of the newest CUDA version that declares it.
        cuda_versions: CUDA versions whose headers were read and declare it.
        cuda_parameters: parameter counts of its overloads there; empty when it is no function.
        hip_header: header of the HIP counterpart, empty when there is none.
        hip_versions: HIP versions whose headers were read and declare it.
        hip_parameters: parameter counts of its overloads there.
    """

    cuda: str
    cuda_header: str
    cuda_versions: tuple[str, ...]
    cuda_parameters: tuple[int, ...]
    hip_header: str
    hip_versions: tuple[str, ...]
    hip_parameters: tuple[int, ...]


def declared(names: set[str], root: Path | None = None) -> dict[str, Declared]:
    """Facts about some CUDA names; names without facts are left out.

    Args:
        names: CUDA names.
        root: rules directory, the shipped one when None.
    """
    path = (root or rules_root()) / FACTS
    if not path.is_file():
        return {}
    out = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.split("\t", 1)[0] in names and not line.startswith("#"):
            cells = line.split("\t")
            out[cells[0]] = Declared(
                cells[0],
                cells[1],
                tuple(cells[2].split()),
                tuple(int(n) for n in cells[3].split()),
                cells[4],
                tuple(cells[5].split()),
                tuple(int(n) for n in cells[6].split()),
            )
    return out
