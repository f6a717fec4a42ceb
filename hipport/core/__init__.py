"""Frozen records that every stage exchanges. Standard library only."""

from hipport.core.diagnostic import Diagnostic, Severity
from hipport.core.edit import Edit, Safety
from hipport.core.errors import HipportError, RuleError, ToolchainError
from hipport.core.result import AppliedEdit, FileResult, FileState, TranslateOptions
from hipport.core.source import Place, SourceFile, Span
from hipport.core.target import TARGETS, Target, target_named

__all__ = [
    "TARGETS",
    "AppliedEdit",
    "Diagnostic",
    "Edit",
    "FileResult",
    "FileState",
    "HipportError",
    "Place",
    "RuleError",
    "Safety",
    "Severity",
    "SourceFile",
    "Span",
    "Target",
    "ToolchainError",
    "TranslateOptions",
    "target_named",
]
