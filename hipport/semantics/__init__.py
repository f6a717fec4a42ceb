"""Facts that only a compiler front end knows, keyed by byte span; opt-in, because one unit can cost 30 s and 860 MB.

`unit_facts` parses one translation unit in a separate process with limits on memory and time and caches the result.
`compile_flags` takes the flags from a ``compile_commands.json``. `declared` reads what the vendors' headers declare.
A question that the facts do not answer gets None, never a guess.
"""

from hipport.semantics.commands import compile_flags, front_end_flags
from hipport.semantics.declared import Declared, declared
from hipport.semantics.facts import Expansion, Reference, Side, UnitFacts
from hipport.semantics.unit import unit_facts

__all__ = [
    "Declared",
    "Expansion",
    "Reference",
    "Side",
    "UnitFacts",
    "compile_flags",
    "declared",
    "front_end_flags",
    "unit_facts",
]
