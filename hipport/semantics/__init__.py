"""Facts that only a compiler front end knows, keyed by byte span; opt-in, because one unit can cost 30 s and 860 MB.

`tree_facts` parses one translation unit in a separate process with limits on memory and time, tells what it knows about
every file of the tree that the unit reads, and caches the result; `unit_facts` is that of the main file alone.
`compile_flags` takes the flags from a ``compile_commands.json``. `declared` reads what the vendors' headers declare.
A question that the facts do not answer gets None, never a guess.
"""

from hipport.core.facts import Expansion, Reference, Side, UnitFacts
from hipport.semantics.commands import Command, compile_flags, cuda_flags, find_cuda, front_end_flags, read_database
from hipport.semantics.declared import Declared, declared
from hipport.semantics.unit import tree_facts, unit_facts

__all__ = [
    "Command",
    "Declared",
    "Expansion",
    "Reference",
    "Side",
    "UnitFacts",
    "compile_flags",
    "cuda_flags",
    "declared",
    "find_cuda",
    "front_end_flags",
    "read_database",
    "tree_facts",
    "unit_facts",
]
