"""tree-sitter trees, macro bodies, token scans and the PTX grammar."""

from hipport.syntax.conditionals import AMD_MACRO, Branch, Conditional, Reach, mentions_amd
from hipport.syntax.tokens import Directive, Include, Scan, scan
from hipport.syntax.tree import Fragment, ParsedFile, compile_query, inside_error, language, matches

__all__ = [
    "AMD_MACRO",
    "Branch",
    "Conditional",
    "Directive",
    "Fragment",
    "Include",
    "ParsedFile",
    "Reach",
    "Scan",
    "compile_query",
    "inside_error",
    "language",
    "matches",
    "mentions_amd",
    "scan",
]
