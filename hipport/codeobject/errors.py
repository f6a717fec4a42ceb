"""The error of this package."""

from __future__ import annotations

from hipport.core import HipportError


class CodeObjectError(HipportError):
    """A file is not the code object it should be: truncated, corrupt, or for another target."""
