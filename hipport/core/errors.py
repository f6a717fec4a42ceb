"""Errors that end a command with one clear line.

Every error carries what went wrong and the next step, and the exit code documented for the command line:
0 clean, 1 findings that need a person, 2 bad usage or input.
"""

from __future__ import annotations


class HipportError(Exception):
    """Bad usage or input.

    Args:
        message: what went wrong, one line.
        next_step: what the user can do about it, one line; empty when nothing helps.
    """

    exit_code: int = 2

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message} ({self.next_step})" if self.next_step else self.message


class RuleError(HipportError):
    """A rule file or table row is wrong: names the file and, where known, the line."""

    def __init__(self, message: str, file: str, line: int = 0) -> None:
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {message}", "fix the rule file")
        self.file = file
        self.line = line


class ToolchainError(HipportError):
    """A compiler, header set or device library is missing or does not work."""
